// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.limit.LimitName;
import org.jspecify.annotations.Nullable;

/**
 * A limiter's observer that counts the waits. A step of the {@link Plan} can make the observer
 * throw an exception, because a user's observer can throw, too.
 */
final class LimiterWatch implements LimiterObserver {

  private @Nullable Throwable nextThrown;
  private int lost;
  private int waits;
  private int passed;
  private int givenUp;

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

  @Override
  public void waits(LimitName limit) {
    waits++;
    throwIfPlanned();
  }

  @Override
  public void waited(LimitName limit, Ending ending, long waitedNanos) {
    passed += ending == Ending.PASSED ? 1 : 0;
    givenUp += ending == Ending.GIVEN_UP ? 1 : 0;
    throwIfPlanned();
  }

  @Override
  public void settledEarly(int most) {
    throwIfPlanned();
  }

  @Override
  public void settlementLost() {
    lost++;
    throwIfPlanned();
  }

  /** Returns the number of settlements that the limiter reported as lost. */
  int lost() {
    return lost;
  }

  /**
   * Returns a description if the limiter reported impossible numbers of waits, otherwise null.
   *
   * @param mostPassed the largest possible number of admitted callers
   * @param mostGivenUp the largest possible number of callers that gave up
   */
  @Nullable String wrongWaits(int mostPassed, int mostGivenUp) {
    return waits == passed + givenUp && passed <= mostPassed && givenUp <= mostGivenUp
        ? null
        : World.text(
            "reports %d waits, %d admitted callers (at most %d), %d callers that gave up (at most %d)",
            waits, passed, mostPassed, givenUp, mostGivenUp);
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
