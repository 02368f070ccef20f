// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.World.Actor;
import dev.sluice.store.TimeSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/** The clock and the alarms that a limiter uses to wait on behalf of callers. Not thread-safe. */
final class SimulatedTime implements TimeSource {

  private final World world;
  private final SimulatedClock clock;
  private final Dice dice;
  private final String process;
  private int pending;

  SimulatedTime(World world, SimulatedClock clock, Dice dice, String process) {
    this.world = world;
    this.clock = clock;
    this.dice = dice;
    this.process = process;
  }

  @Override
  public long nanos() {
    return clock.nanos();
  }

  /** Runs a task on a thread of a pool, at most 0.1 ms late. */
  @Override
  public Future<?> alarm(long atNanos, Runnable task) {
    CompletableFuture<Boolean> bell = new CompletableFuture<>();
    pending++;
    Stages.onEnd(bell, (rung, cancelled) -> pending--);
    world.at(
        clock.whenItShows(atNanos) + dice.between(0, 100_000),
        new Actor(process + ".common"),
        () -> {
          if (bell.complete(true)) {
            task.run();
          }
        });
    return bell;
  }

  /** Returns the number of alarms that are set. */
  int pending() {
    return pending;
  }
}
