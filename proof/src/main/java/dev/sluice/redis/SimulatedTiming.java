// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import dev.sluice.remote.Timing;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The time of one process of a world, and its timer thread. */
final class SimulatedTiming implements Timing {

  /**
   * The values of {@code System.nanoTime} at the start of a world: it may be negative, and wrap.
   */
  private static final Long[] ORIGINS = {0L, -700_000_000L, Long.MAX_VALUE - 700_000_000L};

  private final World world;
  private final SimulatedClock clock;
  private final long origin;
  private final Dice dice;
  private final Actor timer;
  private final String process;
  private int pending;
  private boolean closed;
  private @Nullable Runnable onThrow;

  /**
   * Creates a timing.
   *
   * @param clock the clock of the machine, which never steps
   */
  SimulatedTiming(World world, SimulatedClock clock, Dice dice, String process) {
    this.world = world;
    this.clock = clock;
    this.origin = dice.fork(1).one(ORIGINS);
    this.dice = dice;
    this.process = process;
    this.timer = new Actor(process + ".timer");
  }

  @Override
  public long nanoTime() {
    return origin + sinceStart();
  }

  private long sinceStart() {
    return clock.nanos() - clock.at(0);
  }

  /** Returns the moment of the world at which a duration has passed by the machine's clock. */
  private long over(long nanos) {
    return clock.whenItShows(clock.nanos() + Math.max(nanos, 0));
  }

  /** Runs the task never early, and late by the machine's delay. */
  @Override
  public void after(long nanos, Runnable task) {
    if (closed) {
      throw new RejectedExecutionException("closed");
    }
    Runnable thrown = onThrow;
    if (thrown != null) {
      onThrow = null;
      thrown.run();
      throw new OutOfMemoryError("a timer's");
    }
    later(nanos, task);
  }

  /** Repeats the task, whatever it throws. */
  @Override
  public void every(long nanos, Runnable task) {
    if (closed) {
      throw new RejectedExecutionException("closed");
    }
    later(
        nanos,
        () -> {
          try {
            task.run();
          } finally {
            if (!closed) {
              every(nanos, task);
            }
          }
        });
  }

  /**
   * Makes the next timer fail.
   *
   * @param told is run when that happens
   */
  void throwNext(Runnable told) {
    onThrow = told;
  }

  private void later(long nanos, Runnable task) {
    pending++;
    world.at(
        over(nanos) + dice.between(0, 100_000),
        timer,
        () -> {
          pending--;
          if (!closed) {
            task.run();
          }
        });
  }

  /** Returns how many timers are set. */
  int pending() {
    return pending;
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    world.runUntil(future::isDone, over(nanos));
    if (!future.isDone()) {
      throw new TimeoutException();
    }
    return future.get(0, TimeUnit.NANOSECONDS);
  }

  @Override
  public void elsewhere(Runnable task) {
    world.after(dice.between(1_000, 50_000), new Actor(process + ".pool"), task);
  }

  @Override
  public void close() {
    closed = true;
  }
}
