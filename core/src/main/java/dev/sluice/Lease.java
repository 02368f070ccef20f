// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.MissingDefaultException;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/*
 * Why a lease never gives out too much.
 *
 * A lease spends k tokens at once, and hands them out later. Let a token be spent at t and handed
 * out at t' > t. It counts as if it had been spent at t', as long as the bucket would not have been
 * full in between. A full bucket lets the tokens that come in go to waste. A bucket that k tokens
 * were taken from in advance would have kept them.
 *
 * On the time line, a spend takes a stretch of k emission intervals, up to the TAT that it leaves
 * behind (see the essay in OpenReservations). Each of its tokens takes one interval. Time takes the
 * oldest first:
 *
 *         now                                  TAT
 *   ───────┼──┬───┬───┬───┬───┬────────────────┼──▶ time
 *          │  │ 0 │ 1 │ 2 │ 3 │ later spends   │
 *
 * While the present has not reached a token's interval, the bucket is short of that token at least,
 * so nothing has gone to waste. From then on the token has been refilled: handing it out as well
 * would give it out twice. So token j may be handed out until its interval begins. If a bucket is
 * asked for less than its rate, every token but the first runs out, and a lease gains nothing. If
 * it is asked for more, its TAT is far ahead, and the tokens last.
 *
 * Refunds and resets through this limiter move the stretch, as they move a reservation's.
 *
 * Under another quota an interval has another length, so the tokens of the old one can't be handed
 * out in its stead. They go back to the store, by the rule of a reservation whose limit changed.
 * Where the limit became unlimited, or its name is gone, they go back as if nothing had changed:
 * the bucket must not lack them when the limit returns.
 */

/**
 * Tokens of one hot bucket, taken some at a time and handed out without asking the store: for a key
 * that many threads ask for at once.
 *
 * <p>Never gives out more than the limit allows. It may deny while others hold tokens: at most
 * {@code tokens} times the number of shares that threads are spread over, which is less than four
 * times the number of processors. Observers see the spends of {@code tokens} tokens each. Where the
 * limits are replaced, what is held stays good as long as the quota of this id is the same.
 * Otherwise what has not been refilled is given back, and new tokens are taken. Where nothing is
 * limited any more, it is given back too.
 *
 * <p>Thread-safe. {@link #trySpend} blocks as a spend does when it takes new tokens; {@link #close}
 * as a refund does.
 */
public final class Lease implements AutoCloseable {

  private final Engine engine;
  private final CurrentLimits limits;
  private final Function<Limits, Transaction> source; // what is spent from under given limits
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
   * Spends one token if it is there.
   *
   * @return true if it was spent
   * @throws UnknownLimitException if the limits were replaced and have no such name any more
   * @throws MissingDefaultException if the limits were replaced and have no default any more
   * @throws StoreException if the store could not decide and no failure rule does
   */
  public boolean trySpend() {
    long thread = Thread.currentThread().getId() * 0x9E3779B97F4A7C15L;
    Share share = shares[(int) (thread >>> 32) & (shares.length - 1)];
    Held held = share.held;
    return (held != null && limits.isStill(held.limits) && held.take(ticker.getAsLong()))
        || share.renew();
  }

  /**
   * Gives back what was taken and not handed out, except what has been refilled since. The lease
   * can be used again afterwards.
   */
  @Override
  public void close() {
    StoreException failure = null;
    for (Share share : shares) {
      try {
        share.giveBack();
      } catch (StoreException e) { // the others' tokens may still find their way back
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** The tokens that some threads hold. */
  private final class Share {
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Held held;

    /** Begins the call before it waits for others who renew: it ends by its own time-out. */
    boolean renew() {
      BucketStore call = engine.ledger().oneCall();
      lock.lock();
      try {
        Held last = held;
        Limits now = limits.get();
        Transaction one = source.apply(now);
        Quota quota = one.quota();
        if (Penalties.of(now, one) != null) { // tokens that are held must not pass it by
          drop(call, last, false, quota);
          return engine.decideWithin(call, Act.SPEND, one).allowed();
        }
        boolean sameQuota = last != null && last.moveTo(now, one);
        if (last != null && sameQuota && last.take(ticker.getAsLong())) {
          return true; // somebody else renewed it, or the limits were replaced by like ones
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

    /** Others may take some in between, or a denial be remembered: in the end one is enough. */
    private boolean spendAsManyAsThereAre(
        BucketStore call, Limits now, Transaction one, Quota quota, long wanted) {
      long found = spend(call, now, one.withCost(wanted), quota);
      if (found == wanted || found == 0) {
        return found > 0;
      }
      long left = spend(call, now, one.withCost(found), quota);
      return left == found || (left > 0 && spend(call, now, one, quota) == 1);
    }

    /** Returns what was spent: all, or nothing and how much could be. */
    private long spend(BucketStore call, Limits now, Transaction transaction, Quota quota) {
      long wanted = transaction.cost();
      Plan plan = Plan.of(now, Act.SPEND, List.of(transaction), Penalties.NONE);
      long before = ticker.getAsLong();
      try {
        return engine
            .ledger()
            .hold(
                call,
                plan.charges(),
                plan.depthNanos(),
                holding -> {
                  Reading reading = holding.readings().get(0);
                  Stretch stretch = holding.stretches().get(0);
                  if (stretch == null) {
                    return plan.decide(List.of(reading)).get(0).remaining();
                  }
                  String key = transaction.bucketKey();
                  long storeMinusTicker = reading.nowNanos() - before;
                  held = new Held(now, key, quota, stretch, (int) wanted, storeMinusTicker);
                  return wanted;
                });
      } catch (StoreException e) {
        return engine.onFailure(Act.SPEND, transaction.withCost(1), e).allowed() ? wanted : 0;
      }
    }

    /** Gives back what can't be handed out under the new quota; the rest has been refilled. */
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
          engine.ledger().giveBack(call, List.of(refund));
        } catch (StoreException e) {
          // The tokens stay spent, which gives out less. The spend that follows meets the failure.
        }
      }
    }

    /** The quota that holds now, null where nothing is limited or the name is gone. */
    private @Nullable Quota present() {
      try {
        return source.apply(limits.get()).quota();
      } catch (UnknownLimitException e) {
        return null;
      }
    }

    void giveBack() {
      lock.lock();
      try {
        Held last = held;
        held = null;
        if (last == null) {
          return;
        }
        GiveBack refund = last.leave(present());
        if (refund != null) {
          engine.ledger().giveBack(engine.ledger().oneCall(), List.of(refund));
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** The tokens of one spend: {@code next} to {@code count}, of which 0 went to the caller. */
  private final class Held {
    private final String bucketKey;
    private final Quota quota;
    private final Stretch stretch;
    private final int count;
    private final long
        storeMinusTicker; // the store's present was read after the ticker: never less
    private final AtomicInteger next = new AtomicInteger(1);
    private volatile Limits limits; // those last seen to have this quota for the bucket

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

    /** Stays good under other limits if they have the same quota for the same bucket. */
    boolean moveTo(Limits now, Transaction one) {
      if (!quota.equals(one.quota()) || !bucketKey.equals(one.bucketKey())) {
        return false;
      }
      limits = now;
      return true;
    }

    /** Hands out the first token whose interval has not begun. */
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
      long leftNanos =
          untilNanos - nowNanos; // of whole intervals up to the end, this many are ahead
      return (int) Math.max(count - Long.divideUnsigned(leftNanos, quota.intervalNanos()), 0);
    }

    /** Settles what was taken: all was handed out, or has been refilled. */
    void end() {
      next.set(count);
      engine.ledger().reservations().close(stretch);
    }

    /**
     * Settles what was taken. Nothing is handed out after this.
     *
     * @param present the quota under which the rest goes back, null for that of the spend: where
     *     nothing is limited now, the bucket waits for a limit to come back
     */
    @Nullable GiveBack leave(@Nullable Quota present) {
      int left = count - Math.min(next.getAndSet(count), count);
      if (left == 0) {
        engine.ledger().reservations().close(stretch);
        return null;
      }
      Quota now = present == null ? quota : present;
      long shrunkNanos = Math.max(quota.offsetNanos() - now.offsetNanos(), 0);
      long intervalNanos = Math.min(quota.intervalNanos(), now.intervalNanos());
      long worthNanos = intervalNanos * left - shrunkNanos;
      return engine.ledger().leave(stretch, worthNanos, now.offsetNanos());
    }
  }
}
