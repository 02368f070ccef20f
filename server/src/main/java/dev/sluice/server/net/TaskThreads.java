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
 * A few threads for work that may block, on a store, a database, a disk or a lock, as an event loop
 * must not. The number of threads and of waiting tasks is bounded: a further task is refused, like
 * a request for which the server has no room. Thread-safe.
 */
public final class TaskThreads extends ScheduledThreadPoolExecutor {

  private static final Duration IDLE = Duration.ofSeconds(20);

  private final int mostWaiting;

  /**
   * Makes threads, which start when they are needed and end when they are not.
   *
   * @param name what their names begin with
   * @param most how many there may be
   * @param mostWaiting how many tasks may wait for one of them
   */
  TaskThreads(String name, int most, int mostWaiting) {
    super(most, ThreadFactories.newThreadFactory(name, /* daemon= */ true));
    this.mostWaiting = mostWaiting;
    setKeepAliveTime(IDLE.toNanos(), TimeUnit.NANOSECONDS);
    allowCoreThreadTimeOut(true);
  }

  /**
   * Makes one thread, which ends with a server. For work of which one piece holds up the next one
   * anyway: it must not hold up what others ask for.
   *
   * @param server the server that is being built
   * @param name what the thread's name begins with
   * @param mostWaiting how many tasks may wait for it
   * @return the thread
   */
  public static TaskThreads one(ServerBuilder server, String name, int mostWaiting) {
    TaskThreads one = new TaskThreads(name, 1, mostWaiting);
    // What still runs then is late already; nobody waits for it.
    server.serverListener(ServerListener.builder().whenStopped(unused -> one.shutdown()).build());
    return one;
  }

  @Override
  public void execute(Runnable task) {
    if (getQueue().size() >= mostWaiting) {
      throw RefusedException.overloaded("no thread is free for this; try again in a second");
    }
    super.execute(task);
  }
}
