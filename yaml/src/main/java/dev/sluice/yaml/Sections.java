// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * Every limit file may have every section, whichever option names the file. Content outside of
 * sections is read according to that option: as limits at the top of a file of defaults, or as the
 * list in a file of overrides. Anything else is a mistake.
 */
/** The content of one limit file, by its sections. Immutable. */
final class Sections {

  static final String NAMES = "names";
  static final String LIMITS = "limits";
  static final String OVERRIDES = "overrides";
  static final String RULES = "rules";

  /**
   * The keys of all sections; the last four belong to rule books. No limit may have such a name.
   */
  static final List<String> ALL =
      List.of(NAMES, LIMITS, OVERRIDES, RULES, "rulesOnly", "ignoreCase", "methodOverride");

  private final @Nullable Node root;
  private final Map<String, Node.Entry> byKey = new HashMap<>();
  private final List<Node.Entry> others = new ArrayList<>();

  private Sections(@Nullable Node root) {
    this.root = root;
  }

  /** Returns a file that is not split into sections. */
  static Sections none(@Nullable Node root) {
    return new Sections(root);
  }

  /** Splits a file into sections; reports a section that occurs twice. */
  static Sections of(@Nullable Node root, Problems problems) {
    Sections sections = new Sections(root);
    if (root instanceof Node.Mapping map) {
      problems.recognize(map, ALL);
      map.entries().forEach(entry -> sections.add(entry, problems));
    }
    return sections;
  }

  private void add(Node.Entry entry, Problems problems) {
    String key = entry.key().text();
    if (!ALL.contains(key)) {
      others.add(entry);
      return;
    }
    if ((key.equals(LIMITS) || key.equals(OVERRIDES)) && !(entry.value() instanceof Node.Scalar)) {
      problems.recognized();
    }
    Node.Entry first = byKey.putIfAbsent(key, entry);
    if (first != null) {
      problems.mistakeWithoutText(
          entry.key(),
          "found the section %s again, expected it once; it is on line %s too"
              .formatted(key, first.key().line()));
    }
  }

  /** Returns the entry of a section; null if the file does not have it. */
  Node.@Nullable Entry find(String key) {
    return byKey.get(key);
  }

  /** Returns the entry of the first of these sections that the file has; null if it has none. */
  Node.@Nullable Entry first(Collection<String> keys) {
    return keys.stream().filter(byKey::containsKey).findFirst().map(byKey::get).orElse(null);
  }

  /** Returns the content outside of sections; null if there is none. */
  @Nullable Node rest() {
    if (!(root instanceof Node.Mapping map)) {
      return root;
    }
    boolean isSections = others.isEmpty() && !byKey.isEmpty();
    return isSections ? null : new Node.Mapping(map.line(), map.column(), others);
  }

  /**
   * Returns the sections with these keys as one map.
   *
   * @param withRest whether to include the content outside of sections, which may not be a map
   */
  @Nullable Node only(Collection<String> keys, boolean withRest) {
    if (!(root instanceof Node.Mapping map)) {
      return withRest ? root : null;
    }
    Stream<Node.Entry> asked = keys.stream().filter(byKey::containsKey).map(byKey::get);
    return new Node.Mapping(
        map.line(),
        map.column(),
        Stream.concat(asked, withRest ? others.stream() : Stream.of()).toList());
  }
}
