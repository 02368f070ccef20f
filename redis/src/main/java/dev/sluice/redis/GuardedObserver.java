// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Keeps what an observer throws from the store, and logs it. That includes an Error: a class that
 * is missing must not end a time-out. Its methods never throw, so each has its own catch: to hand a
 * call to one for all takes memory, which may be what is missing. Thread-safe.
 */
final class GuardedObserver implements RedisObserver {

  private final RedisObserver guarded;
  private final AtomicBoolean told = new AtomicBoolean();

  GuardedObserver(RedisObserver guarded) {
    this.guarded = guarded;
  }

  private void tell(Throwable failure) {
    if (!told.getAndSet(true)) {
      StoreLog.log(Level.WARNING, "an observer of the store failed; logged once", failure);
    }
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    try {
      guarded.called(server, result, batches, charges, elapsedNanos);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void refused(String server, Refusal why) {
    try {
      guarded.refused(server, why);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void deniedFromMemory() {
    try {
      guarded.deniedFromMemory();
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void changed(String server, State state, String reason) {
    try {
      guarded.changed(server, state, reason);
    } catch (Throwable e) {
      tell(e);
    }
  }
}
