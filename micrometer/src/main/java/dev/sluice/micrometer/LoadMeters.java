// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;

/**
 * The meters of one source of limits: the time of its last load and the number of mistakes.
 * Thread-safe.
 */
final class LoadMeters {

  private static final double MILLIS_PER_SECOND = 1e3;

  private volatile double loadedAtSeconds = Double.NaN;
  private volatile double mistakes;

  LoadMeters(MeterRegistry registry, String prefix, String what) {
    Clock clock = registry.config().clock();
    Gauge.builder(prefix + ".timestamp.seconds", this, m -> m.loadedAtSeconds)
        .description("Time at which the " + what + " were last loaded, in seconds since the epoch")
        .register(registry);
    Gauge.builder(
            prefix + ".age.seconds",
            this,
            m -> clock.wallTime() / MILLIS_PER_SECOND - m.loadedAtSeconds)
        .description("Time since the " + what + " were last loaded")
        .register(registry);
    Gauge.builder(prefix + ".errors", this, m -> m.mistakes)
        .description("Mistakes found by the last attempt to load the " + what + "; should be 0")
        .register(registry);
  }

  void loaded(Instant at) {
    loadedAtSeconds = at.toEpochMilli() / MILLIS_PER_SECOND;
    mistakes = 0;
  }

  void failed(int newMistakes) {
    mistakes = newMistakes;
  }
}
