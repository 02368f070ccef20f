// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.internal.text.LogPace;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;

/*
 * Why a debt is forgiven, and why not always.
 *
 * A TAT beyond now + depth is a debt: a limit with a larger tolerance charged the bucket, or a
 * clock stepped back. The depth is τ, and more if callers can wait or debts are declared. A debt
 * could deny an id for hours, so a denied spend lowers the TAT to now + depth (it forgives the
 * debt). But two limits can charge one bucket at the same time, for example in a rolling
 * deployment, or with an override that only one of two servers has loaded. Then the smaller limit
 * forgives a debt, which frees the time τ_big − τ_small; the larger limit spends this time, which
 * makes a new debt. If this could repeat at any rate, the two limits would together grant too many
 * tokens for ever.
 *
 * So a process forgives a debt of a bucket once within each τ, by the store's clock. In that time
 * the two limits together grant at most what the larger limit allows, plus τ_big − τ_small per
 * process with the smaller limit. A further debt is not forgiven, and the denial reports the full
 * wait. If the clock steps back after a debt was forgiven, the next debt lasts for 2τ at most.
 */

/**
 * Forgives the debts of a store's buckets, at most once per bucket within a time equal to the
 * {@linkplain #depthNanos debt depth}. This class remembers a bounded number of forgiven debts; at
 * the bound, no debt is forgiven. The first half of the bound is for all debts, the second half
 * only for debts under quotas that callers did not supply. Thread-safe.
 */
final class Debts {

  /** Supplies the {@linkplain #depthNanos debt depth} of each charge's bucket. */
  @FunctionalInterface
  interface Depths {
    long depthNanos(int charge);

    /** Returns whether the caller supplied the quotas. */
    default boolean ofCaller() {
      return false;
    }
  }

  /** The debt depths for charges that must not forgive a debt, such as the charges of a batch. */
  static final Depths NEVER_FORGIVES = charge -> Long.MAX_VALUE;

  private static final Logger LOG = System.getLogger(Debts.class.getName());

  private static final int MOST = 65_536;

  /** At how many remembered debts no further debt under a caller's quota is forgiven. */
  private static final int MOST_OF_CALLERS = MOST / 2;

  private static final long SCAN_PAUSE_NANOS = 1_000_000_000;

  private final Map<Debt, Long> untilNanos = new ConcurrentHashMap<>();

  /** The store's time at the last scan for debts that can be removed. */
  private final AtomicLong scannedNanos = new AtomicLong(-SCAN_PAUSE_NANOS);

  private final LogPace full = new LogPace(System::nanoTime);
  private final LogPace fullForCallers = new LogPace(System::nanoTime);
  private final SipHash keyedHash;
  private final BiFunction<BucketStore, List<Charge>, CompletionStage<List<Reading>>> charging;
  private final BiFunction<BucketStore, Charge, CompletionStage<List<Reading>>> lowering;
  private final LongSupplier skewNanos;

  /** A hash instead of the key bounds the size; two keys have the same hash once in 2^64. */
  private record Debt(long keyHash, long offsetNanos) {}

  /**
   * Creates an empty memory of forgiven debts.
   *
   * @param charging a function that sends the charges again after their buckets' debts were
   *     forgiven
   * @param lowering a function that sends the charge that forgives a debt
   * @param skewNanos how far clients' clocks can differ, in nanoseconds; a TAT that exceeds the
   *     debt depth by no more than this difference is not a debt
   */
  Debts(
      BiFunction<BucketStore, List<Charge>, CompletionStage<List<Reading>>> charging,
      BiFunction<BucketStore, Charge, CompletionStage<List<Reading>>> lowering,
      LongSupplier skewNanos) {
    this.charging = charging;
    this.lowering = lowering;
    this.skewNanos = skewNanos;
    SecureRandom random = new SecureRandom();
    this.keyedHash = new SipHash(random.nextLong(), random.nextLong());
  }

  /**
   * Returns the debt depth, which is how far a bucket's TAT can lie ahead of now before it counts
   * as a debt: the burst offset, plus the longest wait of callers, plus the declared debt.
   *
   * @param bursts how many bursts the bucket is allowed to owe
   */
  static long depthNanos(LimitName name, Quota quota, int bursts) {
    return sum(withDebtNanos(quota, bursts), nanos(name.longestWait()));
  }

  static long withDebtNanos(Quota quota, int bursts) {
    long offsetNanos = quota.offsetNanos();
    boolean fits = bursts < Long.MAX_VALUE / offsetNanos;
    return fits ? offsetNanos * (1 + bursts) : Long.MAX_VALUE;
  }

  private static long nanos(Duration longestWait) {
    return longestWait.toNanos(); // cannot overflow: LimitName rejects longer waits
  }

  private static long sum(long one, long other) {
    return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
  }

  /**
   * Returns the final readings of a call. For a spend from a bucket in debt, forgives the debt and
   * charges the spend. If the debt cannot be forgiven, the call stays denied. A check, or a spend
   * that costs nothing, forgives no debt and reports the debt.
   *
   * @param charged the readings of the charges
   * @param charges one charge, or one per quota of a limit
   * @param depths the debt depths of the buckets; {@link #NEVER_FORGIVES} for a batch
   */
  CompletionStage<List<Reading>> settled(
      BucketStore call,
      List<Charge> charges,
      CompletionStage<List<Reading>> charged,
      Depths depths) {
    Charge first = charges.get(0);
    boolean mayBeForgivable = // a debt denies only spends and checks
        depths != NEVER_FORGIVES
            && first.op().votes()
            && first.op() != Op.CHECK
            && first.incrementNanos() != 0;
    List<Reading> known = Stages.value(charged);
    if (!mayBeForgivable || (known != null && !haveDebt(known, depths))) {
      return charged;
    }
    return charged.thenCompose(
        found ->
            !haveDebt(found, depths)
                ? charged
                : charges.size() == 1
                    ? settled(call, charges.get(0), found, depths)
                    : settled(call, charges, found, depths));
  }

  private boolean haveDebt(List<Reading> found, Depths depths) {
    for (int i = 0; i < found.size(); i++) {
      if (isDebt(found.get(i), depths.depthNanos(i))) {
        return true;
      }
    }
    return false;
  }

  /** Forgives several buckets' debts if all can be forgiven; else the call stays denied. */
  private CompletionStage<List<Reading>> settled(
      BucketStore call, List<Charge> charges, List<Reading> found, Depths depths) {
    for (int i = 0; i < charges.size(); i++) {
      long depthNanos = depths.depthNanos(i);
      long nowNanos = found.get(i).nowNanos();
      Debt asked = debt(charges.get(i).key(), depthNanos);
      if (isDebt(found.get(i), depthNanos) && !mayForgive(asked, nowNanos, depths.ofCaller())) {
        return CompletableFuture.completedFuture(found);
      }
    }
    CompletionStage<?> done = CompletableFuture.completedFuture(found);
    for (int i = 0; i < charges.size(); i++) {
      String key = charges.get(i).key();
      long depthNanos = depths.depthNanos(i);
      if (isDebt(found.get(i), depthNanos)
          && tryForgive(key, depthNanos, found.get(i).nowNanos(), depths.ofCaller())) {
        Charge forgiving = new Charge(key, Effect.of(Op.FORGIVE, 0, depthNanos));
        done = done.thenCompose(before -> lowered(call, forgiving));
      }
    }
    return done.thenCompose(all -> charging.apply(call, charges))
        .exceptionally(failure -> unforgiven(found, failure));
  }

  private CompletionStage<List<Reading>> settled(
      BucketStore call, Charge charge, List<Reading> found, Depths depths) {
    long depthNanos = depths.depthNanos(0);
    long nowNanos = found.get(0).nowNanos();
    if (!tryForgive(charge.key(), depthNanos, nowNanos, depths.ofCaller())) {
      return CompletableFuture.completedFuture(found);
    }
    return lowered(call, forgiving(charge, depthNanos))
        .thenCompose(
            lowered ->
                spendsToo(charge, depthNanos)
                    ? CompletableFuture.completedFuture(afterForgiving(charge, lowered))
                    : charging.apply(call, List.of(charge)))
        .exceptionally(failure -> unforgiven(found, failure));
  }

  private CompletionStage<List<Reading>> lowered(BucketStore call, Charge forgiving) {
    return lowering
        .apply(call, forgiving)
        .whenComplete(
            (lowered, failure) -> {
              if (failure != null
                  && Stages.cause(failure) instanceof StoreException its
                  && its.chargedNothing()) {
                takeBack(forgiving.key(), forgiving.offsetNanos());
              }
            });
  }

  /** Returns the denied readings if the store failed; rethrows any other failure. */
  private static List<Reading> unforgiven(List<Reading> found, Throwable failure) {
    Throwable cause = Stages.cause(failure);
    if (cause instanceof StoreException) {
      return found;
    }
    throw new CompletionException(cause);
  }

  private boolean isDebt(Reading found, long depthNanos) {
    long aheadNanos = Gcra.aheadNanos(found.nowNanos(), found.tatNanos());
    return aheadNanos > depthNanos && aheadNanos - skewNanos.getAsLong() > depthNanos;
  }

  /** Returns whether one charge can both forgive the debt and spend. */
  private static boolean spendsToo(Charge charge, long depthNanos) {
    return charge.op() == Op.SPEND && charge.offsetNanos() == depthNanos;
  }

  private static Charge forgiving(Charge charge, long depthNanos) {
    long incrementNanos = spendsToo(charge, depthNanos) ? charge.incrementNanos() : 0;
    return new Charge(charge.key(), Effect.of(Op.FORGIVE, incrementNanos, depthNanos));
  }

  /** Returns the reading of a spend after the debt was forgiven. */
  private static List<Reading> afterForgiving(Charge charge, List<Reading> lowered) {
    Reading before = lowered.get(0);
    return charge.effect().isInDebt(before.nowNanos(), before.tatNanos())
        ? List.of(new Reading(before.nowNanos(), before.nowNanos() + charge.offsetNanos()))
        : lowered;
  }

  private Debt debt(String key, long offsetNanos) {
    byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
    byte[] padded = Arrays.copyOf(bytes, bytes.length + Long.BYTES);
    SipHash hash = new SipHash(0, 0).key(keyedHash, padded, bytes.length).end();
    return new Debt(hash.first(), offsetNanos);
  }

  private boolean mayForgive(Debt asked, long nowNanos, boolean ofCaller) {
    Long knownNanos = untilNanos.get(asked);
    return knownNanos == null
        ? hasRoomAt(nowNanos, ofCaller)
        : !isOpen(knownNanos, asked.offsetNanos, nowNanos);
  }

  /** Returns whether a bucket's debt can be forgiven now; if so, records the debt as forgiven. */
  boolean tryForgive(String key, long offsetNanos, long nowNanos, boolean ofCaller) {
    Debt asked = debt(key, offsetNanos);
    if (!mayForgive(asked, nowNanos, ofCaller)) {
      return false;
    }
    boolean[] may = new boolean[1];
    untilNanos.compute(
        asked,
        (debt, lastEndNanos) -> {
          may[0] = lastEndNanos == null || !isOpen(lastEndNanos, offsetNanos, nowNanos);
          return may[0] ? Long.valueOf(nowNanos + offsetNanos) : lastEndNanos; // unsigned, as a TAT
        });
    return may[0];
  }

  /** Reverts {@link #tryForgive} for a debt that was certainly not forgiven. */
  void takeBack(String key, long offsetNanos) {
    untilNanos.remove(debt(key, offsetNanos));
  }

  /**
   * Returns whether a bucket whose debt was forgiven must still wait before a further debt is
   * forgiven. A wait that would end more than two debt depths from now is ignored: the clock must
   * have stepped back, and the wait would be as long as the step. Only waits of more than two debt
   * depths are ignored, not of more than one, because concurrent calls can be processed out of
   * order.
   */
  private static boolean isOpen(long endNanos, long offsetNanos, long nowNanos) {
    return Long.compareUnsigned(endNanos, nowNanos) > 0
        && Long.compareUnsigned(endNanos - nowNanos, 2 * offsetNanos) <= 0;
  }

  private boolean hasRoomAt(long nowNanos, boolean ofCaller) {
    int most = ofCaller ? MOST_OF_CALLERS : MOST;
    if (untilNanos.size() < most) {
      return true;
    }
    long lastNanos = scannedNanos.get();
    // A clock that stepped back does not delay the next scan.
    if (Math.abs(nowNanos - lastNanos) >= SCAN_PAUSE_NANOS
        && scannedNanos.compareAndSet(lastNanos, nowNanos)) {
      untilNanos
          .entrySet()
          .removeIf(debt -> !isOpen(debt.getValue(), debt.getKey().offsetNanos, nowNanos));
    }
    boolean hasRoom = untilNanos.size() < most;
    String leftOut = hasRoom ? null : (ofCaller ? fullForCallers : full).next();
    if (leftOut != null) {
      LOG.log(
          Level.WARNING,
          "a bucket's debt was not forgiven, so its denials report the whole debt: this process remembers %s forgiven debts, too many to forgive another%s%s"
              .formatted(
                  untilNanos.size(),
                  ofCaller ? " under a quota that a caller supplied" : "",
                  leftOut));
    }
    return hasRoom;
  }
}
