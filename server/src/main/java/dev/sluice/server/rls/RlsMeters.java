// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts the requests of proxies, and measures their duration. The number of metric series is
 * bounded: labels contain at most {@value #MOST_DOMAINS} domains, and no id. Thread-safe; never
 * blocks.
 */
final class RlsMeters {

  static final int MOST_DOMAINS = 32;

  private static final String OTHER = "other";
  private static final int LONGEST_DOMAIN = 100;
  private static final Duration[] BUCKETS = {
    Duration.ofMillis(1), Duration.ofMillis(5), Duration.ofMillis(20), Duration.ofMillis(100)
  };

  private final MeterRegistry registry;
  private final Map<String, Timer> requests = new ConcurrentHashMap<>();
  private final Map<String, Counter> unmatched = new ConcurrentHashMap<>();
  private final Map<String, Counter> near = new ConcurrentHashMap<>();

  RlsMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  /** Counts a request as {@code ok} or {@code over_limit}. */
  void answered(RateLimitResponse response, long startNanos) {
    count(response.getOverallCode() == Code.OK ? "ok" : "over_limit", startNanos);
  }

  /** Counts a request that failed, under the name of its gRPC status. */
  void failed(Status status, long startNanos) {
    count(status.getCode().name().toLowerCase(Locale.ROOT), startNanos);
  }

  private void count(String result, long startNanos) {
    requests
        .computeIfAbsent(result, this::timer)
        .record(System.nanoTime() - startNanos, TimeUnit.NANOSECONDS);
  }

  private Timer timer(String result) {
    return Timer.builder("sluice.rls.requests")
        .description("Requests of proxies, by the answer")
        .tag("result", result)
        .serviceLevelObjectives(BUCKETS)
        .register(registry);
  }

  /** Counts a descriptor that matches no limit. */
  void unmatched(String domain) {
    Counter known = unmatched.get(domain);
    (known == null ? newDomain(domain) : known).increment();
  }

  /** Counts a request that passes only because shadow mode is on. */
  void shadowed() {
    Counter.builder("sluice.rls.shadowed")
        .description("Requests of proxies that passed only in shadow mode")
        .register(registry)
        .increment();
  }

  /** Counts the settlement of a request that has ended. */
  void settled(String charged) {
    Counter.builder("sluice.rls.settlements")
        .description("Requests whose charge a rule settles at their end, by what was charged")
        .tag("charged", charged)
        .register(registry)
        .increment();
  }

  void near(String limit, long hits) {
    near.computeIfAbsent(
            limit,
            name ->
                Counter.builder("sluice.rls.near.limit")
                    .description("Hits of proxies that were counted as near a limit")
                    .tag("limit", name)
                    .register(registry))
        .increment((double) hits);
  }

  private Counter newDomain(String domain) {
    boolean fits = unmatched.size() < MOST_DOMAINS && domain.length() <= LONGEST_DOMAIN;
    return unmatched.computeIfAbsent(fits ? domain : OTHER, this::counter);
  }

  private Counter counter(String domain) {
    return Counter.builder("sluice.rls.unmatched")
        .description("Descriptors of proxies that passed because no limit matches")
        .tag("domain", domain)
        .register(registry);
  }
}
