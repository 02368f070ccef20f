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
 * Counts and times a store in Redis or PostgreSQL. For Redis, Prometheus receives:
 *
 * <ul>
 *   <li>{@code ratelimits_redis_call_latency{server,result}}, a histogram of calls in seconds;
 *       result is {@code answered}, {@code failed} or {@code timed_out}
 * </ul>
 */
public final class StoreMetrics implements BucketStore.Observer {

  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final MeterRegistry registry;
  private final String prefix;
  private final Counter deniedFromMemory;
  private final Map<String, ServerMeters> servers = new ConcurrentHashMap<>();

  /** */
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
    return known == null ? servers.computeIfAbsent(server, ServerMeters::new) : known;
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
              to -> counter("changes", "How often a server was marked down or up", "state", to));
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
