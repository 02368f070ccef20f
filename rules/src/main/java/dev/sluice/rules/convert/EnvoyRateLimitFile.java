// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import dev.sluice.rules.Replacements;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Branch.Rate;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains.Domain;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.Fields;
import dev.sluice.yaml.Node;
import dev.sluice.yaml.Problems;
import dev.sluice.yaml.Values;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the configuration of envoyproxy/ratelimit. Anything else in the file is a mistake; settings
 * that our files cannot express are warnings at their place. Stateless.
 */
final class EnvoyRateLimitFile implements CompanionFile<EnvoyRateLimitFile.Domains> {

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
  public @Nullable Domains read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    problems.recognized(); // only the person who converts it sees the messages
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Fields fields = Fields.of(map, root, ROOT, problems);
    String domain = Values.text(fields.require("domain"), "the name of a domain", problems);
    if (domain != null && domain.isEmpty()) {
      problems.wrong(fields.at("domain"), "the name of a domain");
    }
    Domain twin = domain == null ? null : others(limits).find(domain);
    if (twin != null) {
      problems.mistake(
          fields.at("domain"),
          "found the domain %s again, expected it in one file; it is in %s too"
              .formatted(SafeText.quote(twin.name()), twin.file()));
    }
    List<Branch> branches = branches(fields.find("descriptors"), problems);
    Replacements replacements = new Replacements();
    addReplacements(branches, replacements);
    replacements.report(problems);
    if (problems.mistaken() || domain == null) {
      return null;
    }
    tellUnknown(branches, namesOfLimits(branches), problems);
    if (branches.stream().noneMatch(Branch::decides)) {
      problems.mistake(root, "no limit of the file can be expressed");
    }
    return new Domains(List.of(new Domain(file, domain, branches)));
  }

  /** The domains of the files before this one. */
  private static Domains others(Limits limits) {
    return Objects.requireNonNullElse(limits.companion(Domains.class), new Domains(List.of()));
  }

  @Override
  public Limits joined(Limits limits, Domains read) {
    return limits.with(type(), others(limits).plus(read));
  }

  private static List<Branch> branches(@Nullable Node node, Problems problems) {
    List<Branch> branches = new ArrayList<>();
    Node.Sequence list = Values.list(node, "a list of descriptors", problems);
    if (list != null) {
      Map<String, Node> known = new HashMap<>();
      for (Node item : list.items()) {
        Branch branch = branch(item, known, problems);
        if (branch != null) {
          branches.add(branch);
        }
      }
    }
    return branches;
  }

  private static @Nullable Branch branch(Node item, Map<String, Node> known, Problems problems) {
    Node.Mapping map = Values.map(item, "a descriptor as {key, value, rate_limit}", problems);
    if (map == null) {
      return null;
    }
    Fields fields = Fields.of(map, item, DESCRIPTOR, problems);
    String key = text(fields.require("key"));
    String value = text(fields.find("value"));
    boolean shared = flag(fields, "share_threshold", problems);
    boolean shadow = flag(fields, "shadow_mode", problems);
    if (key == null || key.isEmpty()) {
      problems.wrong(fields.at("key"), "a key, not empty");
      return null;
    }
    Node twin = known.putIfAbsent(key + "_" + (value == null ? "" : value), item);
    if (twin != null) {
      problems.mistake(
          item,
          "found the descriptor %s again, expected it once; it is on line %s too"
              .formatted(SafeText.quote(key), twin.line()));
    }
    if (shared && (value == null || !value.contains("*"))) {
      problems.mistake(
          fields.at("share_threshold"), "share_threshold requires a \"*\" in the value");
    }
    tellMetrics(fields, problems);
    List<Branch> below = branches(fields.find("descriptors"), problems);
    Rate rate = rate(fields.find("rate_limit"), problems);
    if (shadow && rate != null && rate.isNothing()) {
      problems.warning(
          fields.at("shadow_mode"),
          "shadow_mode of 0 requests is written as unlimited: such a trial is not counted");
    }
    if (flag(fields, "quota_mode", problems)) {
      problems.warning(
          fields.at("quota_mode"),
          "quota_mode is not expressed: each limit denies on its own, not only when all are over");
    }
    if (key.contains("*")
        || (value != null && value.indexOf('*') < value.length() - 1 && value.contains("*"))) {
      problems.warning(
          fields.at(key.contains("*") ? "key" : "value"),
          "not expressed, with all below it: rules know \"*\" at the end of a value only");
      return null;
    }
    String wanted = value == null || value.isEmpty() ? null : value;
    return new Branch(item, key, wanted, rate, shadow, shared, below);
  }

  private static Set<String> namesOfLimits(List<Branch> branches) {
    Set<String> names = new HashSet<>();
    for (Branch branch : branches) {
      Rate rate = branch.rate();
      if (rate != null && rate.quota() != null) {
        names.add(rate.name());
      }
      names.addAll(namesOfLimits(branch.below()));
    }
    return names;
  }

  private static void addReplacements(List<Branch> branches, Replacements replacements) {
    for (Branch branch : branches) {
      Rate rate = branch.rate();
      if (rate != null) {
        List<String> own = rate.name().isEmpty() ? List.of() : List.of(rate.name());
        replacements.add(null, own, rate.replaces(), branch.node());
      }
      addReplacements(branch.below(), replacements);
    }
  }

  /** What is unlimited, or always denied, has no limit that could be replaced. */
  private static void tellUnknown(List<Branch> branches, Set<String> known, Problems problems) {
    for (Branch branch : branches) {
      Rate rate = branch.rate();
      for (String name : rate == null ? List.<String>of() : rate.replaces()) {
        if (!known.contains(name)) {
          problems.warning(
              branch.node(),
              "replaces %s is not expressed: no limit has that name"
                  .formatted(SafeText.quote(name)));
        }
      }
      tellUnknown(branch.below(), known, problems);
    }
  }

  /** They name series of metrics, and decide nothing. */
  private static void tellMetrics(Fields fields, Problems problems) {
    for (String name : List.of("detailed_metric", "value_to_metric")) {
      if (flag(fields, name, problems)) {
        problems.warning(
            fields.at(name), name + " is not expressed: no value becomes a label of a metric");
      }
    }
    if (fields.find("metadata") != null) {
      problems.warning(
          fields.at("metadata"), "metadata is not expressed: answers carry no dynamic metadata");
    }
  }

  private static @Nullable Rate rate(@Nullable Node node, Problems problems) {
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
            fields.at("unit"), "found a unit beside unlimited, expected one of the two");
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
    Quota quota = quota(at, requests == null ? 0 : requests, period, problems);
    boolean isNothing = requests == null || requests == 0;
    return quota == null && !isNothing ? null : new Rate(name, named, quota, isNothing, replaces);
  }

  /** The names of limits, each {@code {name: X}}. */
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

  /** Null for 0 requests, which are denied, and for what cannot be expressed. */
  private static @Nullable Quota quota(Node at, long requests, Duration period, Problems problems) {
    if (requests < 0 || requests > UINT32_MAX) {
      problems.wrong(at, "a whole number from 0 to " + UINT32_MAX);
      return null;
    }
    if (requests == 0) {
      return null;
    }
    if (requests > period.toNanos()) {
      problems.warning(at, "not expressed: at most one request a nanosecond");
      return null;
    }
    return Quota.per(requests, period);
  }

  /** As it stands there: the reference reads numbers as texts too. */
  private static @Nullable String text(@Nullable Node node) {
    return node instanceof Node.Scalar scalar && !scalar.isNull() ? scalar.text() : null;
  }

  private static boolean flag(Fields fields, String name, Problems problems) {
    return Boolean.TRUE.equals(Values.bool(fields.find(name), problems));
  }

  /**
   * The domains of a configuration, each in a file of its own. Immutable and thread-safe.
   *
   * @param all in the order of the files
   */
  record Domains(List<Domain> all) {

    /**
     * One domain.
     *
     * @param file the file's name, as messages show it
     * @param name what proxies call it, not empty
     * @param branches its descriptors
     */
    record Domain(String file, String name, List<Branch> branches) {}

    /** Null if no file has it. */
    @Nullable Domain find(String name) {
      return all.stream().filter(one -> one.name.equals(name)).findFirst().orElse(null);
    }

    Domains plus(Domains more) {
      List<Domain> both = new ArrayList<>(all);
      both.addAll(more.all);
      return new Domains(List.copyOf(both));
    }
  }

  /**
   * A descriptor of the configuration, with those below it. Immutable.
   *
   * @param node where it stands
   * @param key the key of the entry
   * @param value the value, {@code prefix*} for all that begin so; null for any
   * @param rate what it limits; null if it only leads to others
   * @param shadow whether its limit is in shadow
   * @param shared whether all values that it matches share a count
   * @param below the descriptors of the next entry
   */
  record Branch(
      Node node,
      String key,
      @Nullable String value,
      @Nullable Rate rate,
      boolean shadow,
      boolean shared,
      List<Branch> below) {

    /**
     * A limit as it is written.
     *
     * @param name the name that the author gave it, empty for none
     * @param named where that name stands, null for none
     * @param quota null for unlimited
     * @param isNothing whether nothing may pass (0 requests)
     * @param replaces the names of rates that other descriptors are not charged then
     */
    record Rate(
        String name,
        @Nullable Node named,
        @Nullable Quota quota,
        boolean isNothing,
        List<String> replaces) {}

    private static final String STAR = "*";

    /** The order in which the reference looks: the value itself, patterns, any value. */
    int rank() {
      return value == null ? 2 : value.endsWith(STAR) ? 1 : 0;
    }

    boolean isExact() {
      return rank() == 0;
    }

    /** Whether the values of an entry make a difference to what is counted. */
    boolean varies() {
      return !isExact() && !shared;
    }

    /** Whether it or a branch below it has a limit, or says that there is none. */
    boolean decides() {
      return rate != null || below.stream().anyMatch(Branch::decides);
    }

    /** Whether each entry that is for the other one is for this one too. */
    boolean covers(Branch other) {
      if (!key.equals(other.key)) {
        return false;
      }
      if (value == null) {
        return true;
      }
      if (other.value == null) {
        return false;
      }
      String prefix = value.substring(0, value.length() - (isExact() ? 0 : 1));
      return isExact() ? value.equals(other.value) : other.value.startsWith(prefix);
    }
  }
}
