// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Limit.Resolved;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.DirectStore.BucketPipeline;
import dev.sluice.internal.direct.DirectStore.ReadingMapper;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SpendPipeline;
import dev.sluice.limit.LimitName;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * A Decision consists of four objects, and the engine allocates a dozen more objects to make a
 * Decision. This class allocates none of these objects: it keeps all inputs of its decisions in
 * arrays. In rare cases (a debt, a full store, an observer that reads the Decision), the engine
 * decides instead, in the order of the spends.
 */

/** Decides a series of spends in memory without allocating decisions. For one thread. */
final class LimitPipeline implements SpendPipeline, ReadingMapper<Boolean>, LimiterObserver.Spent {

  private static final byte[] NONE = {};

  private final Engine engine;
  private final Supplier<Resolved> limit;
  private final byte[][] arrays = new byte[CAPACITY][];
  private final int[] starts = new int[CAPACITY];
  private final int[] lengths = new int[CAPACITY];
  private final @Nullable Quota[] quotas = new @Nullable Quota[CAPACITY];
  private final long[] costs = new long[CAPACITY];
  private final @Nullable Effect[] effects = new @Nullable Effect[CAPACITY];
  private final long[] nowNanos = new long[CAPACITY];
  private final long[] tatNanos = new long[CAPACITY];
  private final @Nullable Decision[] decisions = new @Nullable Decision[CAPACITY];
  private final @Nullable RuntimeException[] failures = new @Nullable RuntimeException[CAPACITY];
  // Indexes of the spends that the memory store can decide without the engine.
  private final int[] plain = new int[CAPACITY];
  private int plains;
  private @Nullable Resolved resolved; // the limits for the added spends
  private @Nullable BucketPipeline buckets; // the buckets of the resolved limit
  private int size;
  private int at; // index of the spend that is being charged

  private final IdBytes id = new IdBytes(); // the id of the spend that is being added

  // The latest effect is cached, since consecutive spends usually have the same quota and cost.
  private @Nullable Quota lastQuota;
  private long lastCost;
  private @Nullable Effect lastEffect;

  LimitPipeline(Engine engine, Supplier<Resolved> limit) {
    this.engine = engine;
    this.limit = limit;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public void clear() {
    size = 0;
  }

  @Override
  public boolean add(byte[] bytes, int from, int length, @Nullable Quota quota, long cost) {
    Resolved now = begun();
    Quota spent = quota == null ? now.effective().onlyQuota() : quota;
    if (spent == null || cost < 0 || cost > spent.burst() || now.hasExceptions()) {
      return false;
    }
    boolean ascii = id.set(bytes, from, length);
    if (!ascii || !now.name().id().isCanonical(id.bytes(), id.length())) {
      return false;
    }
    Objects.requireNonNull(buckets).add(id);
    arrays[size] = bytes;
    starts[size] = from;
    lengths[size] = length;
    quotas[size] = spent;
    costs[size] = cost;
    effects[size] = effect(spent, cost);
    size++;
    return true;
  }

  /**
   * Returns the limit as it was at the first spend of the series, so that all spends of the series
   * use the same limits.
   */
  @SuppressWarnings("ReferenceEquality") // nearly always the same object as for the previous spend
  private Resolved begun() {
    Resolved now = resolved;
    if (size == 0) {
      Resolved last = now;
      now = limit.get();
      if (now != last) {
        resolved = now;
        buckets = Objects.requireNonNull(now.buckets()).pipeline(CAPACITY);
      }
      Objects.requireNonNull(buckets).clear();
    }
    return Objects.requireNonNull(now);
  }

  // Compares references: an equal quota in another object only causes a second computation.
  @SuppressWarnings("ReferenceEquality")
  private Effect effect(Quota quota, long cost) {
    Effect effect = lastEffect;
    if (effect == null || quota != lastQuota || cost != lastCost) {
      effect = Effect.of(Effect.Op.SPEND, quota.incrementNanos(cost), quota.offsetNanos());
      lastQuota = quota;
      lastCost = cost;
      lastEffect = effect;
    }
    return effect;
  }

  @Override
  public void decide(Outcome outcome) {
    try {
      long start = engine.store().start();
      charge(start);
      if (plains > 0) {
        engine.observed(name(), this, engine.store().start() - start);
      }
      for (int i = 0; i < size; i++) {
        tell(outcome, i);
      }
    } finally {
      forget();
    }
  }

  private void charge(long start) {
    BucketPipeline asked = Objects.requireNonNull(buckets);
    plains = 0;
    int charged = 0;
    for (at = 0; at < size; at++) {
      Effect effect = Objects.requireNonNull(effects[at]);
      try {
        asked.charge(at, effect, this);
        asked.notBefore(nowNanos[at]);
        charged++;
        if (isInDebt(at)) {
          // The engine decides whether to forgive the bucket's debt.
          decisions[at] = engine.decide(Act.SPEND, transaction(at));
        } else {
          plain[plains++] = at;
        }
      } catch (StoreException e) {
        fail(e, start);
      }
    }
    if (charged > 0) {
      engine.store().stored(Act.SPEND, charged, null, start);
    }
  }

  private void fail(StoreException failure, long start) {
    engine.store().stored(Act.SPEND, 1, failure, start);
    try {
      Decision decision = engine.onFailure(Act.SPEND, transaction(at), failure);
      engine.observed(decision, start);
      decisions[at] = decision;
    } catch (StoreException e) {
      failures[at] = e;
    }
  }

  @Override
  public Boolean of(@Nullable String id, Effect effect, long now, long tat) {
    nowNanos[at] = now;
    tatNanos[at] = tat;
    return true;
  }

  private boolean isInDebt(int index) {
    Quota quota = Objects.requireNonNull(quotas[index]);
    return Objects.requireNonNull(effects[index]).isInDebt(nowNanos[index], tatNanos[index])
        && Gcra.aheadNanos(nowNanos[index], tatNanos[index])
            > Objects.requireNonNull(resolved).depthNanos(quota);
  }

  private void tell(Outcome outcome, int index) {
    RuntimeException failure = failures[index];
    Decision decision = decisions[index];
    Quota quota = Objects.requireNonNull(quotas[index]);
    if (failure != null) {
      outcome.failed(index, failure);
    } else if (decision != null && decision.degraded()) {
      outcome.degraded(
          index,
          decision.decidedBy().word(),
          quota,
          decision.allowed(),
          decision.remaining(),
          decision.retryInNanos(),
          decision.resetInNanos());
    } else if (decision != null) {
      outcome.decided(
          index,
          quota,
          decision.allowed(),
          decision.remaining(),
          decision.retryInNanos(),
          decision.resetInNanos());
    } else {
      Answer answer = answer(index);
      outcome.decided(
          index,
          quota,
          answer.allowed(),
          answer.remaining(),
          answer.retryInNanos(),
          answer.resetInNanos());
    }
  }

  private Answer answer(int index) {
    return Answer.ofSpend(
        Objects.requireNonNull(effects[index]),
        Objects.requireNonNull(quotas[index]),
        nowNanos[index],
        tatNanos[index]);
  }

  // The methods of LimiterObserver.Spent, which an observer calls

  @Override
  public int count() {
    return plains;
  }

  @Override
  public boolean allowed(int observed) {
    int index = plain[observed];
    return Objects.requireNonNull(effects[index]).fits(nowNanos[index], tatNanos[index]);
  }

  @Override
  public boolean startedBucket(int observed) {
    int index = plain[observed];
    return costs[index] > 0
        && Long.compareUnsigned(tatNanos[index], nowNanos[index]) <= 0
        && allowed(observed);
  }

  @Override
  public Decision decision(int observed) {
    int index = plain[observed];
    return Decision.of(Act.SPEND, transaction(index), answer(index));
  }

  private Transaction transaction(int index) {
    EffectiveQuota own = Objects.requireNonNull(resolved).effective();
    Quota quota = Objects.requireNonNull(quotas[index]);
    EffectiveQuota effective =
        quota.equals(own.quota()) ? own : EffectiveQuota.ofCaller(name(), quota);
    String text =
        new String(arrays[index], starts[index], lengths[index], StandardCharsets.US_ASCII);
    return Transaction.of(effective, text, costs[index]);
  }

  private LimitName name() {
    return Objects.requireNonNull(resolved).name();
  }

  private void forget() {
    for (int i = 0; i < size; i++) {
      decisions[i] = null;
      failures[i] = null;
      arrays[i] = NONE;
    }
    size = 0;
  }
}
