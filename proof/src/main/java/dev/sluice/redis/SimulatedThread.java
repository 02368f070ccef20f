// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import dev.sluice.remote.StoreThread;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A store's thread that blocks while it waits for a database. A simulated thread is a real thread
 * of the JVM that runs only within an event of the {@link World}. The world waits until the thread
 * blocks, which ends the event.
 */
final class SimulatedThread extends Thread implements StoreThread {

  private static final long MOST_SECONDS = 120;

  private final World world;
  private final Dice dice;
  private final Actor actor;
  private final Semaphore turn = new Semaphore(0);
  private final Semaphore back = new Semaphore(0);
  private boolean begun;
  private boolean over;
  private boolean interrupted;
  private boolean hurries;
  private long turns; // number of times that this thread has continued after it blocked

  SimulatedThread(World world, Dice dice, String name, Runnable task) {
    super(task, name);
    this.world = world;
    this.dice = dice;
    this.actor = new Actor(name);
    setDaemon(true);
  }

  @Override
  public synchronized void start() {
    wake();
  }

  @Override
  public void run() {
    try {
      super.run();
    } finally {
      over = true;
      back.release();
    }
  }

  @Override
  public void interrupt() {
    interrupted = true;
    wake();
  }

  /** Lets the blocked thread soon check again whether it can continue. */
  void wake() {
    continueAt(world.now() + dice.between(1_000, 30_000));
  }

  private void continueAt(long moment) {
    long its = turns;
    world.at(
        moment,
        actor,
        () -> {
          if (its == turns && !over) {
            goOn();
          }
        });
  }

  /** Runs the thread until it blocks. */
  private void goOn() {
    if (begun) {
      turn.release();
    } else {
      begun = true;
      super.start();
    }
    try {
      if (!back.tryAcquire(MOST_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException(
            getName() + " neither ended nor blocked within " + MOST_SECONDS + " s");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Blocks this thread until a condition is true, at the latest until the given moment. */
  void await(BooleanSupplier done, long moment) throws InterruptedException {
    while (!done.getAsBoolean() && world.now() < moment && !hurries && !interrupted) {
      pause(moment);
    }
    if (interrupted && !done.getAsBoolean()) {
      interrupted = false;
      throw new InterruptedException();
    }
  }

  /**
   * Blocks this thread until a condition is true, at the latest until the given moment. Ignores
   * interrupts, as a read from a socket does. Returns whether the condition is true.
   */
  boolean awaitAnswer(BooleanSupplier done, long moment) {
    while (!done.getAsBoolean() && world.now() < moment && !hurries) {
      pause(moment);
    }
    return done.getAsBoolean();
  }

  private void pause(long moment) {
    continueAt(moment);
    back.release();
    turn.acquireUninterruptibly();
    turns++;
  }

  boolean isOver() {
    return over;
  }

  /** Runs the thread of a closed store to its end, without blocking it again. */
  void end() {
    hurries = true;
    if (begun && !over) {
      goOn();
    }
  }
}
