// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Insides;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/** Blocks a caller of a process by running further events of the {@link World}. Not thread-safe. */
final class SimulatedWaiting implements Insides.Waiting {

  private static final long LONGEST_NANOS = 60_000_000_000L;

  private final World world;
  private long interruptAt = Long.MAX_VALUE; // moment of the next interrupt, MAX_VALUE for none

  SimulatedWaiting(World world) {
    this.world = world;
  }

  /** Interrupts the waiting caller at the given moment. */
  void interruptAt(long moment) {
    interruptAt = moment;
  }

  private boolean isInterrupted() {
    boolean is = world.now() >= interruptAt;
    interruptAt = is ? Long.MAX_VALUE : interruptAt;
    return is;
  }

  @Override
  public void untilDone(CompletableFuture<?> future) throws InterruptedException {
    world.runUntil(future::isDone, Math.min(interruptAt, world.now() + LONGEST_NANOS));
    if (!future.isDone()) {
      boolean unused = isInterrupted();
      throw new InterruptedException("the caller was interrupted, or the simulated run has ended");
    }
  }

  /** Waits until woken up or interrupted. An interrupt sets the thread's interrupt status. */
  @Override
  public void untilAwake(BooleanSupplier isAwake, long nanos) {
    long most = Math.min(nanos, LONGEST_NANOS);
    world.runUntil(isAwake, Math.min(interruptAt, world.now() + most));
    if (isInterrupted() || (!isAwake.getAsBoolean() && world.violation() != null)) {
      Thread.currentThread().interrupt();
    }
  }
}
