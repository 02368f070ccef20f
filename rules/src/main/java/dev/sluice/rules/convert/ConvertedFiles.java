// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.rules.convert.Conversion.Renaming;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains.Domain;
import dev.sluice.text.GoDuration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The files that a configuration becomes: all domains share them, with running numbers and names
 * that no two limits have. Not thread-safe.
 */
final class ConvertedFiles {

  /** Keys at the top of a limit file, which no limit may have as its name. */
  private static final List<String> SECTIONS =
      List.of("names", "limits", "overrides", "rules", "rulesOnly", "ignoreCase", "methodOverride");

  private static final int FIRST_NUMBER = 1001;
  private static final int LONGEST_NAME = 90;

  private final String head;
  private final String domains;
  private final StringBuilder names = new StringBuilder("names:\n");
  private final StringBuilder limits = new StringBuilder();
  private final StringBuilder overrides = new StringBuilder();
  private final List<Supplier<String>> rules = new ArrayList<>(); // written last: they name limits
  private final Set<String> taken = new HashSet<>();
  private final List<Renaming> renamed = new ArrayList<>();
  private int numbers = FIRST_NUMBER;

  ConvertedFiles(Domains converted) {
    taken.addAll(SECTIONS);
    for (Catalogue known : List.of(Catalogue.samples(), AcmeLimits.bundled().catalogue())) {
      known.names().forEach(one -> taken.add(one.name()));
    }
    this.head = converted.all().stream().map(ConvertedFiles::head).collect(Collectors.joining());
    this.domains =
        converted.all().stream().map(one -> quoted(one.name())).collect(Collectors.joining(", "));
  }

  private static String head(Domain domain) {
    return "# Converted from %s, domain %s.\n"
        .formatted(domain.file().replaceAll("\\p{Cntrl}", " "), quoted(domain.name()));
  }

  /**
   * Adds a limit.
   *
   * @param wish what it should be called
   * @return its name
   */
  String limit(String wish, Quota quota) {
    String name = name(wish);
    names.append("  - {number: %s, name: %s, id: string}\n".formatted(numbers++, name));
    limits.append(
        "%s: {burst: %s, count: %s, period: %s}\n"
            .formatted(name, quota.burst(), quota.count(), GoDuration.format(quota.period())));
    return name;
  }

  private String name(String wish) {
    String plain = wish.replace("*", "").replaceAll("[^A-Za-z0-9_.-]", "_");
    String started = plain.matches("[A-Za-z].*") ? plain : "limit_" + plain;
    String base = started.substring(0, Math.min(started.length(), LONGEST_NAME));
    String name = base;
    for (int i = 2; !taken.add(name); i++) {
      name = base + "_" + i;
    }
    return name;
  }

  void override(String limit, Quota quota, String id) {
    overrides.append(
        "- %s:\n    burst: %s\n    count: %s\n    period: %s\n    ids: [%s]\n"
            .formatted(
                limit,
                quota.burst(),
                quota.count(),
                GoDuration.format(quota.period()),
                quoted(id)));
  }

  /** Adds a rule behind the others. Its text is asked for when all limits have names. */
  void rule(Supplier<String> text) {
    rules.add(text);
  }

  void renamed(Renaming one) {
    renamed.add(one);
  }

  /** In the order in which the limits were added. */
  List<Renaming> renamed() {
    return List.copyOf(renamed);
  }

  /** The text of each file by its name, in the order in which people read them. */
  Map<String, String> texts() {
    Map<String, String> files = new LinkedHashMap<>();
    if (numbers > FIRST_NUMBER) {
      files.put("names.yml", head + "# Numbers stand in bucket keys: never change one.\n" + names);
    }
    files.put("limits.yml", head + (limits.isEmpty() ? "{}\n" : limits));
    if (!overrides.isEmpty()) {
      files.put("overrides.yml", head + overrides);
    }
    files.put(
        "rules.yml",
        head
            + "# A descriptor without a rule is not limited, also if it has the name of a limit.\n"
            + "rulesOnly: [%s]\n".formatted(domains)
            + "# The first rule that matches decides.\nrules:\n"
            + rules.stream().map(Supplier::get).collect(Collectors.joining()));
    return files;
  }

  /** In double quotes, as YAML and JSON both read it. */
  static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029) {
        quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
