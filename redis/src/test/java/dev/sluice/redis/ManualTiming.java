// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.Timing;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Time that passes when the test says so, with all that runs by then, on the test's thread. */
final class ManualTiming implements Timing {

  private final PriorityQueue<Later> later =
      new PriorityQueue<>(Comparator.comparing(Later::atNanos));
  private long nowNanos;

  private record Later(long atNanos, Runnable task) {}

  void pass(Duration time) {
    pass(time.toNanos());
  }

  void pass(long nanos) {
    long end = nowNanos + nanos;
    for (Later next = later.peek(); next != null && next.atNanos <= end; next = later.peek()) {
      later.remove(next);
      nowNanos = next.atNanos;
      next.task.run();
    }
    nowNanos = end;
  }

  @Override
  public long nanoTime() {
    return nowNanos;
  }

  @Override
  public void after(long nanos, Runnable task) {
    later.add(new Later(nowNanos + nanos, task));
  }

  @Override
  public void every(long nanos, Runnable task) {
    after(
        nanos,
        () -> {
          task.run();
          every(nanos, task);
        });
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    pass(nanos);
    return future.get(0, TimeUnit.NANOSECONDS);
  }

  @Override
  public void elsewhere(Runnable task) {
    task.run();
  }

  @Override
  public void close() {
    later.clear();
  }
}
