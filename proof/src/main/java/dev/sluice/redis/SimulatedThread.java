// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import dev.sluice.remote.StoreThread;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A thread of a store that waits for a server. It is a thread of the JVM that runs only while the
 * world waits for it, within an event, and gives way to the world wherever it blocks.
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
  private long turns; // how often this thread has continued

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

  /** Lets the thread look soon whether it still has to wait. */
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
        throw new IllegalStateException(getName() + " neither ends nor waits");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Blocks this thread until a condition holds, or until a moment. */
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
   * Blocks this thread as above, whatever interrupts it, as a read from a socket does. Returns the
   * condition.
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

  /** Lets a thread of a closed store end when the world is over: it blocks nowhere any more. */
  void end() {
    hurries = true;
    if (begun && !over) {
      goOn();
    }
  }
}
