// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Counts and times the calls to a store in Redis or PostgreSQL. For Redis, the metrics in
 * Prometheus are:
 *
 * <ul>
 *   <li>{@code ratelimits_redis_call_latency{server,result}}, a histogram of calls in seconds;
 *       result is {@code answered}, {@code failed} or {@code timed_out}
 *   <li>{@code ratelimits_redis_call_batches{server}}, the number of callers that shared a call
 *   <li>{@code ratelimits_redis_refused_total{server,reason}}, batches that were rejected before
 *       they were sent; reason is {@code queue_full}, {@code waited_too_long}, {@code down} or
 *       {@code locked}
 *   <li>{@code ratelimits_redis_up{server}}, 0 while the server is marked down, otherwise 1
 *   <li>{@code ratelimits_redis_changes_total{server,state}}, how often the server was marked
 *       {@code down} or {@code up}
 *   <li>{@code ratelimits_redis_denied_from_memory_total}, denials repeated without a call
 * </ul>
 *
 * <p>For PostgreSQL and MariaDB, the names contain {@code postgres} or {@code mariadb} instead of
 * {@code redis}. The value of a label is a server of the store or a word of a closed set. After
 * 1,000 servers, for example of a Cluster whose servers are often replaced, further servers share
 * the label {@code other}. Thread-safe; no method blocks.
 */
public final class StoreMetrics implements BucketStore.Observer {

  private static final int MOST_SERVERS = 1_000;
  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final MeterRegistry registry;
  private final String prefix;
  private final Counter deniedFromMemory;
  private final Map<String, ServerMeters> servers = new ConcurrentHashMap<>();

  /**
   * Binds the meters. The meters of a server appear when the server is first called.
   *
   * @param registry the registry to which the meters are added
   * @param kind the kind of the store for the meters' names: {@code redis}, {@code postgres} or
   *     {@code mariadb}
   */
  public StoreMetrics(MeterRegistry registry, String kind) {
    this.registry = registry;
    this.prefix = "ratelimits." + kind + ".";
    this.deniedFromMemory =
        Counter.builder(prefix + "denied.from.memory")
            .description("Denials that were repeated from memory, without a call")
            .register(registry);
  }

  private static <E extends Enum<E>, M> Map<E, M> ofEach(Class<E> words, Function<E, M> bind) {
    Map<E, M> meters = new EnumMap<>(words);
    for (E word : words.getEnumConstants()) {
      meters.put(word, bind.apply(word));
    }
    return meters;
  }

  private static <E, M> M require(Map<E, M> meters, E word) {
    return Objects.requireNonNull(meters.get(word)); // the map contains every word
  }

  private ServerMeters meters(String server) {
    ServerMeters known = servers.get(server);
    return known == null
        ? servers.computeIfAbsent(
            servers.size() < MOST_SERVERS ? server : "other", ServerMeters::new)
        : known;
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    ServerMeters meters = meters(server);
    require(meters.latency, result).record(elapsedNanos / NANOS_PER_SECOND);
    meters.batches.record(batches);
  }

  @Override
  public void refused(String server, Refusal why) {
    require(meters(server).refused, why).increment();
  }

  @Override
  public void deniedFromMemory() {
    deniedFromMemory.increment();
  }

  @Override
  public void changed(String server, State state, String reason) {
    ServerMeters meters = meters(server);
    meters.state = state;
    require(meters.changes, state).increment();
  }

  /** The meters of one server. Thread-safe. */
  private final class ServerMeters {
    private final String server;
    private final Map<Result, DistributionSummary> latency;
    private final Map<Refusal, Counter> refused;
    private final Map<State, Counter> changes;
    private final DistributionSummary batches;
    private volatile State state = State.UP;

    ServerMeters(String server) {
      this.server = server;
      this.latency = ofEach(Result.class, this::latency);
      this.refused =
          ofEach(
              Refusal.class,
              why ->
                  counter(
                      "refused",
                      "Batches that were rejected before they were sent",
                      "reason",
                      why));
      this.changes =
          ofEach(
              State.class,
              to ->
                  counter(
                      "changes",
                      "Number of times that a server was marked down or up",
                      "state",
                      to));
      this.batches =
          DistributionSummary.builder(prefix + "call.batches")
              .description("Number of callers that shared a call")
              .tag("server", server)
              .register(registry);
      Gauge.builder(prefix + "up", this, m -> m.state == State.UP ? 1 : 0)
          .description("1 if a server is up, 0 while it is marked down")
          .tag("server", server)
          .register(registry);
    }

    private DistributionSummary latency(Result result) {
      return Latency.builder(prefix + "call.latency")
          .description("Duration of calls, in seconds")
          .tag("server", server)
          .tag("result", word(result))
          .register(registry);
    }

    private Counter counter(String name, String description, String label, Enum<?> value) {
      return Counter.builder(prefix + name)
          .description(description)
          .tag("server", server)
          .tag(label, word(value))
          .register(registry);
    }

    private static String word(Enum<?> value) {
      return value.name().toLowerCase(Locale.ROOT);
    }
  }
}
