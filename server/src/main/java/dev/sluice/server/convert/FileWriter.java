// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.convert;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.server.convert.Branch.Rate;
import dev.sluice.server.convert.Conversion.Converted;
import dev.sluice.text.GoDuration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/*
 * The reference walks down a tree, and never goes back up. At each level it takes the descriptor
 * with the entry's value, or else the first pattern that matches, or else the one without a value.
 * Rules are a flat list, of which the first one that matches decides. So the tree is written in the
 * order in which the reference looks. Where the reference would come to a dead end, a rule that
 * limits nothing stands before the more general ones, so that they do not match.
 *
 * A key without a value and the same key with one are a default and an override. The reference counts
 * each combination of values apart, and so does the id of a rule: it is made of the values that vary.
 */

/** Writes the tree as names, limits, overrides and rules. For one file; not thread-safe. */
final class FileWriter {

  private static final int FIRST_NUMBER = 1001;
  private static final int LONGEST_NAME = 90;

  private final String domain;
  private final String head;
  private final StringBuilder names = new StringBuilder("names:\n");
  private final StringBuilder limits = new StringBuilder();
  private final StringBuilder overrides = new StringBuilder();
  private final List<Supplier<String>> rules = new ArrayList<>(); // written last: they name limits
  private final Set<String> taken = new HashSet<>();
  private final Set<String> guards = new LinkedHashSet<>();
  private final Set<String> replaced = new HashSet<>();
  private final Map<String, Set<String>> written = new HashMap<>();
  private int numbers = FIRST_NUMBER;

  FileWriter(String file, String domain) {
    this.domain = domain;
    taken.add("names"); // a word of the files
    for (Catalogue known : List.of(Catalogue.samples(), AcmeLimits.bundled().catalogue())) {
      known.names().forEach(one -> taken.add(one.name()));
    }
    this.head =
        "# Converted from %s, domain %s.\n"
            .formatted(file.replaceAll("\\p{Cntrl}", " "), quoted(domain));
  }

  /** Null if nothing is left of it. */
  @Nullable Converted write(List<Branch> branches) {
    noteReplaced(branches);
    level(List.of(), branches);
    if (rules.isEmpty()) {
      return null;
    }
    Map<String, String> files = new LinkedHashMap<>();
    if (numbers > FIRST_NUMBER) {
      files.put("names.yml", head + "# Numbers stand in bucket keys: never change one.\n" + names);
    }
    files.put("limits.yml", head + (limits.isEmpty() ? "{}\n" : limits));
    if (!overrides.isEmpty()) {
      files.put("overrides.yml", head + overrides);
    }
    String text = rules.stream().map(Supplier::get).collect(Collectors.joining());
    files.put(
        "rules.yml",
        head
            + "# A descriptor without a rule is not limited, also if it has the name of a limit.\n"
            + "rulesOnly: [%s]\n".formatted(quoted(domain))
            + "# The first rule that matches decides.\nrules:\n"
            + text);
    return new Converted(files);
  }

  private void noteReplaced(List<Branch> branches) {
    for (Branch branch : branches) {
      Rate rate = branch.rate();
      if (rate != null) {
        replaced.addAll(rate.replaces());
      }
      noteReplaced(branch.below());
    }
  }

  /** The limits that were written for the names that a rate replaces. */
  private String replaces(Rate rate) {
    String limits =
        rate.replaces().stream()
            .flatMap(name -> written.getOrDefault(name, Set.of()).stream())
            .collect(Collectors.joining(", "));
    return limits.isEmpty() ? "" : "    replaces: [%s]\n".formatted(limits);
  }

  private void level(List<Branch> before, List<Branch> siblings) {
    List<Branch> inOrder = siblings.stream().sorted(Comparator.comparingInt(Branch::rank)).toList();
    for (Branch branch : inOrder) {
      Set<Branch> overriding = overriding(before, branch, siblings);
      for (Branch specific : inOrder.subList(0, inOrder.indexOf(branch))) {
        if (branch.covers(specific) && !overriding.contains(specific)) {
          guard(before, specific, branch);
        }
      }
      List<Branch> path = plus(before, branch);
      boolean overrides =
          siblings.stream().anyMatch(other -> overriding(before, other, siblings).contains(branch));
      if (branch.rate() != null && !overrides) {
        rule(path, branch, overriding);
      }
      level(path, branch.below());
    }
  }

  /** The siblings whose limits are overrides of this one's, for single values. */
  private Set<Branch> overriding(List<Branch> before, Branch branch, List<Branch> siblings) {
    if (branch.value() != null || !isPlain(branch) || !before.stream().allMatch(Branch::isExact)) {
      return Set.of();
    }
    return siblings.stream()
        .filter(other -> other.isExact() && other.key().equals(branch.key()) && isPlain(other))
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /** A rule that replaces or is replaced stands alone: an override has no rule. */
  private boolean isPlain(Branch branch) {
    Rate rate = branch.rate();
    return rate != null
        && rate.quota() != null
        && !branch.shadow()
        && rate.replaces().isEmpty()
        && !replaced.contains(rate.name());
  }

  /**
   * Where the more specific branch has nothing for what the more general one has, nothing limits.
   */
  private void guard(List<Branch> before, Branch specific, Branch general) {
    List<List<Branch>> own = leaves(specific);
    for (List<Branch> rest : leaves(general)) {
      boolean covered = own.stream().anyMatch(path -> covers(path, rest));
      if (!covered) {
        List<Branch> path = new ArrayList<>(plus(before, specific));
        path.addAll(rest);
        String entries = entries(path);
        if (guards.add(entries)) {
          rules.add(
              () ->
                  "  # Nothing is below this value, and what is below others must not count.\n"
                      + begin(entries)
                      + "    unlimited: true\n");
        }
      }
    }
  }

  /** The way to the limits of a branch, without the branch itself. */
  private static List<List<Branch>> leaves(Branch branch) {
    List<List<Branch>> leaves = new ArrayList<>();
    if (branch.rate() != null) {
      leaves.add(List.of());
    }
    for (Branch below : branch.below()) {
      for (List<Branch> rest : leaves(below)) {
        List<Branch> path = new ArrayList<>(List.of(below));
        path.addAll(rest);
        leaves.add(path);
      }
    }
    return leaves;
  }

  private static boolean covers(List<Branch> one, List<Branch> other) {
    if (one.size() != other.size()) {
      return false;
    }
    for (int i = 0; i < one.size(); i++) {
      if (!one.get(i).covers(other.get(i))) {
        return false;
      }
    }
    return true;
  }

  private static List<Branch> plus(List<Branch> before, Branch branch) {
    List<Branch> path = new ArrayList<>(before);
    path.add(branch);
    return path;
  }

  private void rule(List<Branch> path, Branch branch, Set<Branch> overriding) {
    Rate rate = Objects.requireNonNull(branch.rate());
    Quota quota = rate.quota();
    String begin = begin(entries(path));
    if (quota == null) {
      // A trial that denies all lets all pass.
      boolean denies = rate.isNothing() && !branch.shadow();
      String verdict = denies ? "    deny: true\n" : "    unlimited: true\n";
      rules.add(() -> begin + replaces(rate) + verdict);
      return;
    }
    String name = name(rate, path);
    names.append("  - {number: %s, name: %s, id: string}\n".formatted(numbers++, name));
    written.computeIfAbsent(rate.name(), any -> new LinkedHashSet<>()).add(name);
    limits.append("%s: %s\n".formatted(name, inBraces(quota)));
    String charges =
        "    limit: %s\n    id: %s\n".formatted(name, quoted(id(path)))
            + (branch.shadow() ? "    shadow: true\n" : "");
    rules.add(() -> begin + replaces(rate) + charges);
    for (Branch single : overriding) {
      Quota own = Objects.requireNonNull(Objects.requireNonNull(single.rate()).quota());
      overrides.append(
          "- %s:\n    burst: %s\n    count: %s\n    period: %s\n    ids: [%s]\n"
              .formatted(
                  name,
                  own.burst(),
                  own.count(),
                  GoDuration.format(own.period()),
                  quoted(Objects.requireNonNull(single.value()))));
    }
  }

  private static String inBraces(Quota quota) {
    return "{burst: %s, count: %s, period: %s}"
        .formatted(quota.burst(), quota.count(), GoDuration.format(quota.period()));
  }

  private String begin(String entries) {
    return "  - domain: %s\n    entries: [%s]\n".formatted(quoted(domain), entries);
  }

  private static String entries(List<Branch> path) {
    return path.stream()
        .map(
            branch ->
                branch.value() == null
                    ? quoted(branch.key())
                    : "{%s: %s}".formatted(quoted(branch.key()), quoted(branch.value())))
        .collect(Collectors.joining(", "));
  }

  /** The values that vary, by the places of their entries; one bucket for all where none does. */
  private static String id(List<Branch> path) {
    List<String> places = new ArrayList<>();
    for (int i = 0; i < path.size(); i++) {
      if (path.get(i).varies()) {
        places.add("{" + (i + 1) + "}");
      }
    }
    return places.isEmpty() ? "*" : String.join(":", places);
  }

  private String name(Rate rate, List<Branch> path) {
    String wish =
        rate.name().isEmpty()
            ? domain
                + path.stream()
                    .map(
                        branch ->
                            "."
                                + branch.key()
                                + (branch.value() == null ? "" : "_" + branch.value()))
                    .collect(Collectors.joining())
            : rate.name();
    String plain = wish.replace("*", "").replaceAll("[^A-Za-z0-9_.-]", "_");
    String started = plain.matches("[A-Za-z].*") ? plain : "limit_" + plain;
    String base = started.substring(0, Math.min(started.length(), LONGEST_NAME));
    String name = base;
    for (int i = 2; !taken.add(name); i++) {
      name = base + "_" + i;
    }
    return name;
  }

  /** In double quotes, as YAML and JSON both read it. */
  private static String quoted(String text) {
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
