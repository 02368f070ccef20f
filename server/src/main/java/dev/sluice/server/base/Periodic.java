// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.server.base.FailureLog.OutOfMemory;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.slf4j.Logger;

/** A periodic task that continues after exceptions. */
public final class Periodic implements Runnable {

  private final Logger log;
  private final String what;
  private final Runnable task;
  private boolean failing;

  private Periodic(Logger log, String what, Runnable task) {
    this.log = log;
    this.what = what;
    this.task = task;
  }

  /** Returns a task that never throws; the log message starts with {@code what}. */
  public static Runnable task(Logger log, String what, Runnable task) {
    return new Periodic(log, what, task);
  }

  /** Makes a scheduler with one daemon thread. */
  public static ScheduledExecutorService scheduler(String thread) {
    return Executors.newSingleThreadScheduledExecutor(task -> new DaemonThread(task, thread));
  }

  @Override
  public void run() {
    try {
      task.run();
      failing = false;
    } catch (Throwable e) {
      tell(e);
    }
  }

  private void tell(Throwable failure) {
    try {
      if (!failing) {
        failing = true;
        log.error(
            "{} failed; retrying. Further failures are not logged until it has succeeded",
            what,
            failure);
      }
      OutOfMemory.report(failure);
    } catch (Throwable e) {
      // The log failed as well, so the failure cannot be reported.
    }
  }
}
