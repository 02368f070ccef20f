// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A busy machine: a thread for each processor that spins, until it is closed. */
final class Spinning implements AutoCloseable {

  private final CountDownLatch over = new CountDownLatch(1);
  private final List<Thread> threads = new ArrayList<>();

  Spinning() {
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      Thread thread = new Thread(this::spin);
      threads.add(thread);
      thread.start();
    }
  }

  private void spin() {
    while (over.getCount() > 0) {
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() throws InterruptedException {
    over.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
  }
}
