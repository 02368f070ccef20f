package dev.sluice.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The machine's own time, with one daemon thread for what runs later. Thread-safe. */
final class SystemTiming implements Timing {

  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, StoreThread.factory("timer"));

  SystemTiming() {
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public void after(long nanos, Runnable task) {
    var unused = timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    return future.get(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public <T> CompletableFuture<T> within(CompletableFuture<T> future, long nanos) {
    return future.copy().orTimeout(nanos, TimeUnit.NANOSECONDS); // its timer ends with the future
  }

  @Override
  public void elsewhere(Runnable task) {
    ForkJoinPool.commonPool().execute(task);
  }

  @Override
  public void close() {
    var unused = timer.shutdownNow();
  }
}
