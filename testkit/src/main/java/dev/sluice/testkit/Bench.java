// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;

/**
 * A limiter on the store under test, with a manual clock and replaceable limits. The limits {@link
 * #A}, {@link #B}, {@link #C}, {@link #WAITS}, {@link #WAITS_TOO} and {@link #OWES} have the same
 * quota. Callers can wait up to an hour for {@link #WAITS} and {@link #WAITS_TOO}. A bucket of
 * {@link #OWES} can owe as many tokens as the burst. {@link #OFF} has no default, so this limit is
 * disabled. Any text is a valid id of these limits.
 *
 * <p>Thread-safe if the store under test is thread-safe.
 */
final class Bench implements AutoCloseable {

  static final String A = "A";
  static final String B = "B";
  static final String C = "C";
  static final String OFF = "Off";
  static final String WAITS = "Waits";
  static final String WAITS_TOO = "WaitsToo";
  static final String OWES = "Owes";
  static final String ID = "someone";
  static final Duration LONGEST_WAIT = Duration.ofHours(1);

  static final Catalogue CATALOGUE =
      Catalogue.of(
          named(1, A),
          named(2, B),
          named(3, C),
          named(4, OFF),
          waiting(5, WAITS),
          waiting(6, WAITS_TOO),
          named(7, OWES));

  final ManualTime time = new ManualTime();
  final SettlingStore store;
  final CurrentLimits limits;
  final Limiter limiter;

  private Bench(DrivenStores stores, Quota quota) {
    this.store = new SettlingStore(stores.newStore(time));
    this.limits = new CurrentLimits(limits(quota));
    this.limiter = limiter(limits, store, time);
  }

  /**
   * Creates a limiter with the same clock as the store, since the refund of a batch depends on the
   * elapsed time.
   */
  static Limiter limiter(CurrentLimits limits, BucketStore store, ManualTime time) {
    return Limiter.builder(limits, store).time(time).build();
  }

  static Bench of(DrivenStores stores, Quota quota) {
    return new Bench(stores, quota);
  }

  /** Creates a bench whose limits refill 10 tokens per second, one token each 100 ms. */
  static Bench tenPerSecond(DrivenStores stores) {
    return new Bench(stores, Quota.per(10, Duration.ofSeconds(1)));
  }

  private static LimitName named(int number, String name) {
    return LimitName.builder(number, name).id(IdFormat.string()).disabledWithoutDefault().build();
  }

  private static LimitName waiting(int number, String name) {
    return LimitName.builder(number, name).id(IdFormat.string()).longestWait(LONGEST_WAIT).build();
  }

  static Limits limits(Quota quota) {
    Limits.Builder limits = Limits.builder(CATALOGUE);
    List.of(A, B, C, WAITS, WAITS_TOO, OWES).forEach(name -> limits.limit(name, quota));
    return limits.debt(OWES, 1).build();
  }

  /** Waits until the store has completed all asynchronous calls. */
  void settle() {
    store.settle();
  }

  void changeLimits(Quota quota) {
    limits.replace(limits(quota));
  }

  Transaction on(String limit, long cost) {
    return limiter.transaction(limit, ID).withCost(cost);
  }

  Decision spend(long cost) {
    return limiter.spend(A, ID, cost);
  }

  Decision check(long cost) {
    return limiter.check(A, ID, cost);
  }

  @CanIgnoreReturnValue
  Decision refund(long cost) {
    return limiter.refund(A, ID, cost);
  }

  /** Returns the state of a limit's bucket; spends no token. */
  Decision state(String limit) {
    return limiter.check(limit, ID, 0);
  }

  Decision state() {
    return state(A);
  }

  @Override
  public void close() {
    store.close();
  }
}
