// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;

/**
 * Where alarms ring. On a machine of one or two processors the common pool has one thread, and the
 * code of a caller that holds it would keep all other alarms waiting; there each has a thread of
 * its own. Stateless.
 */
final class AlarmThreads {

  private AlarmThreads() {}

  static Executor executor() {
    return ForkJoinPool.getCommonPoolParallelism() > 1
        ? ForkJoinPool.commonPool()
        : AlarmThreads::onItsOwn;
  }

  private static void onItsOwn(Runnable task) {
    Thread thread = new Thread(task, "sluice-alarm");
    thread.setDaemon(true);
    thread.start();
  }
}
