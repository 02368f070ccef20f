// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;

/** Keeps what an observer throws, an Error included, from the store: it is logged. Thread-safe. */
final class GuardedObserver implements RedisObserver {

  private static final Logger LOG = System.getLogger("dev.sluice.redis");

  private final RedisObserver guarded;
  private final AtomicBoolean told = new AtomicBoolean();

  GuardedObserver(RedisObserver guarded) {
    this.guarded = guarded;
  }

  private void run(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) { // an Error as well: a class that is missing must not end a time-out
      tell(e);
    }
  }

  private void tell(Throwable failure) {
    try {
      if (!told.getAndSet(true)) {
        LOG.log(Level.WARNING, "an observer of the store failed; logged once", failure);
      }
    } catch (Throwable e) {
      // A log that fails as well can't be told of.
    }
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    run(() -> guarded.called(server, result, batches, charges, elapsedNanos));
  }

  @Override
  public void refused(String server, Refusal why) {
    run(() -> guarded.refused(server, why));
  }

  @Override
  public void deniedFromMemory() {
    run(guarded::deniedFromMemory);
  }

  @Override
  public void changed(String server, State state, String reason) {
    run(() -> guarded.changed(server, state, reason));
  }
}
