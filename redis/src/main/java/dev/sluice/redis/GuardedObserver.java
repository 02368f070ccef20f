package dev.sluice.redis;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * Who watches must not break what is watched: what another observer throws is logged, and goes no
 * further. Thread-safe.
 */
final class GuardedObserver implements RedisObserver {

  private static final Logger LOG = System.getLogger("dev.sluice.redis");

  private final RedisObserver guarded;

  GuardedObserver(RedisObserver guarded) {
    this.guarded = guarded;
  }

  private static void run(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "an observer of the store failed", e);
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
