// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.internal.async.Stages.DaemonThread;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;

/*
 * If the server of a network mount is down, a call on a file never returns, not even a call for the
 * file's size, and an interrupt does not end the call. So every call runs on its own daemon thread,
 * which is abandoned after a time-out. While an abandoned thread hangs, no other thread is started
 * for its file. So a watcher that polls every second leaves one thread behind, not thousands.
 */
/** Accesses files with a time-out. Thread-safe. */
final class FileAccess {

  private static final Map<Path, FutureTask<?>> HANGING = new ConcurrentHashMap<>();

  private final Duration timeout;

  FileAccess(Duration timeout) {
    this.timeout = timeout;
  }

  /**
   * Calls the file system.
   *
   * @param path the file
   * @param call accesses the file
   * @param givenUp converts the reason of a time-out to the result of {@code call}
   */
  <T> T call(Path path, Supplier<T> call, Function<String, T> givenUp) {
    String reason = "the file system does not respond within %s ms";
    FutureTask<?> hanging = HANGING.get(path);
    if (hanging != null) {
      if (!hanging.isDone()) {
        return givenUp.apply(reason.formatted(timeout.toMillis()));
      }
      HANGING.remove(path, hanging);
    }
    FutureTask<T> task = new FutureTask<>(call::get);
    new DaemonThread(task, "sluice-file-access").start();
    try {
      return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      HANGING.put(path, task);
      return givenUp.apply(reason.formatted(timeout.toMillis()));
    } catch (InterruptedException e) {
      HANGING.put(path, task);
      Thread.currentThread().interrupt();
      return givenUp.apply("the read of the file was cancelled before the file system answered");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw new IllegalStateException(
          e.getCause()); // the call returns file system faults, it never throws them
    }
  }
}
