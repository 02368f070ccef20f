// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import static dev.sluice.rules.convert.Conversion.ConvertedFiles.quoted;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.rules.GroupedAddress;
import dev.sluice.rules.ValuePattern;
import dev.sluice.rules.convert.Conversion.ConvertedFiles;
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
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * The reference, envoyproxy/ratelimit, walks down a tree and never goes back up. At each level it
 * takes the descriptor whose value equals the entry's, or else the first pattern that matches, or
 * else the descriptor without a value. Our rules are a flat list, of which the first match decides.
 * So the tree is written in the order in which the reference looks. Where the reference would come
 * to a dead end, an "unmatched" rule stands before the more general ones.
 *
 * The reference looks up a value that is written like a pattern, such as "a*b", before the patterns
 * that match it. If another pattern comes first, a copy of the descriptor for this one value stands
 * before all patterns, with the same limits and ids.
 *
 * A key without a value and the same key with a value are a default and an override. The reference
 * counts each combination of values apart. So does a rule, whose id consists of the values that
 * vary.
 *
 * A file may have thousands of values of one key, so only patterns are compared with all values.
 */

/** Writes the tree of one domain as limits, overrides and rules. Not thread-safe. */
final class DomainWriter {

  private final Domain domain;
  private final Set<String> shared;
  private final ConvertedFiles files;
  private final Set<String> replaced = new HashSet<>();
  private final Map<String, Set<String>> written = new HashMap<>();
  private final IdentityHashMap<Rate, String> names = new IdentityHashMap<>();
  private final IdentityHashMap<List<Branch>, Level> levels = new IdentityHashMap<>();

  /** The paths of "unmatched" rules, by their first descriptor. */
  private final Map<Branch, List<List<Branch>>> guards = new HashMap<>();

  /**
   * Makes a writer.
   *
   * @param shared the names of rates that another domain has too
   */
  private DomainWriter(Domain domain, Set<String> shared, ConvertedFiles files) {
    this.domain = domain;
    this.shared = shared;
    this.files = files;
  }

  static ConvertedFiles write(Domains domains) {
    Map<String, Long> named =
        domains.all().stream()
            .flatMap(domain -> rated(domain.branches()).map(one -> rate(one).name()).distinct())
            .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
    named.values().removeIf(times -> times == 1);
    ConvertedFiles files = new ConvertedFiles(domains);
    for (Domain domain : domains.all()) {
      DomainWriter writer = new DomainWriter(domain, named.keySet(), files);
      rated(domain.branches()).forEach(one -> writer.replaced.addAll(rate(one).replaces()));
      int before = files.rules();
      writer.write(List.of(), domain.branches());
      if (files.rules() == before) { // a book needs a rule for each of its domains
        Branch first = domain.branches().get(0);
        files.rule(() -> writer.begin(entries(List.of(first))) + "    unmatched: true\n");
      }
      writer.tellUnknown();
    }
    return files;
  }

  /** Returns the descriptors that have a limit, or are unlimited. */
  private static Stream<Branch> rated(List<Branch> branches) {
    return branches.stream()
        .flatMap(
            branch ->
                Stream.concat(
                    branch.rate() == null ? Stream.empty() : Stream.of(branch),
                    rated(branch.below())));
  }

  private static Rate rate(Branch branch) {
    return Objects.requireNonNull(branch.rate());
  }

  /**
   * Reports names in {@code replaces} that no written limit has: an unlimited or always denied rate
   * gets no limit.
   */
  private void tellUnknown() {
    rated(domain.branches())
        .forEach(
            branch -> {
              for (String name : rate(branch).replaces()) {
                if (!written.containsKey(name)) {
                  files.notExpressed(
                      branch,
                      "replaces %s is not expressed: no limit has that name"
                          .formatted(SafeText.quote(name)));
                }
              }
            });
  }

  /**
   * Returns the line {@code replaces} of a rule, with the limits written for the names that a rate
   * replaces.
   */
  private String replaces(Rate rate) {
    String limits =
        rate.replaces().stream()
            .flatMap(name -> written.getOrDefault(name, Set.of()).stream())
            .distinct()
            .collect(Collectors.joining(", "));
    return limits.isEmpty() ? "" : "    replaces: [%s]\n".formatted(limits);
  }

  /** The descriptors of one list with the same key, in the order in which the reference looks. */
  private static final class Siblings {
    final Map<String, Branch> exact = new LinkedHashMap<>();
    final List<Branch> literals = new ArrayList<>();
    final List<Branch> patterns = new ArrayList<>();
    final Set<Branch> unreached = new HashSet<>();
    @Nullable Branch any;

    /** For each branch, the paths below it that already have rules. */
    final Map<Branch, List<List<Branch>>> known = new HashMap<>();

    /** Adds the next descriptor, in the order of ranks. */
    void add(Branch branch) {
      ValuePattern own = branch.pattern();
      if (own.isOpen() && patterns.stream().anyMatch(one -> one.pattern().covers(own))) {
        unreached.add(branch);
      }
      if (branch.isExact()) {
        exact.put(Objects.requireNonNull(branch.value()), branch);
      } else if (!branch.isPattern()) {
        any = branch;
      } else {
        if (isMatched(Objects.requireNonNull(branch.value()))) {
          literals.add(branch.asLiteral());
        }
        patterns.add(branch);
      }
    }

    boolean isMatched(String value) {
      return patterns.stream().anyMatch(one -> one.pattern().matches(value));
    }

    /** Returns the other patterns that match all values of a branch. */
    Stream<Branch> covering(Branch branch) {
      return patterns.stream()
          .filter(one -> !one.equals(branch) && one.pattern().covers(branch.pattern()));
    }

    /** Returns the descriptors that come before a pattern and share a value with it. */
    Stream<Branch> before(Branch branch) {
      if (!branch.pattern().isOpen()) {
        return Stream.empty();
      }
      Stream<Branch> single = Stream.concat(exact.values().stream(), literals.stream());
      Stream<Branch> open =
          patterns.stream()
              .takeWhile(one -> !one.equals(branch))
              .filter(one -> !unreached.contains(one));
      ValuePattern own = branch.pattern();
      return Stream.concat(single, open).filter(one -> one.pattern().meets(own));
    }
  }

  /** The descriptors of one list, in the order in which the reference looks. */
  private static final class Level {
    final Map<String, Siblings> byKey = new LinkedHashMap<>();
    final Set<Branch> reached = new LinkedHashSet<>();

    Level(List<Branch> branches) {
      List<Branch> inOrder = new ArrayList<>(branches);
      inOrder.sort(Comparator.comparingInt(Branch::rank));
      for (Branch branch : inOrder) {
        byKey.computeIfAbsent(branch.key(), key -> new Siblings()).add(branch);
      }
      byKey.values().forEach(siblings -> reached.addAll(siblings.literals));
      for (Branch branch : inOrder) {
        if (!siblings(branch).unreached.contains(branch)) {
          reached.add(branch);
        }
      }
    }

    Siblings siblings(Branch branch) {
      return Objects.requireNonNull(byKey.get(branch.key()));
    }
  }

  private Level level(List<Branch> branches) {
    return levels.computeIfAbsent(branches, Level::new);
  }

  private void write(List<Branch> before, List<Branch> branches) {
    Level level = level(branches);
    Set<Branch> overriding = new HashSet<>();
    level.byKey.values().forEach(one -> overriding.addAll(overriding(before, one)));
    for (Branch branch : level.reached) {
      Siblings siblings = level.siblings(branch);
      List<List<Branch>> leaves = leaves(branch);
      siblings.before(branch).forEach(specific -> guard(before, specific, leaves, siblings));
      List<Branch> path = plus(before, branch);
      if (branch.rate() != null && !overriding.contains(branch)) {
        rule(path, branch, branch.equals(siblings.any) ? overriding(before, siblings) : Set.of());
      }
      write(path, branch.below());
    }
  }

  /**
   * Returns the siblings that can be written as overrides of the default among them. An override
   * has no rule, so a matching pattern's rule would decide first: a value that a pattern matches
   * gets a rule instead.
   */
  private Set<Branch> overriding(List<Branch> before, Siblings siblings) {
    Set<Branch> overriding = new LinkedHashSet<>();
    Branch any = siblings.any;
    if (any == null || !isPlain(any) || !before.stream().allMatch(Branch::isExact)) {
      return overriding;
    }
    siblings.exact.forEach(
        (value, one) -> {
          if (isPlain(one) && isAskedFor(one.key(), value) && !siblings.isMatched(value)) {
            overriding.add(one);
          }
        });
    return overriding;
  }

  /**
   * Whether a rule can produce the value as an id: it groups addresses, so an override for a single
   * address of a group would never act.
   */
  private static boolean isAskedFor(String key, String value) {
    return !GroupedAddress.isIn(key, IdFormat.string()) || GroupedAddress.of(value).equals(value);
  }

  /**
   * Whether a limit can be part of an override. A rate that replaces or is replaced needs a rule of
   * its own.
   */
  private boolean isPlain(Branch branch) {
    Rate rate = branch.rate();
    return rate != null
        && rate.quota() != null
        && !branch.shadow()
        && rate.replaces().isEmpty()
        && !replaced.contains(rate.name());
  }

  /**
   * Adds {@code unmatched} rules for the paths below a general branch that a more specific branch
   * lacks: there the reference limits nothing.
   *
   * @param general the paths to the limits below the general branch
   */
  private void guard(
      List<Branch> before, Branch specific, List<List<Branch>> general, Siblings siblings) {
    List<List<Branch>> known = known(specific, siblings);
    for (List<Branch> rest : general) {
      if (known.stream().noneMatch(path -> covers(path, rest))
          && siblings.covering(specific).noneMatch(one -> isGuarded(one, rest, siblings))) {
        known.add(rest);
        List<Branch> path = new ArrayList<>(plus(before, specific));
        path.addAll(rest);
        List<List<Branch>> earlier = guards.computeIfAbsent(path.get(0), key -> new ArrayList<>());
        if (earlier.stream().anyMatch(one -> covers(one, path))) {
          continue; // an inner list has a guard that decides first
        }
        earlier.add(path);
        String entries = entries(path);
        files.rule(
            () ->
                "  # Nothing is below this value, and what is below others must not count.\n"
                    + begin(entries)
                    + "    unmatched: true\n");
      }
    }
  }

  private List<List<Branch>> known(Branch branch, Siblings siblings) {
    return siblings.known.computeIfAbsent(branch, this::leaves);
  }

  private boolean isGuarded(Branch branch, List<Branch> rest, Siblings siblings) {
    return siblings.known.getOrDefault(branch, List.of()).stream()
        .anyMatch(path -> covers(path, rest));
  }

  /** Returns the paths to the limits of a branch, without the branch itself. */
  private List<List<Branch>> leaves(Branch branch) {
    List<List<Branch>> leaves = new ArrayList<>();
    if (branch.rate() != null) {
      leaves.add(List.of());
    }
    for (Branch below : level(branch.below()).reached) {
      for (List<Branch> rest : leaves(below)) {
        leaves.add(Stream.concat(Stream.of(below), rest.stream()).toList());
      }
    }
    return leaves;
  }

  private static boolean covers(List<Branch> one, List<Branch> other) {
    boolean covers = one.size() == other.size();
    for (int i = 0; covers && i < one.size(); i++) {
      covers =
          one.get(i).key().equals(other.get(i).key())
              && one.get(i).pattern().covers(other.get(i).pattern());
    }
    return covers;
  }

  private static List<Branch> plus(List<Branch> path, Branch branch) {
    List<Branch> longer = new ArrayList<>(path);
    longer.add(branch);
    return longer;
  }

  private void rule(List<Branch> path, Branch branch, Set<Branch> overriding) {
    Rate rate = rate(branch);
    Quota quota = rate.quota();
    String begin = begin(entries(path));
    if (quota == null) {
      // A limit in shadow that denies everything lets everything pass.
      boolean denies = rate.isNothing() && !branch.shadow();
      String verdict = denies ? "    deny: true\n" : "    unlimited: true\n";
      files.rule(() -> begin + replaces(rate) + verdict);
      return;
    }
    String name = names.computeIfAbsent(rate, any -> limit(path, branch, quota));
    String charges =
        "    limit: %s\n    id: %s\n".formatted(name, quoted(id(path)))
            + (branch.shadow() ? "    shadow: true\n" : "");
    files.rule(() -> begin + replaces(rate) + charges);
    for (Branch single : overriding) {
      Quota own = Objects.requireNonNull(rate(single).quota());
      files.override(name, own, Objects.requireNonNull(single.value()));
    }
  }

  private String limit(List<Branch> path, Branch branch, Quota quota) {
    Rate rate = rate(branch);
    String wish = wish(rate, path);
    String name = files.limit(wish, quota);
    noteRenamed(branch, wish, name);
    written.computeIfAbsent(rate.name(), any -> new LinkedHashSet<>()).add(name);
    return name;
  }

  private void noteRenamed(Branch branch, String wish, String name) {
    Rate rate = rate(branch);
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
        new Renaming(branch.file(), named.line(), named.column(), rate.name(), name, why));
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
                    : "{%s: %s}"
                        .formatted(quoted(branch.key()), quoted(branch.pattern().toString())))
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the id template: the entries whose values vary; "*", one bucket for all, if none
   * varies.
   */
  private static String id(List<Branch> path) {
    List<String> places = new ArrayList<>();
    for (int i = 0; i < path.size(); i++) {
      if (path.get(i).varies()) {
        places.add("{" + (i + 1) + "}");
      }
    }
    return places.isEmpty() ? "*" : String.join(":", places);
  }

  /**
   * Returns the preferred name: the author's, with the domain if another domain has it too;
   * otherwise the path.
   */
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
