// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Callers that spend at once, without a separate thread for each caller. */
final class Crowd {

  private Crowd() {}

  /** Returns the duration of the slowest call, which can have succeeded or failed. */
  static long longestCallMillis(Limiter limiter, int callers) throws InterruptedException {
    AtomicLong longest = new AtomicLong();
    CountDownLatch ended = new CountDownLatch(callers);
    for (int i = 0; i < callers; i++) {
      long start = System.nanoTime();
      var unused =
          limiter
              .async()
              .spend(Load.NAME, "f" + i)
              .whenComplete(
                  (decision, failure) -> {
                    longest.accumulateAndGet(System.nanoTime() - start, Math::max);
                    ended.countDown();
                  });
    }
    ended.await();
    return TimeUnit.NANOSECONDS.toMillis(longest.get());
  }
}
