// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Tells a {@link BrokenOffContract} which requests the application processes. Thread-safe. */
public final class HeldRequests {

  private static final long PATIENCE_SECONDS = 60;

  private final BlockingQueue<HeldRequest> arrived = new LinkedBlockingQueue<>();
  private final Semaphore left = new Semaphore(0);

  HeldRequests() {}

  /**
   * Reports that the application starts to process a request.
   *
   * @param request the request
   */
  public void arrived(HeldRequest request) {
    arrived.add(request);
  }

  /**
   * Reports that the thread that received a request has returned from the filter, and from the
   * server if the application can detect this. Call this method once for each {@link HeldRequest}.
   * If the request blocks the thread, call this method at the end of the request.
   */
  public void left() {
    left.release();
  }

  /** Waits for the next call of {@link #arrived}, and returns the request. */
  @CanIgnoreReturnValue
  HeldRequest next() throws InterruptedException {
    HeldRequest request = arrived.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (request == null) {
      throw new AssertionError("no request arrived");
    }
    return request;
  }

  /** Waits for the next call of {@link #left}. */
  void awaitLeft() throws InterruptedException {
    if (!left.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("no request returned from the filter");
    }
  }
}
