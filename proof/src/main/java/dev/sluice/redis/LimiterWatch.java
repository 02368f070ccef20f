// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.limit.LimitName;
import org.jspecify.annotations.Nullable;

/** A limiter's observer that counts waits, and throws where the plan says so, as user code may. */
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

  /** Returns how many settlements were reported as lost. */
  int lost() {
    return lost;
  }

  /**
   * Returns what is wrong with the reported waits, null if nothing is.
   *
   * @param mostPassed how many callers passed at most
   * @param mostGivenUp how many callers gave up at most
   */
  @Nullable String wrongWaits(int mostPassed, int mostGivenUp) {
    return waits == passed + givenUp && passed <= mostPassed && givenUp <= mostGivenUp
        ? null
        : World.text(
            "was told of %d waits, %d passed of at most %d, %d given up of at most %d",
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
