// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A group of clients with the same behaviour, parsed from a description such as {@code
 * steady:clients=50,rate=30/1m}: a kind of traffic, a colon, and settings. The default values of
 * the settings are derived from a limit, so that a kind of traffic has the same effect on every
 * limit.
 */
public final class ClientGroup {

  /** The most clients of a run; a larger number is treated as a typing error. */
  static final int MOST_CLIENTS = 1_000_000;

  /**
   * The most candidate requests of a diurnal group. The rate of noon is at most twice the mean
   * rate. Over whole days, a group with more than {@code MOST_CANDIDATES} candidates therefore
   * sends more requests than {@link Scenario#MOST_REQUESTS}.
   */
  private static final long MOST_CANDIDATES = 2 * Scenario.MOST_REQUESTS;

  private static final double DEFAULT_LOAD = 0.8; // as a share of the limit's rate
  private static final int ROGUE_STEPS = 100; // requests per emission interval

  private final String description;
  private final TrafficKind kind;
  private final Settings settings;
  private final Quota quota;
  private final long lengthNanos;

  private ClientGroup(
      String description, TrafficKind kind, Settings settings, Quota quota, long length) {
    this.description = description;
    this.kind = kind;
    this.settings = settings;
    this.quota = quota;
    this.lengthNanos = length;
  }

  /** A kind of traffic, with a description and the names of its settings. */
  private enum TrafficKind {
    STEADY("each client sends requests at even intervals", "rate"),
    BURSTY("each client sends several requests in a row, at random moments", "rate,size,within"),
    DIURNAL("many requests by day, few by night", "rate,day,swing"),
    ROGUE(
        "a script that sends requests as fast as it can until it is denied, and retries as soon as it is allowed to",
        "step,start"),
    CROWD("many small clients and a few large ones", "rate,large,large-rate"),
    RETRY_STORM(
        "all clients send a request to one bucket at the same time, and retry after each denial",
        "start,within,tries,jitter");

    private final String inWords;
    private final String keys;

    TrafficKind(String inWords, String keys) {
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
   * Parses a description.
   *
   * @param quota the limit from which default values are derived
   * @throws IllegalArgumentException if the description has a mistake; the message names the
   *     mistake
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
    TrafficKind kind = TrafficKind.values()[index];
    Settings settings =
        new Settings(colon < 0 ? "" : description.substring(colon + 1), kind.keys());
    ClientGroup group = new ClientGroup(description, kind, settings, quota, length.toNanos());
    // This call adds clients to a discarded list, to report wrong values now and not during the
    // run.
    group.addTo(new ArrayList<>(), 0);
    return group;
  }

  /**
   * Returns the names of the kinds of traffic. The description of a group of clients begins with
   * the name of its kind.
   */
  public static List<String> kinds() {
    return Arrays.stream(TrafficKind.values()).map(TrafficKind::text).toList();
  }

  /** Explains the kind of traffic in a few words. */
  String inWords() {
    return kind.inWords;
  }

  /** Returns the description from which the group was parsed. */
  @Override
  public String toString() {
    return description;
  }

  /**
   * Adds the clients of this group to a list that already contains the clients of the previous
   * groups.
   */
  void addTo(List<Client> clients, long seed) {
    long many = manyClients();
    long large = kind == TrafficKind.CROWD ? settings.number("large", 5, 0, MOST_CLIENTS) : 0;
    if (clients.size() + many + large > MOST_CLIENTS) {
      throw new IllegalArgumentException(
          "clients: at most %s are allowed in all groups together".formatted(MOST_CLIENTS));
    }
    long cost = settings.number("cost", 1, 1, Long.MAX_VALUE / 2);
    boolean shared = settings.yes("shared", kind == TrafficKind.RETRY_STORM);
    int first = clients.size();
    String largeName = nameAfter(clients, "large");
    String name = nameAfter(clients, kind == TrafficKind.CROWD ? "small" : kind.text());
    for (int i = 0; i < large + many; i++) {
      int index = clients.size();
      boolean isLarge = i < large;
      String own = isLarge ? largeName + (i + 1) : name + (i - large + 1);
      Client.Behaviour behaviour = behaviour(isLarge, new Client.Chance(seed, index));
      clients.add(new Client(own, shared ? first : index, cost, behaviour));
    }
  }

  /**
   * Returns the prefix of the clients' names, such as rogue- for the first group and rogue2- for
   * the second.
   */
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
    return settings.number("clients", defaultClients(), 1, MOST_CLIENTS);
  }

  private long defaultClients() {
    return switch (kind) {
      case STEADY, BURSTY, DIURNAL -> 10;
      case ROGUE -> 1;
      case CROWD -> 100;
      case RETRY_STORM -> 200;
    };
  }

  private Client.Behaviour behaviour(boolean large, Client.Chance chance) {
    long interval = quota.intervalNanos();
    double defaultGap = interval / DEFAULT_LOAD;
    return switch (kind) {
      case STEADY -> {
        // A longer gap between requests could overflow the time of the next request. No run is
        // longer than LONGEST, so a client with a gap of LONGEST sends at most one request.
        double gap =
            Math.min(settings.gapNanos("rate", defaultGap), (double) Scenario.LONGEST.toNanos());
        yield new Client.Steady(Math.max((long) gap, 1), chance);
      }
      case BURSTY -> bursty(defaultGap, chance);
      case DIURNAL -> diurnal(defaultGap, chance);
      case ROGUE ->
          new Client.Rogue(
              settings.nanos("step", Math.max(interval / ROGUE_STEPS, 1), 1),
              settings.nanos("start", 0, 0),
              chance);
      case CROWD ->
          new Client.Bursty(
              large
                  ? settings.gapNanos("large-rate", interval / 3.0)
                  : settings.gapNanos("rate", interval * 10.0),
              1,
              1,
              chance);
      case RETRY_STORM ->
          new Client.Retrying(
              settings.nanos("start", interval, 0)
                  + chance.within(settings.nanos("within", interval, 1)),
              settings.number("tries", 20, 1, MOST_CLIENTS),
              settings.share("jitter", 0, 1000),
              chance);
    };
  }

  /**
   * Creates the behaviour of a client, and limits the number of its candidate requests. A limit on
   * the number of requests is not enough: at midnight almost no candidate becomes a request, so a
   * run could take hours without a request.
   */
  private Client.Diurnal diurnal(double defaultGap, Client.Chance chance) {
    Client.Diurnal behaviour =
        new Client.Diurnal(
            settings.gapNanos("rate", defaultGap),
            settings.nanos("day", lengthNanos, 1),
            settings.share("swing", 0.9, 1),
            lengthNanos,
            chance);
    if (behaviour.candidates() * manyClients() > MOST_CANDIDATES) {
      throw new IllegalArgumentException(
          "rate: at its rate at noon, the highest rate of the day, the group would send more than %s requests in the run; lower the rate or make the run shorter"
              .formatted(MOST_CANDIDATES));
    }
    return behaviour;
  }

  /**
   * Creates the behaviour of a client, with gaps between bursts that result in the rate of the
   * settings.
   */
  private Client.Bursty bursty(double defaultGap, Client.Chance chance) {
    long size = settings.number("size", Math.max(quota.burst() / 2, 1), 1, MOST_CLIENTS);
    double cycle = settings.gapNanos("rate", defaultGap) * size;
    long defaultWithin = (long) Math.max(Math.min((double) quota.intervalNanos(), cycle / 10), 1);
    long within = settings.nanos("within", defaultWithin, 1);
    if (within > defaultWithin && within >= cycle) {
      throw new IllegalArgumentException(
          "within: found %s, expected less than the time from one burst to the next, %s"
              .formatted(Format.duration(within), Format.roundedDuration((long) cycle)));
    }
    return new Client.Bursty(Math.max(cycle - within, 1), size, Math.max(within / size, 1), chance);
  }

  /** The settings of a description: {@code key=value,key=value}. Every setting has a default. */
  private static final class Settings {

    private static final Pattern RATE = Pattern.compile("(\\d{1,18})/(.+)");

    private final Map<String, String> texts = new LinkedHashMap<>();

    Settings(String text, List<String> known) {
      if (text.isEmpty()) {
        return;
      }
      for (String setting : text.split(",", -1)) {
        int equals = setting.indexOf('=');
        if (equals < 1) {
          throw new IllegalArgumentException(
              "found %s, expected KEY=VALUE such as clients=10".formatted(SafeText.quote(setting)));
        }
        String key = setting.substring(0, equals);
        if (!known.contains(key)) {
          throw new IllegalArgumentException(
              "found the key %s, expected one of %s%s"
                  .formatted(
                      SafeText.quote(key),
                      String.join(", ", known),
                      Suggestion.didYouMean(key, known)));
        }
        if (texts.put(key, setting.substring(equals + 1)) != null) {
          throw new IllegalArgumentException("found " + key + " twice, expected it once");
        }
      }
    }

    long number(String key, long defaultValue, long least, long most) {
      String text = texts.get(key);
      if (text == null) {
        return defaultValue;
      }
      long number = -1;
      if (text.matches("\\d{1,18}")) {
        number = Long.parseLong(text);
      }
      if (number < least || number > most) {
        throw wrong(key, "a whole number from " + least + " to " + most);
      }
      return number;
    }

    double share(String key, double defaultValue, double most) {
      String text = texts.get(key);
      if (text == null) {
        return defaultValue;
      }
      double share = -1;
      if (text.matches("\\d{1,9}(\\.\\d{1,9})?")) {
        share = Double.parseDouble(text);
      }
      if (share < 0 || share > most) {
        throw wrong(key, "a number from 0 to " + (long) most + " such as 0.5");
      }
      return share;
    }

    long nanos(String key, long defaultNanos, long leastNanos) {
      String text = texts.get(key);
      if (text == null) {
        return defaultNanos;
      }
      long nanos = -1;
      try {
        nanos = GoDuration.parse(text).toNanos();
      } catch (IllegalArgumentException e) {
        // The exception below reports the wrong value, with its key.
      }
      if (nanos < leastNanos || nanos > Scenario.LONGEST.toNanos()) {
        throw wrong(
            key, leastNanos == 0 ? "a duration such as 0s or 10m" : "a duration > 0 such as 500ms");
      }
      return nanos;
    }

    /** Returns the mean time between requests, from a rate such as {@code 30/1m}. */
    double gapNanos(String key, double defaultNanos) {
      String text = texts.get(key);
      if (text == null) {
        return defaultNanos;
      }
      Matcher parts = RATE.matcher(text);
      if (parts.matches()) {
        try {
          long count = Long.parseLong(parts.group(1));
          Duration period = GoDuration.parse(parts.group(2));
          double gapNanos = (double) period.toNanos() / count;
          if (count > 0 && gapNanos >= 1) {
            return gapNanos;
          }
        } catch (IllegalArgumentException e) {
          // The exception below reports the wrong value, with its key.
        }
      }
      throw wrong(key, "COUNT/PERIOD such as 30/1m, at most one request per nanosecond");
    }

    boolean yes(String key, boolean defaultValue) {
      String text = texts.get(key);
      if (text == null) {
        return defaultValue;
      }
      if (!text.equals("yes") && !text.equals("no")) {
        throw wrong(key, "yes or no");
      }
      return text.equals("yes");
    }

    private IllegalArgumentException wrong(String key, String expected) {
      return new IllegalArgumentException(
          "%s: found %s, expected %s"
              .formatted(key, SafeText.quote(texts.getOrDefault(key, "")), expected));
    }
  }
}
