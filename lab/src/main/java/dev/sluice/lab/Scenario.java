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
 * Simulated traffic. Every algorithm receives the same requests, except from clients whose next
 * request depends on the previous decision.
 *
 * <p>Immutable and thread-safe. The clock is virtual, so the real duration of a run depends only on
 * the number of requests.
 *
 * @param traffic the groups of clients, at least one
 * @param length the simulated time, at most ten years
 * @param bin the time step over which requests are counted; a run has at most 2,000 steps
 * @param watched the client whose bucket the chart shows; empty for the first client
 */
public record Scenario(
    List<ClientGroup> traffic, Duration length, Duration bin, long seed, String watched) {

  /** The longest run. */
  public static final Duration LONGEST = Duration.ofDays(3653);

  /** The most bins in a run, since a chart cannot show more bins. */
  private static final int MOST_BINS = 2_000;

  private static final int DEFAULT_BINS = 240;
  static final long MOST_REQUESTS = 100_000_000;
  private static final int REQUESTS_PER_REPORT = 1 << 12;

  /**
   * Checks the values of a scenario.
   *
   * @throws IllegalArgumentException if there is no traffic, a duration is out of its range, or no
   *     client has the watched name
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
          "bin: found %s, expected a duration that splits the run of %s into 1 to %s steps"
              .formatted(
                  bin.isNegative() || bin.compareTo(LONGEST) > 0
                      ? bin
                      : Format.duration(bin.toNanos()),
                  Format.duration(length.toNanos()),
                  MOST_BINS));
    }
    if (!watched.isEmpty()
        && clients(traffic, seed).stream().noneMatch(c -> c.name().equals(watched))) {
      throw new IllegalArgumentException(
          "watch: found \"%s\", expected the name of a client in the traffic, such as %s"
              .formatted(watched, clients(traffic, seed).get(0).name()));
    }
  }

  /**
   * Returns the default bin for a run: a round duration with which the run has at most 240 bins.
   */
  public static Duration usualBin(Duration length) {
    return Duration.ofNanos(Axis.timeStep(length.toNanos(), DEFAULT_BINS));
  }

  private static final class NextRequest {
    private final int index;
    private final Client client;
    private long atNanos;

    NextRequest(int index, Client client) {
      this.index = index;
      this.client = client;
      this.atNanos = client.behaviour().firstNanos();
    }
  }

  /**
   * Runs the traffic against an algorithm. Every run of the same scenario and subject has the same
   * result.
   *
   * @param progress a consumer that receives the simulated time in nanoseconds, after every 4,096
   *     requests and at the end
   * @throws IllegalArgumentException if a request costs more than the burst of the limit, or if
   *     there are too many requests
   */
  public RunResult run(Subject subject, LongConsumer progress) {
    long end = length.toNanos();
    List<Client> clients = clients(traffic, seed);
    requireAffordable(clients, subject);
    SimulatedLimiter limiter = subject.start(end);
    RunRecorder recorder =
        new RunRecorder(subject, limiter, clients, watchedIndex(clients), end, bin.toNanos());
    PriorityQueue<NextRequest> queue = firstRequests(clients, end);
    long requests = 0;
    for (NextRequest next = queue.poll(); next != null; next = queue.poll()) {
      long now = next.atNanos;
      Client client = next.client;
      recorder.before(next.index, now);
      Verdict verdict = limiter.decide(client.bucket(), client.cost(), now);
      recorder.after(next.index, now, verdict);
      next.atNanos = client.behaviour().nextNanos(now, verdict);
      if (next.atNanos < end) {
        queue.add(next);
      }
      requests++;
      if (requests % REQUESTS_PER_REPORT == 0) {
        progress.accept(now);
        requireBounded(requests, now);
      }
    }
    progress.accept(end);
    return recorder.result();
  }

  /**
   * Returns the first request of each client. Orders requests by time, and requests of the same
   * time by the index of their client.
   */
  private static PriorityQueue<NextRequest> firstRequests(List<Client> clients, long end) {
    PriorityQueue<NextRequest> queue =
        new PriorityQueue<>(
            Comparator.<NextRequest>comparingLong(r -> r.atNanos).thenComparingInt(r -> r.index));
    for (int i = 0; i < clients.size(); i++) {
      NextRequest first = new NextRequest(i, clients.get(i));
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
            "cost %s exceeds the burst (%s) of the limit %s"
                .formatted(client.cost(), subject.quota().burst(), Format.quota(subject.quota())));
      }
    }
  }

  private static void requireBounded(long requests, long nowNanos) {
    if (requests > MOST_REQUESTS) {
      throw new IllegalArgumentException(
          "the run has more than %s requests in its first %s; make it shorter, or lower the rate"
              .formatted(MOST_REQUESTS, Format.roundedDuration(nowNanos)));
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

  /** Returns the name of the client whose bucket the chart shows. */
  String watchedClient() {
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
