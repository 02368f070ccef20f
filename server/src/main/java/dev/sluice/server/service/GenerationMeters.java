// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.State;
import dev.sluice.server.base.Generations.Watched;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Meters of the generations that hold, and of those that were offered, for each kind of files.
 * Stateless.
 */
final class GenerationMeters {

  private static final double MILLIS_PER_SECOND = 1e3;
  private static final int HEXADECIMAL = 16;

  private GenerationMeters() {}

  /** Those of the limits, and of what is kept at run time. */
  static void register(Generations generations, MeterRegistry registry) {
    register(generations, Kind.LIMITS, registry);
    registerMistakes("runtime", generations, all -> all.mistakesBeside().size(), registry);
  }

  /** Those of the files of one kind. */
  static void register(Generations generations, Kind kind, MeterRegistry registry) {
    Watched files = generations.of(kind);
    register(kind, "active", files, s -> s.active().since(), s -> s.active().hash(), registry);
    register(kind, "offered", files, s -> s.offered().at(), s -> s.offered().hash(), registry);
    registerMistakes(
        kind.word(), files, watched -> watched.state().offered().mistakes().size(), registry);
  }

  private static <T> void registerMistakes(
      String of, T counted, ToDoubleFunction<T> mistakes, MeterRegistry registry) {
    Gauge.builder("sluice.generation.mistakes", counted, mistakes)
        .description(
            "Mistakes in the offered generation of files, and where overrides and penalties are kept")
        .tag("files", of)
        .register(registry);
  }

  private static void register(
      Kind kind,
      String which,
      Watched files,
      Function<State, Instant> since,
      Function<State, String> hash,
      MeterRegistry registry) {
    Gauge.builder(
            "sluice.generation.age.seconds",
            files,
            watched -> secondsSince(since.apply(watched.state())))
        .description("Age of the active and of the offered generation of files")
        .tag("files", kind.word())
        .tag("generation", which)
        .register(registry);
    Gauge.builder("sluice.generation.hash", files, watched -> number(hash.apply(watched.state())))
        .description("Hash of all files of a generation, to compare servers; 0 without files")
        .tag("files", kind.word())
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
