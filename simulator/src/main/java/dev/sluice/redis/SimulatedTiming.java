// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The time of one process of a world, and its timer thread. */
final class SimulatedTiming implements Timing {

  private final World world;
  private final Dice dice;
  private final Actor timer;
  private final String process;
  private int pending;
  private boolean closed;

  SimulatedTiming(World world, Dice dice, String process) {
    this.world = world;
    this.dice = dice;
    this.process = process;
    this.timer = new Actor(process + ".timer");
  }

  @Override
  public long nanoTime() {
    return world.now();
  }

  /** Never early, and late by what a machine is late. */
  @Override
  public void after(long nanos, Runnable task) {
    if (closed) {
      throw new RejectedExecutionException("closed");
    }
    pending++;
    world.after(
        nanos + dice.between(0, 100_000),
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
    world.runUntil(future::isDone, world.now() + nanos);
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
