// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Receives the reports of an application about its requests, for a {@link BrokenOffContract}.
 * Thread-safe.
 */
public final class HeldRequests {

  private static final long PATIENCE_SECONDS = 10;

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
   * Reports that the original thread of a held request has left the filter, and also the server if
   * the application can detect this. Call this method once for each held request. If the processing
   * blocks the thread, call this method at the end of the request.
   */
  public void left() {
    left.release();
  }

  /** Waits for the next request, and returns it. */
  @CanIgnoreReturnValue
  HeldRequest next() throws InterruptedException {
    HeldRequest request = arrived.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (request == null) {
      throw new AssertionError("no request arrived");
    }
    return request;
  }

  /** Waits until a request has left the filter. */
  void awaitLeft() throws InterruptedException {
    if (!left.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("no request left the filter");
    }
  }
}
