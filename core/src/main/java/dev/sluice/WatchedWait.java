// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Ending;
import dev.sluice.WaitingRoom.Place;
import dev.sluice.limit.LimitName;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;

/** Reports the begin of one caller's wait to an observer, and once its end. Thread-safe. */
final class WatchedWait {

  private final LimiterObserver observer;
  private final List<LimitName> limits;
  private final LongSupplier clock;
  private final long startNanos;
  private final AtomicBoolean over = new AtomicBoolean();

  private WatchedWait(LimiterObserver observer, List<LimitName> limits, LongSupplier clock) {
    this.observer = observer;
    this.limits = limits;
    this.clock = clock;
    this.startNanos = clock.getAsLong();
  }

  /**
   * Reports the begin of a wait.
   *
   * @param places the places that the caller took; some may need no wait
   * @param clock the clock that the caller waits by
   */
  static WatchedWait begin(LimiterObserver observer, List<Place> places, LongSupplier clock) {
    List<LimitName> limits =
        observer == Engine.NOBODY
            ? List.of()
            : places.stream().filter(p -> p.waitNanos() > 0).map(p -> p.limit).distinct().toList();
    WatchedWait wait = new WatchedWait(observer, limits, clock);
    limits.forEach(observer::waits);
    return wait;
  }

  void passed() {
    end(Ending.PASSED);
  }

  void givenUp() {
    end(Ending.GIVEN_UP);
  }

  private void end(Ending ending) {
    if (!limits.isEmpty() && !over.getAndSet(true)) {
      long waitedNanos = Math.max(clock.getAsLong() - startNanos, 0);
      limits.forEach(limit -> observer.waited(limit, ending, waitedNanos));
    }
  }
}
