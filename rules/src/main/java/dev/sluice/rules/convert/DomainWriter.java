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
import dev.sluice.yaml.internal.Node;
import java.util.ArrayList;
import java.util.Collection;
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
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * The converted program, envoyproxy/ratelimit (here called Envoy), walks down a tree of descriptors
 * and never goes back up. At each level, Envoy takes the descriptor whose value equals the entry's
 * value; if there is none, the first pattern that matches; if none matches, the descriptor without
 * a value. Sluice's rules are a flat list, in which the first rule that matches decides. So the
 * tree is written in the order in which Envoy searches. If Envoy would find no limit below a value,
 * an "unmatched" rule for this value is written before the rules for more general values, so that
 * those rules do not match.
 *
 * If a request has the value "a*b" itself, Envoy first looks for the descriptor that is written
 * "a*b", and only then for a pattern that matches. So if an earlier pattern would match the text
 * "a*b", a copy of the descriptor for this one value is written before all patterns. The copy has
 * the limits and ids of the original descriptor.
 *
 * A key without a value and the same key with a value are written as a default and an override.
 * Envoy counts each combination of values separately. A rule of Sluice also counts each combination
 * separately, since the id consists of the values that vary.
 *
 * A file can have thousands of values and patterns of one key. Comparing all pairs would be slow,
 * so PatternSet searches all patterns at once.
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
  private final Map<Branch, Map<List<String>, Boolean>> limits = new HashMap<>();

  /**
   * Makes a writer.
   *
   * @param shared the names of rate limits that occur in more than one domain
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
      if (files.rules() == before) { // a rule file needs a rule for each of its domains
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

  /** Reports each name in {@code replaces} for which no limit was written. */
  private void tellUnknown() {
    rated(domain.branches())
        .forEach(
            branch -> {
              for (String name : rate(branch).replaces()) {
                if (!written.containsKey(name)) {
                  files.notExpressed(
                      branch,
                      "replaces %s is not converted: no limit has that name"
                          .formatted(SafeText.quote(name)));
                }
              }
            });
  }

  /** Returns the line {@code replaces} of a rule, with limits instead of the configured names. */
  private String replaces(Rate rate) {
    String limits =
        rate.replaces().stream()
            .flatMap(name -> written.getOrDefault(name, Set.of()).stream())
            .distinct()
            .collect(Collectors.joining(", "));
    return limits.isEmpty() ? "" : "    replaces: [%s]\n".formatted(limits);
  }

  /** The descriptors of one list with the same key, in the order in which Envoy searches. */
  private final class Siblings {
    final Map<String, Branch> exact = new LinkedHashMap<>();
    final List<Branch> literals = new ArrayList<>();

    /** The descriptors that match several values, unless an earlier pattern covers these values. */
    final List<Branch> open = new ArrayList<>();

    final PatternSet patterns = new PatternSet(files.steps());
    final Set<Branch> unreached = new HashSet<>();
    @Nullable Branch any;

    /**
     * Maps a descriptor to the lists of keys that lead to a limit below a more general sibling, but
     * to no limit below the descriptor itself.
     */
    final Map<Branch, Set<List<String>>> dead = new HashMap<>();

    /** Adds the next descriptor, in the order of {@link Branch#rank}. */
    void add(Branch branch) {
      if (branch.isExact()) {
        exact.put(Objects.requireNonNull(branch.value()), branch);
        return;
      }
      if (branch.isPattern()) {
        String value = Objects.requireNonNull(branch.value());
        if (patterns.matches(value)) {
          literals.add(branch.asLiteral());
        }
      } else {
        any = branch;
      }
      if (patterns.matches(branch.pattern().sample())) {
        unreached.add(branch);
      } else {
        open.add(branch);
        if (branch.isPattern()) {
          patterns.add(branch.pattern());
        }
      }
    }

    /** Fills the map {@link #dead} after all descriptors were added. */
    void close() {
      // Maps each list of keys to the patterns of the descriptors from which these keys lead to a
      // limit.
      Map<List<String>, PatternSet> all = new LinkedHashMap<>();
      open.forEach(
          one ->
              limited(one).keySet().forEach(keys -> all.put(keys, new PatternSet(files.steps()))));
      // In this loop, a pattern set has only patterns more general than the checked descriptor.
      for (int i = open.size() - 1; i >= 0; i--) {
        Branch branch = open.get(i);
        all.forEach((keys, general) -> close(branch, keys, () -> general.meets(branch.pattern())));
        limited(branch)
            .keySet()
            .forEach(keys -> Objects.requireNonNull(all.get(keys)).add(branch.pattern()));
      }
      for (Branch branch : all.isEmpty() ? List.<Branch>of() : both(exact.values(), literals)) {
        String value = Objects.requireNonNull(branch.value());
        all.forEach((keys, general) -> close(branch, keys, () -> general.matches(value)));
      }
    }

    private void close(Branch branch, List<String> keys, BooleanSupplier isShared) {
      if (!limited(branch).getOrDefault(keys, false) && isShared.getAsBoolean()) {
        dead.computeIfAbsent(branch, any -> new LinkedHashSet<>()).add(keys);
      }
    }
  }

  /** The descriptors of one list, in the order in which Envoy searches. */
  private final class Level {
    final Map<String, Siblings> byKey = new LinkedHashMap<>();
    final Set<Branch> reached = new LinkedHashSet<>();

    Level(List<Branch> branches) {
      List<Branch> inOrder = new ArrayList<>(branches);
      inOrder.sort(Comparator.comparingInt(Branch::rank));
      for (Branch branch : inOrder) {
        byKey.computeIfAbsent(branch.key(), key -> new Siblings()).add(branch);
      }
      byKey.values().forEach(Siblings::close);
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
    Level level = levels.get(branches);
    // computeIfAbsent would fail, since creating a level adds the levels below to the same map.
    if (level == null) {
      level = new Level(branches);
      levels.put(branches, level);
    }
    return level;
  }

  private void write(List<Branch> before, List<Branch> branches) {
    Level level = level(branches);
    Set<Branch> overriding = new HashSet<>();
    level.byKey.values().forEach(one -> overriding.addAll(overriding(before, one)));
    for (Branch branch : level.reached) {
      Siblings siblings = level.siblings(branch);
      List<Branch> path = plus(before, branch);
      if (branch.rate() != null && !overriding.contains(branch)) {
        rule(path, branch, branch.equals(siblings.any) ? overriding(before, siblings) : Set.of());
      }
      write(path, branch.below());
      siblings.dead.getOrDefault(branch, Set.of()).forEach(keys -> guard(path, keys));
    }
  }

  /**
   * Returns the descriptors that can be written as overrides of the limit of the sibling descriptor
   * that matches any value. A value that a pattern matches is written as a rule, not as an
   * override; otherwise the pattern's rule would match before the rule of the default.
   */
  private Set<Branch> overriding(List<Branch> before, Siblings siblings) {
    Set<Branch> overriding = new LinkedHashSet<>();
    Branch any = siblings.any;
    if (any == null || !isPlain(any) || !before.stream().allMatch(Branch::isExact)) {
      return overriding;
    }
    siblings.exact.forEach(
        (value, one) -> {
          if (isPlain(one) && isAskedFor(one.key(), value) && !siblings.patterns.matches(value)) {
            overriding.add(one);
          }
        });
    return overriding;
  }

  /** Whether a rule can produce the id; rules group IPv6 addresses by 64 bits. */
  private static boolean isAskedFor(String key, String value) {
    return !GroupedAddress.isIn(key, IdFormat.string()) || GroupedAddress.of(value).equals(value);
  }

  /**
   * Whether a descriptor has a quota, is not in shadow mode, and neither replaces a limit nor is
   * replaced, so that its limit can be written as a default or an override.
   */
  private boolean isPlain(Branch branch) {
    Rate rate = branch.rate();
    return rate != null
        && rate.quota() != null
        && !branch.shadow()
        && rate.replaces().isEmpty()
        && !replaced.contains(rate.name());
  }

  /** Adds an {@code unmatched} rule after the rules for all descriptors below a path. */
  private void guard(List<Branch> path, List<String> keysBelow) {
    List<String> entries = new ArrayList<>(entries(path));
    keysBelow.forEach(key -> entries.add(quoted(key)));
    String begin = begin(entries);
    files.rule(
        () ->
            "  # Other entries below this value have no limit, so no later rule may match them.\n"
                + begin
                + "    unmatched: true\n");
  }

  /**
   * Returns each list of keys that leads from a descriptor to a limit below it, mapped to whether
   * such a limit exists for all values of the keys.
   */
  private Map<List<String>, Boolean> limited(Branch branch) {
    Map<List<String>, Boolean> limited = limits.get(branch);
    if (limited == null) {
      limited = new LinkedHashMap<>();
      if (branch.rate() != null) {
        limited.put(List.of(), true);
      }
      for (Branch below : level(branch.below()).reached) {
        boolean isAny = below.pattern().covers(ValuePattern.ANY);
        for (Map.Entry<List<String>, Boolean> rest : limited(below).entrySet()) {
          limited.merge(
              both(List.of(below.key()), rest.getKey()),
              isAny && rest.getValue(),
              Boolean::logicalOr);
        }
      }
      limits.put(branch, limited);
    }
    return limited;
  }

  private static <T> List<T> both(Collection<T> one, Collection<T> other) {
    return Stream.concat(one.stream(), other.stream()).toList();
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
      // In shadow mode, a limit that denies everything still admits all requests.
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
            ? "another domain has a limit with the same name"
            : name.startsWith(wish)
                ? "another limit has that name"
                : "a name is a letter, then letters, digits, \"_\", \".\" or \"-\", does not begin"
                    + " with \"shadow-\", and no other limit has it";
    files.renamed(
        new Renaming(branch.file(), named.line(), named.column(), rate.name(), name, why));
  }

  private String begin(List<String> entries) {
    return "  - domain: %s\n    entries: %s\n".formatted(quoted(domain.name()), entries);
  }

  private static List<String> entries(List<Branch> path) {
    return path.stream()
        .map(
            branch ->
                branch.value() == null
                    ? quoted(branch.key())
                    : "{%s: %s}"
                        .formatted(quoted(branch.key()), quoted(branch.pattern().toString())))
        .toList();
  }

  /**
   * Returns the id template, with a placeholder for each entry whose value varies. If no entry's
   * value varies, the template is "*", one bucket for all requests.
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
   * Returns the preferred name of a limit: the name in the configuration, or the path if the
   * configuration has no name. If another domain has a limit of the same name, the domain is put
   * before the name.
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
