// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import static dev.sluice.rules.convert.ConvertedFiles.quoted;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat;
import dev.sluice.rules.GroupedAddress;
import dev.sluice.rules.convert.Conversion.Renaming;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Branch;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Branch.Rate;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains.Domain;
import dev.sluice.yaml.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/*
 * The reference walks down a tree, and never goes back up. At each level it takes the descriptor
 * with the entry's value, or else the first pattern that matches, or else the one without a value.
 * Rules are a flat list, of which the first one that matches decides. So the tree is written in the
 * order in which the reference looks. Where the reference would come to a dead end, a rule that
 * limits nothing stands before the more general ones, so that they do not match.
 *
 * A key without a value and the same key with one are a default and an override. The reference
 * counts each combination of values apart, and so does the id of a rule: it is made of the values
 * that vary.
 */

/**
 * Writes the tree of a domain as names, limits, overrides and rules. For one domain; not
 * thread-safe.
 */
final class DomainWriter {

  private final Domain domain;
  private final Set<String> shared;
  private final ConvertedFiles files;
  private final Set<String> guards = new LinkedHashSet<>();
  private final Set<String> replaced = new HashSet<>();
  private final Map<String, Set<String>> written = new HashMap<>();

  /**
   * Makes a writer.
   *
   * @param shared the names of rates that other domains have too
   */
  private DomainWriter(Domain domain, Set<String> shared, ConvertedFiles files) {
    this.domain = domain;
    this.shared = shared;
    this.files = files;
  }

  static ConvertedFiles write(Domains domains) {
    Map<String, Long> named =
        domains.all().stream()
            .flatMap(domain -> names(domain.branches()).distinct())
            .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
    named.values().removeIf(times -> times == 1);
    ConvertedFiles files = new ConvertedFiles(domains);
    for (Domain domain : domains.all()) {
      DomainWriter writer = new DomainWriter(domain, named.keySet(), files);
      writer.noteReplaced(domain.branches());
      writer.level(List.of(), domain.branches());
    }
    return files;
  }

  private static Stream<String> names(List<Branch> branches) {
    return branches.stream()
        .flatMap(
            branch ->
                Stream.concat(
                    Stream.ofNullable(branch.rate()).map(Rate::name), names(branch.below())));
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
    List<Branch> inOrder = reached(siblings);
    Set<Branch> overrides =
        inOrder.stream()
            .flatMap(branch -> overriding(before, branch, inOrder).stream())
            .collect(Collectors.toSet());
    for (Branch branch : inOrder) {
      for (Branch specific : inOrder.subList(0, inOrder.indexOf(branch))) {
        if (branch.covers(specific)) {
          guard(before, specific, branch);
        }
      }
      List<Branch> path = plus(before, branch);
      if (branch.rate() != null && !overrides.contains(branch)) {
        rule(path, branch, overriding(before, branch, inOrder));
      }
      level(path, branch.below());
    }
  }

  /** In the order of the reference, without those that it never comes to. */
  private static List<Branch> reached(List<Branch> siblings) {
    List<Branch> reached = new ArrayList<>();
    siblings.stream()
        .sorted(Comparator.comparingInt(Branch::rank))
        .filter(branch -> reached.stream().noneMatch(earlier -> earlier.covers(branch)))
        .forEach(reached::add);
    return reached;
  }

  /**
   * The siblings whose limits are overrides of this one's, for single values. An override has no
   * rule, so a pattern's rule would come before it: such a value gets a rule of its own.
   */
  private Set<Branch> overriding(List<Branch> before, Branch branch, List<Branch> siblings) {
    if (branch.value() != null || !isPlain(branch) || !before.stream().allMatch(Branch::isExact)) {
      return Set.of();
    }
    List<Branch> patterns = siblings.stream().filter(other -> other.rank() == 1).toList();
    return siblings.stream()
        .filter(other -> other.isExact() && other.key().equals(branch.key()) && isPlain(other))
        .filter(other -> patterns.stream().noneMatch(pattern -> pattern.covers(other)))
        .filter(other -> isAskedFor(other.key(), Objects.requireNonNull(other.value())))
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /** No rule asks for a single address of a group, so no override may name it. */
  private static boolean isAskedFor(String key, String value) {
    return !GroupedAddress.isIn(key, IdFormat.string()) || GroupedAddress.of(value).equals(value);
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
          files.rule(
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
      files.rule(() -> begin + replaces(rate) + verdict);
      return;
    }
    String wish = wish(rate, path);
    String name = files.limit(wish, quota);
    noteRenamed(rate, wish, name);
    written.computeIfAbsent(rate.name(), any -> new LinkedHashSet<>()).add(name);
    String charges =
        "    limit: %s\n    id: %s\n".formatted(name, quoted(id(path)))
            + (branch.shadow() ? "    shadow: true\n" : "");
    files.rule(() -> begin + replaces(rate) + charges);
    for (Branch single : overriding) {
      Quota own = Objects.requireNonNull(Objects.requireNonNull(single.rate()).quota());
      files.override(name, own, Objects.requireNonNull(single.value()));
    }
  }

  private void noteRenamed(Rate rate, String wish, String name) {
    Node named = rate.named();
    if (named == null || rate.name().isEmpty() || name.equals(rate.name())) {
      return;
    }
    String why =
        !wish.equals(rate.name())
            ? "another domain has a limit of that name"
            : name.startsWith(wish)
                ? "another limit has that name"
                : "a name is a letter, then letters, digits, \"_\", \".\" or \"-\", and no other"
                    + " limit has it";
    files.renamed(
        new Renaming(domain.file(), named.line(), named.column(), rate.name(), name, why));
  }

  private String begin(String entries) {
    return "  - domain: %s\n    entries: [%s]\n".formatted(quoted(domain.name()), entries);
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

  /** The author's name, behind the domain where others have it too; else the way to the limit. */
  private String wish(Rate rate, List<Branch> path) {
    if (!rate.name().isEmpty()) {
      return shared.contains(rate.name()) ? domain.name() + "." + rate.name() : rate.name();
    }
    return domain.name()
        + path.stream()
            .map(
                branch -> "." + branch.key() + (branch.value() == null ? "" : "_" + branch.value()))
            .collect(Collectors.joining());
  }
}
