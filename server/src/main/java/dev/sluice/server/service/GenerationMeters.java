// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.Generations;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;

/** Meters of the generation that holds, and of the one that was offered. Stateless. */
final class GenerationMeters {

  private static final double MILLIS_PER_SECOND = 1e3;
  private static final int HEXADECIMAL = 16;

  private GenerationMeters() {}

  static void register(Generations generations, MeterRegistry registry) {
    register(
        registry,
        "active",
        generations,
        state -> state.active().since(),
        state -> state.active().hash());
    register(
        registry,
        "offered",
        generations,
        state -> state.offered().at(),
        state -> state.offered().hash());
    Gauge.builder(
            "sluice.generation.mistakes",
            generations,
            all -> all.state().offered().mistakes().size() + all.mistakesBeside().size())
        .description(
            "Mistakes in the offered generation of files, and where overrides and penalties are kept")
        .register(registry);
  }

  private static void register(
      MeterRegistry registry,
      String which,
      Generations generations,
      Function<Generations.State, Instant> since,
      Function<Generations.State, String> hash) {
    Gauge.builder(
            "sluice.generation.age.seconds",
            generations,
            all -> secondsSince(since.apply(all.state())))
        .description("Age of the active and of the offered generation of files")
        .tag("generation", which)
        .register(registry);
    Gauge.builder("sluice.generation.hash", generations, all -> number(hash.apply(all.state())))
        .description("Hash of all files of a generation, to compare servers; 0 without files")
        .tag("generation", which)
        .register(registry);
  }

  private static double secondsSince(Instant since) {
    return Duration.between(since, Clock.systemUTC().instant()).toMillis() / MILLIS_PER_SECOND;
  }

  /** Twelve hexadecimal digits fit in a double. */
  private static double number(String hash) {
    return hash.equals(Generations.NONE) ? 0 : Long.parseLong(hash, HEXADECIMAL);
  }
}
