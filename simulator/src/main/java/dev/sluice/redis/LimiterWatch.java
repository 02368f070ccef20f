// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import org.jspecify.annotations.Nullable;

/** Watches a limiter, and throws where the plan says so: an observer is a user's code. */
final class LimiterWatch implements LimiterObserver {

  private @Nullable Throwable nextThrown;

  void throwNext(Throwable thrown) {
    nextThrown = thrown;
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    throwIfPlanned();
  }

  @Override
  public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
    throwIfPlanned();
  }

  private void throwIfPlanned() {
    Throwable thrown = nextThrown;
    nextThrown = null;
    if (thrown instanceof Error error) {
      throw error;
    } else if (thrown instanceof RuntimeException exception) {
      throw exception;
    }
  }
}
