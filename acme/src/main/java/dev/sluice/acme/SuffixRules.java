// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The rules of a public suffix list, or of one part of it, in punycode.
 *
 * <p>The algorithm is defined in <a href="https://github.com/publicsuffix/list/wiki/Format">the
 * list's format</a>. The longest rule that matches a name is used. {@code *} at the start of a rule
 * stands for one label. An exception rule, which begins with {@code !}, takes precedence over the
 * wildcard rule. If an exception rule matches, the suffix is the exception rule without its first
 * label. Immutable and thread-safe. The time of a look-up grows linearly with the length of the
 * name.
 */
final class SuffixRules {

  private final Set<String> plain = new HashSet<>();
  private final Set<String> wildcards = new HashSet<>(); // without the "*."
  private final Set<String> exceptions = new HashSet<>(); // without the "!"

  /** Parses the lines of a list; skips comments and empty lines. */
  SuffixRules(Stream<String> lines) {
    lines
        .map(line -> line.split("\\s", 2)[0])
        .filter(rule -> !rule.isEmpty() && !rule.startsWith("//"))
        .forEach(this::add);
  }

  private void add(String rule) {
    if (rule.startsWith("!")) {
      exceptions.add(DnsNames.punycode(rule.substring(1)));
    } else if (rule.startsWith("*.")) {
      wildcards.add(DnsNames.punycode(rule.substring(2)));
    } else {
      plain.add(DnsNames.punycode(rule));
    }
  }

  boolean isEmpty() {
    return plain.isEmpty() && wildcards.isEmpty() && exceptions.isEmpty();
  }

  /**
   * Returns the public suffix of a name.
   *
   * @param name the name in canonical form
   * @return the name itself, or its last labels; null if no rule matches
   */
  @Nullable String suffixOf(String name) {
    String end = name;
    while (true) {
      String parent = parent(end);
      if (parent != null && exceptions.contains(end)) {
        return parent;
      }
      if (plain.contains(end) || (parent != null && wildcards.contains(parent))) {
        return end;
      }
      if (parent == null) {
        return null;
      }
      end = parent;
    }
  }

  private static @Nullable String parent(String name) {
    int dot = name.indexOf('.');
    return dot < 0 ? null : name.substring(dot + 1);
  }
}
