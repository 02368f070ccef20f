// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.util.ThreadFactories;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServerListener;
import dev.sluice.server.base.RefusedException;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Threads for tasks that can block on a store, a database, a disk or a lock, since event loops must
 * not block. The numbers of threads and of waiting tasks are bounded: when the queue is full, a new
 * task is refused with a 503. Thread-safe.
 */
public final class TaskThreads extends ScheduledThreadPoolExecutor {

  private static final Duration IDLE = Duration.ofSeconds(20);

  private final int mostWaiting;

  /** Makes threads that end when idle. At most {@code mostWaiting} tasks wait for a thread. */
  TaskThreads(String name, int most, int mostWaiting) {
    super(most, ThreadFactories.newThreadFactory(name, /* daemon= */ true));
    this.mostWaiting = mostWaiting;
    setKeepAliveTime(IDLE.toNanos(), TimeUnit.NANOSECONDS);
    allowCoreThreadTimeOut(true);
  }

  /** Makes a single thread, which ends when the server stops. */
  public static TaskThreads one(ServerBuilder server, String name, int mostWaiting) {
    TaskThreads one = new TaskThreads(name, 1, mostWaiting);
    // Does not wait for running tasks: after the server's stop, nobody uses their results.
    server.serverListener(ServerListener.builder().whenStopped(unused -> one.shutdown()).build());
    return one;
  }

  @Override
  public void execute(Runnable task) {
    if (getQueue().size() >= mostWaiting) {
      throw RefusedException.overloaded("all task threads are busy; try again in a second");
    }
    super.execute(task);
  }
}
