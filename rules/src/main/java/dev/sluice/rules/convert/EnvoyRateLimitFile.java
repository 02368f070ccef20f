// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.Limits;
import dev.sluice.rules.ValuePattern;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Branch.Rate;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains.Domain;
import dev.sluice.rules.internal.Replacements;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Parses the configuration of envoyproxy/ratelimit. An unknown field is a mistake; a setting that
 * Sluice files cannot express is a warning.
 */
final class EnvoyRateLimitFile implements CompanionReader<EnvoyRateLimitFile.Domains> {

  private static final List<String> ROOT = List.of("domain", "descriptors");
  private static final List<String> DESCRIPTOR =
      List.of(
          "key",
          "value",
          "rate_limit",
          "descriptors",
          "shadow_mode",
          "quota_mode",
          "detailed_metric",
          "value_to_metric",
          "share_threshold",
          "metadata");
  private static final List<String> RATE =
      List.of("unit", "requests_per_unit", "unlimited", "name", "replaces");
  private static final Map<String, Duration> UNITS =
      Map.of(
          "second", Duration.ofSeconds(1),
          "minute", Duration.ofMinutes(1),
          "hour", Duration.ofHours(1),
          "day", Duration.ofDays(1),
          "week", Duration.ofDays(7),
          "month", Duration.ofDays(30),
          "year", Duration.ofDays(365));
  private static final long UINT32_MAX = 0xffff_ffffL;

  @Override
  public Class<Domains> type() {
    return Domains.class;
  }

  @Override
  public String expected() {
    return "a map with the fields domain and descriptors";
  }

  @Override
  public boolean hasAliases() {
    return true;
  }

  @Override
  public @Nullable Domains read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    // Messages are allowed to quote the file, since only the user who converts the file sees the
    // messages.
    problems.recognized();
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Node.Entry kind = entry(map, "kind");
    if (kind == null) {
      return configuration(root, map, file, limits, problems);
    }
    if (!"ConfigMap".equals(text(kind.value()))) {
      problems.wrong(kind.value(), "ConfigMap; write each ConfigMap into a file of its own");
      return null;
    }
    return configMap(kind, map, file, limits, problems);
  }

  private static @Nullable Domains configuration(
      Node root, Node.Mapping map, String file, Limits limits, Problems problems) {
    Fields fields = Fields.of(map, root, ROOT, problems);
    String domain = Values.text(fields.require("domain"), "the name of a domain", problems);
    if (domain != null && domain.isEmpty()) {
      problems.wrong(fields.at("domain"), "the name of a domain");
    }
    Domain before = domain == null ? null : others(limits).find(domain);
    List<Branch> earlier = before == null ? List.of() : before.branches();
    Reading reading = new Reading(file, problems, new ArrayList<>());
    List<Branch> branches = reading.branches(fields.find("descriptors"), earlier);
    Replacements replacements = new Replacements();
    addReplacements(earlier, file, replacements);
    addReplacements(branches, file, replacements);
    replacements.report(problems);
    boolean isNothing =
        earlier.stream().noneMatch(Branch::decides) && branches.stream().noneMatch(Branch::decides);
    for (NotExpressed one : reading.notExpressed) {
      if (isNothing) {
        problems.mistake(one.node, one.why + "; no other descriptor in the file has a limit");
      } else {
        problems.warning(one.node, one.why);
      }
    }
    if (isNothing && !problems.mistaken()) {
      problems.mistake(
          fields.at("descriptors"),
          "no descriptor has a rate_limit, so there is nothing to convert: every request passes");
    }
    return problems.mistaken() || domain == null
        ? null
        : new Domains(List.of(new Domain(domain, List.of(file), branches)));
  }

  /** Reads a Kubernetes ConfigMap: each value in its field {@code data} is a file. */
  private @Nullable Domains configMap(
      Node.Entry kind, Node.Mapping map, String file, Limits limits, Problems problems) {
    Node.Entry binary = entry(map, "binaryData");
    if (binary != null) {
      problems.warning(binary.key(), "binaryData is not read: move its files to data, as text");
    }
    Node.Entry data = entry(map, "data");
    if (data == null
        || !(data.value() instanceof Node.Mapping files)
        || files.entries().isEmpty()) {
      problems.mistake(
          data == null ? kind.key() : data.key(),
          "found a ConfigMap without files, expected files in its field data");
      return null;
    }
    Domains all = new Domains(List.of());
    for (Node.Entry one : files.entries()) {
      String text = text(one.value());
      if (text == null) {
        problems.wrong(one.value(), "the text of a file");
        continue;
      }
      String name = "%s, data.%s".formatted(file, SafeText.printable(one.key().text()));
      Limits earlier = joined(limits, all);
      Domains read =
          problems.embedded(name, text, (root, own) -> read(root, name, earlier, true, own));
      all = read == null ? all : all.plus(read);
    }
    return problems.mistaken() ? null : all;
  }

  private static Node.@Nullable Entry entry(Node.Mapping map, String key) {
    return map.entries().stream()
        .filter(one -> one.key().text().equals(key))
        .findFirst()
        .orElse(null);
  }

  /** Returns the domains that earlier files have defined. */
  private static Domains others(Limits limits) {
    return Objects.requireNonNullElse(limits.companion(Domains.class), new Domains(List.of()));
  }

  @Override
  public Limits joined(Limits limits, Domains read) {
    return limits.with(type(), others(limits).plus(read));
  }

  /** A setting that Sluice files cannot express. */
  private record NotExpressed(Node node, String why) {}

  /** Parses one file. Not thread-safe. */
  private record Reading(String file, Problems problems, List<NotExpressed> notExpressed) {

    /**
     * Reads a list of descriptors.
     *
     * @param earlier the descriptors that earlier files have at this place
     */
    List<Branch> branches(@Nullable Node node, List<Branch> earlier) {
      List<Branch> branches = new ArrayList<>();
      Node.Sequence list = Values.list(node, "a list of descriptors", problems);
      if (list != null) {
        Map<String, String> known = new HashMap<>();
        for (Branch one : earlier) {
          known.put(one.composite(), "line %s of %s".formatted(one.node().line(), one.file()));
        }
        for (Node item : list.items()) {
          Branch branch = branch(item, known);
          if (branch != null) {
            branches.add(branch);
          }
        }
      }
      return branches;
    }

    private @Nullable Branch branch(Node item, Map<String, String> known) {
      Node.Mapping map = Values.map(item, "a descriptor as {key, value, rate_limit}", problems);
      if (map == null) {
        return null;
      }
      Fields fields = Fields.of(map, item, DESCRIPTOR, problems);
      Node keyed = fields.require("key");
      String key = text(keyed);
      String text = Objects.requireNonNullElse(text(fields.find("value")), "");
      String value = text.isEmpty() ? null : text;
      boolean shared = flag(fields, "share_threshold", problems);
      boolean shadow = flag(fields, "shadow_mode", problems);
      if (key == null || key.isEmpty()) {
        if (keyed != null) {
          problems.wrong(keyed, "a key that is not empty");
        }
        return null;
      }
      List<Branch> below = branches(fields.find("descriptors"), List.of());
      Rate rate = rate(fields.find("rate_limit"));
      Branch branch =
          new Branch(
              file,
              item,
              key,
              value,
              value == null ? ValuePattern.ANY : ValuePattern.ofStars(value),
              rate,
              shadow,
              shared,
              below);
      String twin = known.putIfAbsent(branch.composite(), "line " + item.line());
      if (twin != null) {
        problems.mistake(
            item,
            "found the descriptor %s again, expected it once; it is on %s too"
                .formatted(SafeText.quote(branch.composite()), twin));
      }
      if (shared && !branch.composite().contains(Branch.STAR)) {
        problems.mistake(
            fields.at("share_threshold"), "share_threshold requires a \"*\" in the value");
      }
      tellMetrics(fields);
      if (shadow && rate != null && rate.isNothing()) {
        problems.warning(
            fields.at("shadow_mode"),
            "shadow_mode with a limit of 0 requests is converted to unlimited, so the requests that this limit would deny are not counted");
      }
      if (flag(fields, "quota_mode", problems)) {
        problems.warning(
            fields.at("quota_mode"),
            "quota_mode is not converted, because a request is charged all or nothing: this limit denies a request by itself, not only when all limits with quota_mode are exceeded");
      }
      if (key.contains(Branch.STAR)) {
        notExpressed.add(
            new NotExpressed(
                fields.at("key"),
                "not converted, with all descriptors below it: \"*\" is allowed in a value, not in a key"));
        return null;
      }
      return branch;
    }

    /** Warns about fields that only change the labels of metrics. */
    private void tellMetrics(Fields fields) {
      for (String name : List.of("detailed_metric", "value_to_metric")) {
        if (flag(fields, name, problems)) {
          problems.warning(
              fields.at(name),
              name + " is not converted: Sluice does not use descriptor values as metric labels");
        }
      }
      if (fields.find("metadata") != null) {
        problems.warning(
            fields.at("metadata"),
            "metadata is not converted: responses of Sluice contain no metadata of limits");
      }
    }

    private @Nullable Rate rate(@Nullable Node node) {
      Node.Mapping map = Values.map(node, "a limit as {unit, requests_per_unit}", problems);
      if (map == null) {
        return null;
      }
      Fields fields = Fields.of(map, map, RATE, problems);
      Node named = fields.find("name");
      String name = Objects.requireNonNullElse(text(named), "");
      List<String> replaces = replaces(fields.find("replaces"), problems);
      String unit = text(fields.find("unit"));
      if (flag(fields, "unlimited", problems)) {
        if (unit != null) {
          problems.mistake(
              fields.at("unit"),
              "found a unit beside unlimited, expected either unit or unlimited");
        }
        return new Rate(name, named, null, false, replaces);
      }
      Duration period = unit == null ? null : UNITS.get(unit.toLowerCase(Locale.ROOT));
      if (period == null) {
        problems.mistake(
            fields.at("unit"),
            "found %s, expected second, minute, hour, day, week, month or year%s"
                .formatted(
                    unit == null ? "no unit" : SafeText.quote(unit),
                    unit == null ? "" : Suggestion.didYouMean(unit, List.copyOf(UNITS.keySet()))));
        return null;
      }
      Long requests = Values.wholeNumber(fields.find("requests_per_unit"), problems);
      Node at = fields.at("requests_per_unit");
      Quota quota = quota(at, requests == null ? 0 : requests, period);
      boolean isNothing = requests == null || requests == 0;
      return quota == null && !isNothing ? null : new Rate(name, named, quota, isNothing, replaces);
    }

    /** Returns the quota; null for 0 requests, or if Sluice cannot express the quota. */
    private @Nullable Quota quota(Node at, long requests, Duration period) {
      if (requests < 0 || requests > UINT32_MAX) {
        problems.wrong(at, "a whole number from 0 to " + UINT32_MAX);
        return null;
      }
      if (requests == 0) {
        return null;
      }
      if (requests > period.toNanos()) {
        notExpressed.add(
            new NotExpressed(
                at,
                "not converted: Sluice supports at most one request per nanosecond; lower requests_per_unit"));
        return null;
      }
      return Quota.per(requests, period);
    }
  }

  private static void addReplacements(
      List<Branch> branches, String file, Replacements replacements) {
    for (Branch branch : branches) {
      Rate rate = branch.rate();
      if (rate != null) {
        List<String> own = rate.name().isEmpty() ? List.of() : List.of(rate.name());
        String elsewhere = branch.file().equals(file) ? "" : branch.file();
        replacements.add(null, own, rate.replaces(), branch.node(), elsewhere);
      }
      addReplacements(branch.below(), file, replacements);
    }
  }

  /** Parses a list of limit names, each in a map with the field {@code name}. */
  private static List<String> replaces(@Nullable Node node, Problems problems) {
    List<String> names = new ArrayList<>();
    Node.Sequence list = Values.list(node, "a list of limits, each {name: …}", problems);
    for (Node item : list == null ? List.<Node>of() : list.items()) {
      Node.Mapping map = Values.map(item, "a limit as {name: …}", problems);
      if (map != null) {
        Node named = Fields.of(map, item, List.of("name"), problems).require("name");
        String name = text(named);
        if (name != null && !name.isBlank()) {
          names.add(name);
        } else if (named instanceof Node.Scalar) {
          problems.mistake(named, "found an empty name, expected the name of a limit");
        } else if (named != null && !(named instanceof Node.Broken)) {
          problems.wrongKind(named, "the name of a limit");
        }
      }
    }
    return List.copyOf(names);
  }

  /** Returns the text of a scalar. A number is accepted as a text, as in envoyproxy/ratelimit. */
  private static @Nullable String text(@Nullable Node node) {
    return node instanceof Node.Scalar scalar && !scalar.isNull() ? scalar.text() : null;
  }

  private static boolean flag(Fields fields, String name, Problems problems) {
    return Boolean.TRUE.equals(Values.bool(fields.find(name), problems));
  }

  /**
   * The domains of a configuration.
   *
   * @param all the domains, in the order of their first files
   */
  record Domains(List<Domain> all) {

    /**
     * One domain.
     *
     * @param name the name that proxies send, not empty
     * @param files the names of the domain's files, as messages show them
     * @param branches the descriptors of all files of the domain, in the order of the files
     */
    record Domain(String name, List<String> files, List<Branch> branches) {}

    /** Returns the domain with the given name; null if no file defines the domain. */
    @Nullable Domain find(String name) {
      return all.stream().filter(one -> one.name.equals(name)).findFirst().orElse(null);
    }

    /** Returns the domains of this object merged with the domains of later files. */
    Domains plus(Domains more) {
      Map<String, Domain> both = new LinkedHashMap<>();
      for (Domain one : both(all, more.all)) {
        both.merge(
            one.name,
            one,
            (a, b) -> new Domain(a.name, both(a.files, b.files), both(a.branches, b.branches)));
      }
      return new Domains(List.copyOf(both.values()));
    }

    private static <T> List<T> both(List<T> one, List<T> other) {
      return Stream.concat(one.stream(), other.stream()).toList();
    }
  }

  /**
   * A descriptor of the configuration, with the descriptors below it.
   *
   * @param file the name of the file
   * @param node the descriptor's place in the file
   * @param key the key of the entry
   * @param value the value, in which each {@code *} stands for any text; null for any value
   * @param pattern the values that the descriptor matches
   * @param rate the limit; null if the descriptor has no limit
   * @param shadow whether the limit is in shadow mode
   * @param shared whether all matching values share one bucket
   * @param below the descriptors for the next entry
   */
  record Branch(
      String file,
      Node node,
      String key,
      @Nullable String value,
      ValuePattern pattern,
      @Nullable Rate rate,
      boolean shadow,
      boolean shared,
      List<Branch> below) {

    /**
     * The field {@code rate_limit} of a descriptor.
     *
     * @param name the limit's name in the file; empty if the limit has no name
     * @param named the place of the name; null if the limit has no name
     * @param quota the quota; null if the limit denies or admits everything
     * @param isNothing whether the limit denies everything (0 requests)
     * @param replaces the names of rate limits that are not charged for other descriptors of the
     *     request
     */
    record Rate(
        String name,
        @Nullable Node named,
        @Nullable Quota quota,
        boolean isNothing,
        List<String> replaces) {}

    private static final String STAR = "*";

    /** Returns the key under which envoyproxy/ratelimit stores the descriptor. */
    String composite() {
      return value == null ? key : key + "_" + value;
    }

    /** Returns the descriptor's rank in a search: 0 exact value, 1 pattern, 2 any value. */
    int rank() {
      return value == null ? 2 : isPattern() ? 1 : 0;
    }

    boolean isPattern() {
      return hasStar() && pattern.isOpen();
    }

    private boolean hasStar() {
      return value != null && value.contains(STAR);
    }

    /** Whether the descriptor has a value without a star. */
    boolean isExact() {
      return value != null && !hasStar();
    }

    /** Returns a copy that matches only the pattern's own text, as if its stars were literal. */
    Branch asLiteral() {
      ValuePattern only = ValuePattern.literal(Objects.requireNonNull(value));
      return new Branch(file, node, key, value, only, rate, shadow, shared, below);
    }

    /** Whether each value of the entry has its own bucket. */
    boolean varies() {
      return !isExact() && !shared;
    }

    /** Compares by identity, since comparing whole trees in large sets would be slow. */
    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }

    /** Whether this descriptor or a descriptor below it has a limit or is unlimited. */
    boolean decides() {
      return rate != null || below.stream().anyMatch(Branch::decides);
    }
  }
}
