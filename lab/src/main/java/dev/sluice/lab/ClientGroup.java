// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A group of clients that ask alike, as a text describes them: a kind, and after a colon what is
 * not as usual, such as {@code steady:clients=50,rate=30/1m}. What is usual follows from a limit,
 * so that a kind shows what it is meant to show under limits of any size.
 *
 * <p>Immutable.
 */
public final class ClientGroup {

  /** More than this in one run is a slip of the finger. */
  static final int MOST_CLIENTS = 1_000_000;

  /** Noon is at most twice the mean, so more than this are too many requests in whole days. */
  private static final long MOST_CANDIDATES = 2 * Scenario.MOST_REQUESTS;

  private static final double USUAL_LOAD = 0.8;
  private static final int ROGUE_STEPS = 100; // requests of a rogue in one emission interval

  private final String description;
  private final Kind kind;
  private final Settings settings;
  private final Quota quota;
  private final long lengthNanos;

  private ClientGroup(String description, Kind kind, Settings settings, Quota quota, long length) {
    this.description = description;
    this.kind = kind;
    this.settings = settings;
    this.quota = quota;
    this.lengthNanos = length;
  }

  /** The kinds, with the keys that each has. */
  private enum Kind {
    STEADY("each client asks at even intervals", "rate"),
    BURSTY("each client asks several times in a row, at random moments", "rate,size,within"),
    DIURNAL("often by day, seldom by night", "rate,day,swing"),
    ROGUE(
        "a script that sends requests as fast as it can until it is denied, and retries as soon as it may",
        "step,start"),
    CROWD("many small clients and a few large ones", "rate,large,large-rate"),
    RETRY_STORM(
        "all clients at once on one bucket, and again when they were denied",
        "start,within,tries,jitter");

    private final String inWords;
    private final String keys;

    Kind(String inWords, String keys) {
      this.inWords = inWords;
      this.keys = "clients,cost,shared," + keys;
    }

    List<String> keys() {
      return List.of(keys.split(",", -1));
    }

    String text() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /**
   * Reads a description.
   *
   * @param description the kind, and its settings
   * @param quota the limit that what is usual follows from
   * @param length of the run
   * @return the group
   * @throws IllegalArgumentException saying what was found and what is expected
   */
  public static ClientGroup parse(String description, Quota quota, Duration length) {
    int colon = description.indexOf(':');
    String name = colon < 0 ? description : description.substring(0, colon);
    List<String> names = kinds();
    int index = names.indexOf(name);
    if (index < 0) {
      throw new IllegalArgumentException(
          "found the kind %s, expected one of %s%s"
              .formatted(
                  SafeText.quote(name),
                  String.join(", ", names),
                  Suggestion.didYouMean(name, names)));
    }
    Kind kind = Kind.values()[index];
    Settings settings =
        new Settings(colon < 0 ? "" : description.substring(colon + 1), kind.keys());
    ClientGroup group = new ClientGroup(description, kind, settings, quota, length.toNanos());
    group.addTo(new ArrayList<>(), 0); // mistakes in values come out now
    return group;
  }

  /**
   * The kinds of traffic.
   *
   * @return their names, as a description has them
   */
  public static List<String> kinds() {
    return Arrays.stream(Kind.values()).map(Kind::text).toList();
  }

  /**
   * Returns its description.
   *
   * @return a few words
   */
  public String inWords() {
    return kind.inWords;
  }

  /** As it was described. */
  @Override
  public String toString() {
    return description;
  }

  /** Adds its clients, fresh, to those of other traffic. */
  void addTo(List<Client> clients, long seed) {
    long many = manyClients();
    long large = kind == Kind.CROWD ? settings.number("large", 5, 0, MOST_CLIENTS) : 0;
    if (clients.size() + many + large > MOST_CLIENTS) {
      throw new IllegalArgumentException(
          "clients: there are more than %1$s in all, %1$s are allowed".formatted(MOST_CLIENTS));
    }
    long cost = settings.number("cost", 1, 1, Long.MAX_VALUE / 2);
    boolean shared = settings.yes("shared", kind == Kind.RETRY_STORM);
    int first = clients.size();
    String largeName = nameAfter(clients, "large");
    String name = nameAfter(clients, kind == Kind.CROWD ? "small" : kind.text());
    for (int i = 0; i < large + many; i++) {
      int index = clients.size();
      boolean isLarge = i < large;
      String own = isLarge ? largeName + (i + 1) : name + (i - large + 1);
      Behaviour behaviour = behaviour(isLarge, new Chance(seed, index));
      clients.add(new Client(own, shared ? first : index, cost, behaviour));
    }
  }

  /** The start of the names: rogue- for the first such group, rogue2- for the second. */
  private static String nameAfter(List<Client> clients, String name) {
    int group = 1;
    for (Client client : clients) {
      if (client.name().equals(prefix(name, group) + "1")) {
        group++;
      }
    }
    return prefix(name, group);
  }

  private static String prefix(String name, int group) {
    return group == 1 ? name + "-" : name + group + "-";
  }

  private long manyClients() {
    return settings.number("clients", usualClients(), 1, MOST_CLIENTS);
  }

  private long usualClients() {
    return switch (kind) {
      case STEADY, BURSTY, DIURNAL -> 10;
      case ROGUE -> 1;
      case CROWD -> 100;
      case RETRY_STORM -> 200;
    };
  }

  private Behaviour behaviour(boolean large, Chance chance) {
    long interval = quota.intervalNanos();
    double usualGap = interval / USUAL_LOAD;
    return switch (kind) {
      case STEADY -> {
        // A gap that is longer than any run: no second request, and no overflow.
        double gap =
            Math.min(settings.gapNanos("rate", usualGap), (double) Scenario.LONGEST.toNanos());
        yield new Even(Math.max((long) gap, 1), chance);
      }
      case BURSTY -> bursts(usualGap, chance);
      case DIURNAL -> dayAndNight(usualGap, chance);
      case ROGUE ->
          new Rogue(
              settings.nanos("step", Math.max(interval / ROGUE_STEPS, 1), 1),
              settings.nanos("start", 0, 0),
              chance);
      case CROWD ->
          new Bursts(
              large
                  ? settings.gapNanos("large-rate", interval / 3.0)
                  : settings.gapNanos("rate", interval * 10.0),
              1,
              1,
              chance);
      case RETRY_STORM ->
          new Retrying(
              settings.nanos("start", interval, 0)
                  + chance.within(settings.nanos("within", interval, 1)),
              settings.number("tries", 20, 1, MOST_CLIENTS),
              settings.share("jitter", 0, 1000),
              chance);
    };
  }

  /** Bounded by its candidates: at night, almost none may become a request, which is counted. */
  private DayAndNight dayAndNight(double usualGap, Chance chance) {
    DayAndNight client =
        new DayAndNight(
            settings.gapNanos("rate", usualGap),
            settings.nanos("day", lengthNanos, 1),
            settings.share("swing", 0.9, 1),
            lengthNanos,
            chance);
    if (client.candidates() * manyClients() > MOST_CANDIDATES) {
      throw new IllegalArgumentException(
          "rate: the group could ask more than %s times if it were always noon; make the run shorter, or lower the rate"
              .formatted(MOST_CANDIDATES));
    }
    return client;
  }

  /** Bursts of a size, so far apart that the mean rate is as asked for. */
  private Bursts bursts(double usualGap, Chance chance) {
    long size = settings.number("size", Math.max(quota.burst() / 2, 1), 1, MOST_CLIENTS);
    double cycle = settings.gapNanos("rate", usualGap) * size;
    long usual = (long) Math.max(Math.min((double) quota.intervalNanos(), cycle / 10), 1);
    long within = settings.nanos("within", usual, 1);
    if (within > usual && within >= cycle) {
      throw new IllegalArgumentException(
          "within: found %s, expected less than the time from a burst to the next, %s"
              .formatted(Spans.exact(within), Spans.rounded((long) cycle)));
    }
    return new Bursts(Math.max(cycle - within, 1), size, Math.max(within / size, 1), chance);
  }
}
