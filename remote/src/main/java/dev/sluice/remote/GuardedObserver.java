// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An observer that protects the store from a faulty observer. No method throws: an error such as a
 * missing class must not stop time-outs. The first exception or Error is logged. Events of the
 * time-out thread are reported on another thread, which the observer is allowed to block. Each
 * method has its own catch block, since a lambda for a shared method would need memory, and the
 * heap can be full.
 */
final class GuardedObserver implements BucketStore.Observer {

  private final BucketStore.Observer guarded;
  private final Timing timing;
  private final StoreLog log;
  private final AtomicBoolean told = new AtomicBoolean();

  GuardedObserver(BucketStore.Observer guarded, Timing timing, StoreLog log) {
    this.guarded = guarded;
    this.timing = timing;
    this.log = log;
  }

  private void logOnce(Throwable failure) {
    if (!told.getAndSet(true)) {
      log.log(
          Level.WARNING,
          "an observer of the store threw an exception; further exceptions of observers are not logged",
          failure);
    }
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    try {
      if (timing.tellsLater()) {
        timing.tellLater(() -> tellCalled(server, result, batches, charges, elapsedNanos));
        return;
      }
    } catch (Throwable e) {
      return; // no memory to report the event
    }
    tellCalled(server, result, batches, charges, elapsedNanos);
  }

  private void tellCalled(
      String server, Result result, int batches, int charges, long elapsedNanos) {
    try {
      guarded.called(server, result, batches, charges, elapsedNanos);
    } catch (Throwable e) {
      logOnce(e);
    }
  }

  @Override
  public void refused(String server, Refusal why) {
    try {
      if (timing.tellsLater()) {
        timing.tellLater(() -> tellRefused(server, why));
        return;
      }
    } catch (Throwable e) {
      return; // no memory to report the event
    }
    tellRefused(server, why);
  }

  private void tellRefused(String server, Refusal why) {
    try {
      guarded.refused(server, why);
    } catch (Throwable e) {
      logOnce(e);
    }
  }

  @Override
  public void deniedFromMemory() {
    try {
      guarded.deniedFromMemory();
    } catch (Throwable e) {
      logOnce(e);
    }
  }

  @Override
  public void changed(String server, State state, String reason) {
    try {
      if (timing.tellsLater()) {
        timing.tellLater(() -> tellChanged(server, state, reason));
        return;
      }
    } catch (Throwable e) {
      return; // no memory to report the event
    }
    tellChanged(server, state, reason);
  }

  private void tellChanged(String server, State state, String reason) {
    try {
      guarded.changed(server, state, reason);
    } catch (Throwable e) {
      logOnce(e);
    }
  }
}
