// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import dev.sluice.remote.Timing;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The monotonic clock, the timers and the threads of one process's store. Not thread-safe. */
final class SimulatedTiming implements Timing {

  /**
   * The possible values of {@code System.nanoTime} at the start of a run. The second value is
   * negative. The third value is so large that {@code System.nanoTime} overflows during the run.
   */
  private static final Long[] ORIGINS = {0L, -700_000_000L, Long.MAX_VALUE - 700_000_000L};

  private final World world;
  private final SimulatedClock clock;
  private final long origin;
  private final Dice dice;
  private final Actor timer;
  private final String process;
  private final List<SimulatedThread> threads = new ArrayList<>();
  private int pending;
  private boolean closed;
  private @Nullable Runnable onThrow;

  /**
   * Creates the timing of a process.
   *
   * @param clock a monotonic clock
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

  /** Returns the moment at which the process's clock has advanced by a duration. */
  private long over(long nanos) {
    return clock.whenItShows(clock.nanos() + Math.max(nanos, 0));
  }

  /** Runs a task after {@code nanos}, at most 0.1 ms late. */
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

  /** Runs a task repeatedly, even if the task throws an exception. */
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
   * Makes the next call of {@link #after} throw an error.
   *
   * @param told the action to run before the error is thrown
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

  /** Returns the number of timers that are set. */
  int pending() {
    return pending;
  }

  @Override
  public ThreadFactory threads(String kind, String role) {
    return task -> {
      String name = process + "." + role + threads.size();
      SimulatedThread made = new SimulatedThread(world, dice.fork(10 + threads.size()), name, task);
      threads.add(made);
      return made;
    };
  }

  /** Returns the number of threads that have not ended. */
  long threads() {
    return threads.stream().filter(thread -> !thread.isOver()).count();
  }

  /** Lets the threads of a closed store run to their ends. */
  void endThreads() {
    threads.forEach(SimulatedThread::end);
  }

  @Override
  public <T> BlockingQueue<T> queue() {
    return new ThreadsQueue<>();
  }

  /** A queue that blocks only simulated threads. */
  private final class ThreadsQueue<T> extends LinkedBlockingQueue<T> {
    private static final long serialVersionUID = 1;
    private final transient Set<SimulatedThread> waiting = new LinkedHashSet<>();

    @Override
    public boolean add(T element) {
      boolean added = super.add(element);
      waiting.forEach(SimulatedThread::wake);
      return added;
    }

    @Override
    public @Nullable T poll(long time, TimeUnit unit) throws InterruptedException {
      SimulatedThread own = (SimulatedThread) Thread.currentThread();
      waiting.add(own);
      try {
        own.await(() -> !isEmpty(), over(unit.toNanos(time)));
      } finally {
        waiting.remove(own);
      }
      return poll();
    }
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    if (Thread.currentThread() instanceof SimulatedThread own) {
      var unused = future.whenComplete((done, failure) -> own.wake());
      own.await(future::isDone, over(nanos));
    } else {
      world.runUntil(future::isDone, over(nanos));
    }
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
