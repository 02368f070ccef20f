// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.LimiterObserver.Ending;
import dev.sluice.LimiterObserver.Spent;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Observers that pass on what they are told: the method, and its last argument. */
final class ToldObserver {

  private static final LimitName CALLS = LimitName.builder(1, "Calls").build();

  private ToldObserver() {}

  static LimiterObserver of(Consumer<String> heard) {
    return (LimiterObserver)
        Proxy.newProxyInstance(
            LimiterObserver.class.getClassLoader(),
            new Class<?>[] {LimiterObserver.class},
            (proxy, method, arguments) -> {
              String last = arguments == null ? "" : " " + arguments[arguments.length - 1];
              heard.accept(method.getName() + last);
              return null;
            });
  }

  /** One that throws after each. */
  static LimiterObserver throwing(Consumer<String> heard) {
    return of(
        told -> {
          heard.accept(told);
          throw new NoClassDefFoundError("metrics");
        });
  }

  /**
   * All that an observer may be told; the last arguments are 1, 2, 3, 4, 7, Calls, 5 and an
   * exception.
   */
  static List<Consumer<LimiterObserver>> everything() {
    Decision decision =
        Limiter.of(BucketStore.inMemory(() -> 0))
            .check(Transaction.of(CALLS, Quota.per(1, Duration.ofSeconds(1)), "x"));
    return List.of(
        observer -> observer.decided(Act.CHECK, decision, 1),
        observer -> observer.spent(CALLS, nothing(), 2),
        observer -> observer.stored(Act.SPEND, 7, null, 3),
        observer -> observer.settledEarly(4),
        LimiterObserver::settlementLost,
        observer -> observer.settled(part(), 6, 7),
        observer -> observer.waits(CALLS),
        observer -> observer.waited(CALLS, Ending.PASSED, 5),
        observer -> observer.quotaFailed(CALLS, new IllegalStateException("6")));
  }

  private static Settlement.Part part() {
    Transaction calls = Transaction.of(CALLS, Quota.per(9, Duration.ofSeconds(1)), "x");
    return new Settlement.Part(calls, 7, 0, 0, 0, 2);
  }

  private static Spent nothing() {
    return new Spent() {
      @Override
      public int count() {
        return 1;
      }

      @Override
      public boolean allowed(int index) {
        return false;
      }

      @Override
      public Decision decision(int index) {
        throw new IllegalStateException("nobody asks");
      }
    };
  }
}
