// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.LongConsumer;

/**
 * Traffic, for a time, from a seed: the same for every algorithm that is put to it, except where
 * clients heed what they are told.
 *
 * <p>Immutable and thread-safe. A run takes as long as its requests do; the clock is virtual.
 *
 * @param traffic who asks, at least one group
 * @param length how long, up to ten years
 * @param bin the time over which requests are counted for rates and charts; up to 2,000 in a run
 * @param seed of all chance
 * @param watched the client whose bucket is drawn; empty for the first one
 */
public record Scenario(
    List<ClientGroup> traffic, Duration length, Duration bin, long seed, String watched) {

  /** The longest run. */
  public static final Duration LONGEST = Duration.ofDays(3653);

  /** The most bins in a run: more than a screen has points. */
  public static final int MOST_BINS = 2_000;

  private static final int USUAL_BINS = 240;
  static final long MOST_REQUESTS = 100_000_000;
  private static final int BETWEEN_REPORTS = 1 << 12;

  /**
   * Checks what was given.
   *
   * @param traffic at least one group
   * @param length longer than 0
   * @param bin longer than 0
   * @param seed any
   * @param watched empty, or the name of a client
   * @throws IllegalArgumentException for no traffic, a length or bin out of its range, or a watched
   *     client that is not there
   */
  public Scenario {
    traffic = List.copyOf(traffic);
    if (traffic.isEmpty()) {
      throw new IllegalArgumentException("traffic is empty; add at least one client group");
    }
    if (length.isNegative() || length.isZero() || length.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "length: found %s, expected a duration > 0 and at most 10 years".formatted(length));
    }
    if (bin.isNegative()
        || bin.isZero()
        || bin.compareTo(length) > 0
        || (length.toNanos() - 1) / bin.toNanos() >= MOST_BINS) {
      throw new IllegalArgumentException(
          "bin: found %s, expected a duration > 0 that lies 1 to %s times in %s"
              .formatted(
                  bin.isNegative() || bin.compareTo(LONGEST) > 0 ? bin : Spans.exact(bin.toNanos()),
                  MOST_BINS,
                  Spans.exact(length.toNanos())));
    }
    if (!watched.isEmpty()
        && clients(traffic, seed).stream().noneMatch(c -> c.name().equals(watched))) {
      throw new IllegalArgumentException(
          "watch: found the client \"%s\", expected one that asks, such as %s"
              .formatted(watched, clients(traffic, seed).get(0).name()));
    }
  }

  /**
   * A bin that is round, and small enough for a chart.
   *
   * @param length of a run
   * @return a time that lies up to 240 times in it
   */
  public static Duration usualBin(Duration length) {
    return Duration.ofNanos(Axis.timeStep(length.toNanos(), USUAL_BINS));
  }

  /** A client that has an appointment. */
  private static final class Appointment {
    private final int index;
    private final Client client;
    private long atNanos;

    Appointment(int index, Client client) {
      this.index = index;
      this.client = client;
      this.atNanos = client.behaviour().firstNanos();
    }
  }

  /**
   * Puts an algorithm to the test.
   *
   * @param subject the algorithm and its limit
   * @param progress is told now and then how many nanoseconds have been simulated
   * @return what came of it; the same whenever it is run
   * @throws IllegalArgumentException if a request costs more than the limit's burst, or there are
   *     too many
   */
  public RunResult run(Subject subject, LongConsumer progress) {
    long end = length.toNanos();
    List<Client> clients = clients(traffic, seed);
    requireAffordable(clients, subject);
    SimulatedLimiter limiter = subject.start(end);
    int seen = watchedIndex(clients);
    LevelTrace trace = new LevelTrace(limiter, clients.get(seen).bucket(), bin.toNanos());
    Tally tally = new Tally(subject, clients.size(), end, bin.toNanos());
    PriorityQueue<Appointment> queue = appointments(clients, end);
    long requests = 0;
    for (Appointment next = queue.poll(); next != null; next = queue.poll()) {
      long now = next.atNanos;
      Client client = next.client;
      trace.before(client.bucket(), now);
      Verdict verdict = limiter.decide(client.bucket(), client.cost(), now);
      trace.after(client.bucket(), now, verdict);
      tally.count(next.index, client, now, verdict);
      next.atNanos = client.behaviour().nextNanos(now, verdict);
      if (next.atNanos < end) {
        queue.add(next);
      }
      requests++;
      if (requests % BETWEEN_REPORTS == 0) {
        progress.accept(now);
        requireBounded(requests, now);
      }
    }
    trace.endAt(end);
    progress.accept(end);
    return tally.outcome(subject, trace.points(), i -> clients.get(i).name());
  }

  private static PriorityQueue<Appointment> appointments(List<Client> clients, long end) {
    PriorityQueue<Appointment> queue =
        new PriorityQueue<>(
            Comparator.<Appointment>comparingLong(a -> a.atNanos).thenComparingInt(a -> a.index));
    for (int i = 0; i < clients.size(); i++) {
      Appointment first = new Appointment(i, clients.get(i));
      if (first.atNanos < end) {
        queue.add(first);
      }
    }
    return queue;
  }

  private static void requireAffordable(List<Client> clients, Subject subject) {
    for (Client client : clients) {
      if (client.cost() > subject.quota().burst()) {
        throw new IllegalArgumentException(
            "cost: found %s, expected at most the burst of the limit %s, which is %s"
                .formatted(
                    client.cost(), QuotaText.format(subject.quota()), subject.quota().burst()));
      }
    }
  }

  private static void requireBounded(long requests, long nowNanos) {
    if (requests > MOST_REQUESTS) {
      throw new IllegalArgumentException(
          "the run has more than %s requests within %s; make it shorter, or lower the rate"
              .formatted(MOST_REQUESTS, Spans.rounded(nowNanos)));
    }
  }

  private int watchedIndex(List<Client> clients) {
    for (int i = 0; i < clients.size(); i++) {
      if (clients.get(i).name().equals(watched)) {
        return i;
      }
    }
    return 0;
  }

  /**
   * The client whose bucket is drawn.
   *
   * @return its name
   */
  public String watchedClient() {
    List<Client> clients = clients(traffic, seed);
    return clients.get(watchedIndex(clients)).name();
  }

  private static List<Client> clients(List<ClientGroup> traffic, long seed) {
    List<Client> clients = new ArrayList<>();
    for (ClientGroup group : traffic) {
      group.addTo(clients, seed);
    }
    return clients;
  }
}
