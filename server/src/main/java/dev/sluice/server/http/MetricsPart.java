// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServerListener;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.server.net.Decorators;
import dev.sluice.server.net.Part;
import dev.sluice.store.BucketStore;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

/**
 * {@code GET /metrics}: what the limiter, the HTTP door, the process and the JVM do, for
 * Prometheus. Immutable and thread-safe.
 */
public final class MetricsPart implements Part {

  private final PrometheusMeterRegistry registry;
  private final LimiterMetrics metrics;

  /**
   * Makes the part.
   *
   * @param limits the limits of the limiter that is watched
   * @param store that limiter's store
   */
  public MetricsPart(CurrentLimits limits, BucketStore store) {
    this(newRegistry(), limits, store);
  }

  /**
   * Makes the part, with meters that are there already.
   *
   * @param registry of {@link #newRegistry}
   * @param limits the limits of the limiter that is watched
   * @param store that limiter's store
   */
  public MetricsPart(PrometheusMeterRegistry registry, CurrentLimits limits, BucketStore store) {
    this.registry = registry;
    this.metrics = new LimiterMetrics(registry, limits, store);
    BuildInfo.bind(registry);
  }

  /**
   * Where meters go that the page is to show.
   *
   * @return a new one
   */
  public static PrometheusMeterRegistry newRegistry() {
    return new PageMeters();
  }

  /**
   * Returns the meters, which must observe the limiter and be told when limits are loaded.
   *
   * @return the meters behind the page
   */
  public LimiterMetrics metrics() {
    return metrics;
  }

  @Override
  public void addTo(ServerBuilder server) {
    ProcessMeters process = ProcessMeters.bind(registry);
    server
        .service("/metrics", new MetricsResource(registry))
        .serverListener(ServerListener.builder().whenStopped(stopped -> process.close()).build());
  }

  @Override
  public void addLast(Decorators decorators) {
    decorators.add(new RequestMeters(registry));
  }
}
