// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LongestReservations;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Quotas;
import dev.sluice.yaml.internal.Values;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the defaults of one load: a map name → {burst, count, period}, {quotas} or {unlimited:
 * true}. The entry of a limit can also contain the fields that declare the limit's name. Not
 * thread-safe.
 */
final class DefaultsReader {

  private static final String EXPECTED = "a map name → {burst, count, period}";

  private static final String UNLIMITED = "unlimited";
  private static final String LONGEST_RESERVATION = "longestReservation";
  private static final String LAPSE = "lapse";
  private static final String GIVE_BACK = "give-back";
  private static final String DEBT = "debt";

  /** The fields about reservations that expire, which only a server has. */
  static final List<String> OF_SERVERS = List.of(LONGEST_RESERVATION, LAPSE);

  private static final List<String> OF_LIMIT =
      List.of("burst", "count", "period", Quotas.LIST, DEBT, LONGEST_RESERVATION, LAPSE, UNLIMITED);
  private static final List<String> FIELDS =
      Stream.concat(OF_LIMIT.stream(), NamesReader.IN_PLACE.stream()).toList();

  private final KnownNames names;
  private final Problems problems;
  private final Map<LimitName, List<Quota>> quotas = new LinkedHashMap<>();
  private final Map<LimitName, Node> keys = new HashMap<>();
  private final Set<LimitName> unlimited = new LinkedHashSet<>();
  private final Map<String, Integer> debts = new HashMap<>();
  private final Map<String, Duration> longestReservations = new HashMap<>();
  private final Set<String> lapsing = new HashSet<>();

  DefaultsReader(KnownNames names, Problems problems) {
    this.names = names;
    this.problems = problems;
  }

  /** Returns the quotas without a mistake, by name. */
  Map<LimitName, List<Quota>> quotas() {
    return quotas;
  }

  /**
   * Warns about each limit with several quotas whose bucket keys change because a period changes.
   * Adding a quota does not change the keys of existing buckets.
   */
  void compareWith(Limits before) {
    quotas.forEach(
        (name, now) -> {
          LimitName old = before.catalogue().find(name.name());
          List<Quota> last = old == null ? List.of() : before.defaultsFor(old);
          if (!last.isEmpty() && (last.size() > 1 || now.size() > 1) && hasOtherKeys(last, now)) {
            problems.warning(
                Objects.requireNonNull(keys.get(name)),
                "the periods of the quotas of %s change: a bucket belongs to one period, so some buckets start full, and others start with the tokens of the bucket of another period"
                    .formatted(name));
          }
        });
  }

  private static boolean hasOtherKeys(List<Quota> last, List<Quota> now) {
    return !now.get(0).period().equals(last.get(0).period())
        || (!further(now).containsAll(further(last)) && !further(last).containsAll(further(now)));
  }

  /** Returns the periods that occur in bucket keys: all except the longest period. */
  private static List<Duration> further(List<Quota> quotas) {
    return quotas.stream().skip(1).map(Quota::period).toList();
  }

  /** Adds the defaults without a mistake to the builder of the limits. */
  void addTo(Limits.Builder limits) {
    quotas.forEach((name, quota) -> limits.limit(name.name(), quota));
    unlimited.forEach(name -> limits.unlimited(name.name()));
    debts.forEach(limits::debt);
  }

  /** Returns the longest reservation of each limit that declares one. */
  LongestReservations longestReservations() {
    return new LongestReservations(longestReservations);
  }

  /** Returns the limits that get the tokens of a reservation back when the reservation expires. */
  LapsingReservations lapsingReservations() {
    return new LapsingReservations(lapsing);
  }

  /** Returns file and line of each default, by the limit's name. */
  Map<String, String> places() {
    Map<String, String> places = new HashMap<>();
    keys.forEach((name, key) -> places.put(name.name(), problems.place(key)));
    return places;
  }

  Set<LimitName> unlimited() {
    return unlimited;
  }

  void read(Node root) {
    if (!(root instanceof Node.Mapping map)) {
      if (!(root instanceof Node.Broken)) {
        problems.wrongKind(
            root, EXPECTED + (root instanceof Node.Sequence ? "; is it a file of overrides?" : ""));
      }
      return;
    }
    Map<String, Integer> lines = new HashMap<>();
    for (Node.Entry entry : map.entries()) {
      Node.Scalar key = entry.key();
      Integer first = lines.putIfAbsent(key.text(), key.line());
      if (first != null) {
        problems.mistake(
            key,
            "found %s again, expected each name once; it is on line %s too"
                .formatted(Problems.showKey(key), first));
      }
      read(entry, first == null);
    }
  }

  private void read(Node.Entry entry, boolean isFirst) {
    LimitName name = names.find(entry.key(), true, problems);
    Fields fields = fields(entry);
    if (fields != null && isDeclarationAlone(name, fields)) {
      return;
    }
    if (fields != null && name != null) {
      requireDeclaredHere(name, fields);
    }
    boolean isUnlimited = fields != null && isUnlimited(fields);
    List<Quota> read = fields == null || isUnlimited ? null : Quotas.readAll(fields, problems);
    Duration longest = fields == null ? null : longestReservation(fields);
    boolean lapses = fields != null && lapses(fields);
    Integer debt = fields == null ? null : debt(fields);
    if (name == null || !isFirst) {
      return;
    }
    if (name.overridesOnly()) {
      problems.warning(
          entry.key(),
          "found a default for " + name + ", which has overrides only: the default is ignored");
    } else if (isUnlimited) {
      unlimited.add(name);
      keys.put(name, entry.key());
    } else if (read != null) {
      quotas.put(name, read);
      keys.put(name, entry.key());
      if (longest != null) {
        longestReservations.put(name.name(), longest);
        warnOfShortBucket(name, read, longest, Objects.requireNonNull(fields));
      }
      if (lapses) {
        lapsing.add(name.name());
        problems.warning(
            Objects.requireNonNull(fields).at(LAPSE),
            "reservations of %s refund their tokens on expiry: clients that never settle a reservation are charged nothing"
                .formatted(name));
      }
      if (debt != null) {
        debts.put(name.name(), debt);
      }
    }
  }

  /**
   * Whether an entry needs no quota, because it only declares a limit that cannot have a default.
   */
  private static boolean isDeclarationAlone(@Nullable LimitName name, Fields fields) {
    return fields.find("id") != null
        && fields.find("overridesOnly") != null
        && (name == null || name.overridesOnly())
        && OF_LIMIT.stream().allMatch(field -> fields.find(field) == null);
  }

  private void requireDeclaredHere(LimitName name, Fields fields) {
    for (String field : NamesReader.IN_PLACE) {
      Node value = fields.find(field);
      if (value != null && fields.find("id") == null) {
        String how =
            name.equals(Catalogue.samples().find(name.name()))
                ? KnownNames.declaration(name.name(), true)
                : "";
        problems.mistakeWithoutText(
            value,
            "found the field %s without the field id, expected it in the entry that declares %s%s"
                .formatted(field, name, how));
      }
    }
  }

  private @Nullable Duration longestReservation(Fields fields) {
    Duration longest = Values.duration(fields.find(LONGEST_RESERVATION), problems);
    if (longest != null
        && (longest.compareTo(LongestReservations.USUAL) < 0
            || longest.compareTo(LongestReservations.MOST) > 0)) {
      problems.wrong(fields.at(LONGEST_RESERVATION), "a duration from 10m to 24h");
      return null;
    }
    return longest;
  }

  /** Warns if a call can last longer than its tokens take to refill. */
  private void warnOfShortBucket(
      LimitName name, List<Quota> read, Duration longest, Fields fields) {
    Duration full =
        Duration.ofNanos(read.stream().mapToLong(Quota::offsetNanos).max().orElseThrow());
    if (longest.compareTo(full) > 0) {
      problems.warning(
          fields.at(LONGEST_RESERVATION),
          "found %s, but a bucket of %s is full again after %s: a call that lasts longer gets no refund; raise the burst, or let clients reserve the mean cost"
              .formatted(GoDuration.shortened(longest), name, GoDuration.shortened(full)));
    }
  }

  private boolean lapses(Fields fields) {
    String word = Values.text(fields.find(LAPSE), GIVE_BACK, problems);
    if (word != null && !word.equals(GIVE_BACK)) {
      problems.wrong(fields.at(LAPSE), GIVE_BACK + ", or no " + LAPSE);
      return false;
    }
    return word != null;
  }

  private @Nullable Integer debt(Fields fields) {
    Long bursts = Values.wholeNumber(fields.find(DEBT), problems);
    if (bursts != null && (bursts < 0 || bursts > Limits.DEEPEST_DEBT)) {
      problems.wrong(fields.at(DEBT), "a whole number of bursts from 0 to " + Limits.DEEPEST_DEBT);
      return null;
    }
    return bursts == null ? null : bursts.intValue();
  }

  private @Nullable Fields fields(Node.Entry entry) {
    if (entry.value() instanceof Node.Mapping map) {
      return Fields.of(map, entry.key(), FIELDS, OF_LIMIT, problems);
    }
    if (!(entry.value() instanceof Node.Broken)) {
      problems.wrongKind(entry.value(), "{burst, count, period}");
    }
    return null;
  }

  /** Whether the entry has the field {@code unlimited}, valid or not, and thus needs no quota. */
  private boolean isUnlimited(Fields fields) {
    Node value = fields.find(UNLIMITED);
    if (value == null) {
      return false;
    }
    Boolean written = Values.bool(value, problems);
    if (written != null && !written) {
      problems.mistake(
          value, "found unlimited: false, expected true, or burst, count and period instead");
    }
    List<String> others = new ArrayList<>(Quotas.FIELDS);
    others.add(Quotas.LIST);
    others.add(DEBT);
    others.add(LONGEST_RESERVATION);
    others.add(LAPSE);
    for (String field : others) {
      Node other = fields.find(field);
      if (other != null) {
        problems.mistakeWithoutText(
            other,
            "found the field %s beside unlimited, expected one or the other".formatted(field));
      }
    }
    return true;
  }
}
