// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.direct.DirectStore;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A limiter on the store under test, with a manual clock and replaceable limits. The limits {@link
 * #A}, {@link #B}, {@link #C}, {@link #WAITS}, {@link #WAITS_TOO} and {@link #OWES} have the same
 * quota. Callers can wait up to an hour for tokens of {@link #WAITS} and {@link #WAITS_TOO}. A
 * bucket of the limit {@link #OWES} can owe as many tokens as the burst. The limit {@link #OFF} has
 * no default quota, and is therefore disabled. Any text is a valid id of the bench's limits.
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

  /**
   * A store for tests of asynchronous calls. A test can wait until all calls of the store have
   * completed and all actions chained to their futures are done. Thread-safe.
   */
  static final class SettlingStore implements BucketStore, DirectStore {

    private final BucketStore store;
    private int inFlight; // guarded by this

    SettlingStore(BucketStore store) {
      this.store = store;
    }

    /** Waits for at most a minute. Histories settle after each step, so this does not poll. */
    synchronized void settle() {
      long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
      while (inFlight > 0) {
        long leftNanos = end - System.nanoTime();
        if (leftNanos <= 0) {
          throw new AssertionError(inFlight + " calls of the store have not ended after a minute");
        }
        try {
          TimeUnit.NANOSECONDS.timedWait(this, leftNanos);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new IllegalStateException(e);
        }
      }
    }

    private synchronized void began() {
      inFlight++;
    }

    private synchronized void ended() {
      inFlight--;
      notifyAll();
    }

    private CompletionStage<List<Reading>> followed(CompletionStage<List<Reading>> charged) {
      CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
      Stages.onEnd(
          charged,
          (readings, failure) -> {
            boolean first =
                failure == null ? answer.complete(readings) : answer.completeExceptionally(failure);
            if (first) {
              ended();
            }
          });
      Stages.onEnd(
          answer,
          (readings, failure) -> {
            if (answer.isCancelled()) {
              charged.toCompletableFuture().cancel(false);
              ended();
            }
          });
      return answer;
    }

    private CompletionStage<List<Reading>> counted(Supplier<CompletionStage<List<Reading>>> call) {
      began();
      try {
        return followed(call.get());
      } catch (RuntimeException | Error e) {
        ended();
        throw e;
      }
    }

    @Override
    public boolean answersAtOnce() {
      return store instanceof DirectStore direct && direct.answersAtOnce();
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return store.charge(charges);
    }

    @Override
    public List<Reading> charge(List<Charge> charges, Tentative tentative) {
      return store.charge(charges, tentative);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return counted(() -> store.chargeAsync(charges));
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
      return counted(() -> store.chargeAsync(charges, tentative));
    }

    @Override
    public @Nullable Buckets buckets(String prefix) {
      return store instanceof DirectStore direct ? direct.buckets(prefix) : null;
    }

    @Override
    public void ping() {
      store.ping();
    }

    @Override
    public long clockSkewNanos() {
      return store.clockSkewNanos();
    }

    @Override
    public OptionalLong nowNanos() {
      return store.nowNanos();
    }

    @Override
    public OptionalLong liveBuckets() {
      return store.liveBuckets();
    }

    @Override
    public OptionalLong maxLiveBuckets() {
      return store.maxLiveBuckets();
    }

    @Override
    public void close() {
      store.close();
    }
  }
}
