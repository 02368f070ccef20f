// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/*
 * Why a lease never grants too many tokens.
 *
 * A lease spends k tokens at once, and hands them out later. Let a token be spent at t and handed
 * out at t' > t. This has the same effect as a spend at t', unless the bucket would have been full
 * in between. A full bucket discards tokens that refill, but a bucket that lacks k tokens keeps the
 * tokens that refill.
 *
 * On the time line, a spend takes a stretch of k emission intervals that ends at the TAT after the
 * spend (see the essay in OpenReservations). Each token takes one interval. The oldest token
 * refills first:
 *
 *         now                                  TAT
 *   ───────┼──┬───┬───┬───┬───┬────────────────┼──▶ time
 *          │  │ 0 │ 1 │ 2 │ 3 │ later spends   │
 *
 * Until a token's interval begins, the bucket lacks at least this token, so the bucket has
 * discarded nothing. When the interval has begun, the token refills, and handing the token out
 * would grant a token twice. So token j can be handed out until its interval begins. If a bucket is
 * used below its rate, every token but the first one expires, and a lease has no benefit. If a
 * bucket is used above its rate, its TAT is far ahead, and the tokens last.
 *
 * Refunds and resets through this limiter move the stretch like the stretch of a reservation.
 *
 * If the quota changes, the length of the emission interval changes, so tokens taken under the old
 * quota cannot be handed out. These tokens are given back like the tokens of a reservation whose
 * limit has changed. If the limit has become unlimited, its name was removed, or the limit no longer
 * accepts the id, the tokens are given back under the old quota, so that the bucket has these
 * tokens when the limit applies again.
 */

/**
 * A lease on one bucket that many threads use at the same time: takes several tokens from the store
 * at once, and hands these tokens out in this process.
 *
 * <p>For a limit with several quotas, a lease spends one token at a time, so it has no benefit.
 *
 * <p>A lease never grants more than the limit allows. A lease can deny a thread while the lease
 * holds tokens for other threads. A lease has fewer than four shares per processor; each share
 * holds up to {@code tokens} tokens for some of the threads. Observers see one decision each time
 * that the lease takes tokens from the store, is denied, or a failure rule decides. When the limits
 * are replaced, tokens that the lease holds stay valid if the quota of the id is unchanged;
 * otherwise the tokens that have not refilled are given back.
 *
 * <p>Thread-safe. {@link #trySpend} blocks like a spend when it takes new tokens; {@link #close}
 * blocks like a refund.
 */
public final class Lease implements AutoCloseable {

  private final Engine engine;
  private final CurrentLimits limits;
  private final Function<Limits, Transaction> source; // returns the transaction for given limits
  private final int tokens;
  private final LongSupplier ticker;
  private final Share[] shares;

  Lease(
      Engine engine,
      CurrentLimits limits,
      Function<Limits, Transaction> source,
      int tokens,
      LongSupplier ticker,
      int threads) {
    if (tokens < 1) {
      throw new IllegalArgumentException("tokens: found " + tokens + ", expected at least 1");
    }
    Transaction unused = source.apply(limits.get()); // throws for a bad name or id
    this.engine = engine;
    this.limits = limits;
    this.source = source;
    this.tokens = tokens;
    this.ticker = ticker;
    this.shares = new Share[Integer.highestOneBit(Math.max(threads, 1) * 2 - 1)];
    for (int i = 0; i < shares.length; i++) {
      shares[i] = new Share();
    }
  }

  /**
   * Spends one token if one is available.
   *
   * @return true if the tokens were spent
   * @throws UnknownLimitException if the limits were replaced and no longer have the name
   * @throws MissingDefaultException if the limits were replaced and no longer have a default
   * @throws InvalidIdException if the limits were replaced and the limit no longer accepts the id
   * @throws InvalidRequestException if the limits were replaced and another limit now has the
   *     number or the name of a limit that is not in the catalogue
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpend() {
    long thread = Thread.currentThread().getId() * 0x9E3779B97F4A7C15L;
    Share share = shares[(int) (thread >>> 32) & (shares.length - 1)];
    Held held = share.held;
    return (held != null && limits.isStill(held.limits) && held.take(ticker.getAsLong()))
        || share.renew();
  }

  /**
   * Gives back the tokens that were not handed out, except tokens that have refilled since. Ends
   * within one time-out of the store; tokens that could not be given back by then stay spent. A
   * closed lease can be used again.
   */
  @Override
  public void close() {
    BucketStore call = engine.store().blockingCall(); // one time-out for all shares
    StoreException failure = null;
    for (Share share : shares) {
      try {
        share.giveBack(call);
      } catch (StoreException e) { // tokens of the other shares must still be given back
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** One of the lease's shares: holds tokens for a fixed part of the threads. */
  private final class Share {
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Held held;

    /** Takes new tokens from the store, whose time-out includes the wait for this share's lock. */
    boolean renew() {
      BucketStore call = engine.store().blockingCall();
      lock.lock();
      try {
        Held last = held;
        Limits now = limits.get();
        Transaction one = source.apply(now);
        Quota quota = one.quota();
        // Held tokens must not bypass a penalty, and a lease holds tokens of one bucket only.
        if (Penalties.of(now, one) != null || one.isSeveral()) {
          drop(call, last, false, quota);
          return engine.decideWithin(call, Act.SPEND, one).allowed();
        }
        boolean sameQuota = last != null && last.moveTo(now, one);
        if (last != null && sameQuota && last.take(ticker.getAsLong())) {
          // No charge is needed: another thread took tokens, or the new limits have the same quota.
          return true;
        }
        drop(call, last, sameQuota, quota);
        if (quota == null) {
          engine.requireUsable(List.of(one));
          return true;
        }
        long wanted = Math.min(tokens, quota.burst());
        return spendAsManyAsThereAre(call, now, one, quota, wanted);
      } finally {
        lock.unlock();
      }
    }

    /**
     * Spends {@code wanted} tokens, or all tokens of a bucket that has fewer. If other callers take
     * tokens of the bucket at the same time, spends only one token.
     */
    private boolean spendAsManyAsThereAre(
        BucketStore call, Limits now, Transaction one, Quota quota, long wanted) {
      long found = spend(call, now, one.withCost(wanted), quota);
      if (found == wanted || found == 0) {
        return found > 0;
      }
      long left = spend(call, now, one.withCost(found), quota);
      return left == found || (left > 0 && spend(call, now, one, quota) == 1);
    }

    /** Spends all of the transaction's tokens or none. */
    private long spend(BucketStore call, Limits now, Transaction transaction, Quota quota) {
      long wanted = transaction.cost();
      Plan plan = Plan.unpenalized(now, Act.SPEND, transaction);
      long start = engine.store().start();
      long before = ticker.getAsLong();
      return TrackedStore.result(
          engine
              .store()
              .hold(
                  call,
                  plan.charges(),
                  plan.depths(),
                  holding -> {
                    Reading reading = holding.readings().get(0);
                    Stretch stretch = holding.stretches().get(0);
                    Decision decision = plan.decide(List.of(reading)).get(0);
                    if (decision.allowed() || decision.remaining() == 0) {
                      engine.observed(decision, start); // otherwise a smaller spend follows
                    }
                    if (stretch == null) {
                      return decision.remaining();
                    }
                    String key = transaction.bucketKey();
                    long storeMinusTicker = reading.nowNanos() - before;
                    held = new Held(now, key, quota, stretch, (int) wanted, storeMinusTicker);
                    return wanted;
                  },
                  failure -> {
                    StoreException e = Engine.storeException(failure);
                    Transaction token = transaction.withCost(1);
                    Decision decision = engine.onFailure(Act.SPEND, token, e);
                    engine.observed(decision, start);
                    return decision.allowed() ? wanted : 0;
                  }));
    }

    /** Stops holding tokens; if the quota changed, gives back those that have not refilled. */
    private void drop(
        BucketStore call, @Nullable Held last, boolean sameQuota, @Nullable Quota quota) {
      held = null;
      if (last == null) {
        return;
      }
      if (sameQuota) {
        last.end();
        return;
      }
      GiveBack refund = last.leave(quota);
      if (refund != null) {
        try {
          TrackedStore.result(engine.store().giveBack(call, List.of(refund)));
        } catch (StoreException e) {
          // The refund failed, so its tokens stay spent; a later spend reports a store that is
          // down.
        }
      }
    }

    /**
     * Returns the current quota, null if the limits no longer limit or accept the name and the id.
     */
    private @Nullable Quota present() {
      try {
        return source.apply(limits.get()).quota();
      } catch (InvalidRequestException e) {
        return null;
      }
    }

    void giveBack(BucketStore call) {
      lock.lock();
      try {
        Held last = held;
        held = null;
        if (last == null) {
          return;
        }
        GiveBack refund = last.leave(present());
        if (refund != null) {
          TrackedStore.result(engine.store().giveBack(call, List.of(refund)));
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /**
   * The tokens that one spend took from the store, and that this share holds. Token 0 is taken
   * already; {@code next} is the next token's index.
   */
  private final class Held {
    private final String bucketKey;
    private final Quota quota;
    private final Stretch stretch;
    private final int count;
    // The store's time minus this process's time, which was read first: so never too small.
    private final long storeMinusTicker;
    private final AtomicInteger next = new AtomicInteger(1);
    private volatile Limits limits; // the last limits known to have this quota for the bucket

    Held(
        Limits limits,
        String bucketKey,
        Quota quota,
        Stretch stretch,
        int count,
        long storeMinusTicker) {
      this.limits = limits;
      this.bucketKey = bucketKey;
      this.quota = quota;
      this.stretch = stretch;
      this.count = count;
      this.storeMinusTicker = storeMinusTicker;
    }

    /** Accepts new limits if they have the same quota for the same bucket. */
    boolean moveTo(Limits now, Transaction one) {
      if (!quota.equals(one.quota()) || !bucketKey.equals(one.bucketKey())) {
        return false;
      }
      limits = now;
      return true;
    }

    /** Hands out the first held token that has not begun to refill in the bucket. */
    boolean take(long tickerNanos) {
      long nowNanos = tickerNanos + storeMinusTicker;
      while (true) {
        int candidate = next.get();
        int first = Math.max(candidate, firstAfter(nowNanos));
        if (first >= count) {
          return false;
        }
        if (next.compareAndSet(candidate, first + 1)) {
          return true;
        }
      }
    }

    private int firstAfter(long nowNanos) {
      long untilNanos = stretch.untilNanos();
      if (Long.compareUnsigned(untilNanos, nowNanos) <= 0) {
        return count;
      }
      // Each whole emission interval until untilNanos belongs to a token that is not yet refilling.
      long leftNanos = untilNanos - nowNanos;
      return (int) Math.max(count - Long.divideUnsigned(leftNanos, quota.intervalNanos()), 0);
    }

    /** Ends the tracking of the held tokens, which were all handed out or have refilled. */
    void end() {
      next.set(count);
      engine.store().reservations().close(stretch);
    }

    /**
     * Ends the tracking of the held tokens, and returns a refund of the tokens that were not handed
     * out. After this call, none of the held tokens can be handed out.
     *
     * @param present the current quota, which bounds the refund; null if no limit applies now, so
     *     that the quota of the spend bounds the refund
     */
    @Nullable GiveBack leave(@Nullable Quota present) {
      int left = count - Math.min(next.getAndSet(count), count);
      if (left == 0) {
        engine.store().reservations().close(stretch);
        return null;
      }
      Quota now = present == null ? quota : present;
      long shrunkNanos = Math.max(quota.offsetNanos() - now.offsetNanos(), 0);
      long intervalNanos = Math.min(quota.intervalNanos(), now.intervalNanos());
      long worthNanos = intervalNanos * left - shrunkNanos;
      return engine.store().leave(stretch, worthNanos, now.offsetNanos());
    }
  }
}
