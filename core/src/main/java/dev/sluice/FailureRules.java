// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Decision.DecidedBy;
import dev.sluice.FailureRule.Kind;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Reservation.Present;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides in place of a failed store, by each limit's failure rule. If a rule denies a transaction
 * of a batch, nothing is spent in this process's memory. Thread-safe; blocks only briefly.
 */
final class FailureRules {

  /** How many buckets of this process's memory can be in use at once. */
  static final long MOST_BUCKETS = 1_000_000;

  private final FailureRule otherwise;
  private final Map<String, FailureRule> byLimit;
  private final TimeSource time;
  private final TrackedStore memory;
  private final IntSupplier processes;
  private final long mostBuckets;

  FailureRules(
      FailureRule otherwise,
      Map<String, FailureRule> byLimit,
      TimeSource time,
      IntSupplier processes,
      long mostBuckets) {
    this.otherwise = otherwise;
    this.byLimit = Map.copyOf(byLimit);
    this.time = time;
    this.memory = new TrackedStore(BucketStore.inMemory(time, mostBuckets), Engine.NOBODY, time);
    this.processes = processes;
    this.mostBuckets = mostBuckets;
  }

  /** Returns the rules for one call, in which the number of processes does not change. */
  OneCall now() {
    return new OneCall(processes.getAsInt());
  }

  boolean alwaysFail() {
    return otherwise.kind() == Kind.FAIL && byLimit.isEmpty();
  }

  int waiting() {
    return memory.waitQueues().size();
  }

  /** The failure rules, with the number of processes at the start of one call. Thread-safe. */
  final class OneCall {

    private final int processesNow;

    private OneCall(int processesNow) {
      this.processesNow = processesNow;
    }

    private FailureRule ruleOf(Transaction transaction) {
      return byLimit.getOrDefault(transaction.name().name(), otherwise).during(processesNow);
    }

    /** Returns the decisions; throws the failure for a {@link FailureRule#fail}. */
    List<Decision> decide(Plan plan, StoreException failure) {
      if (!plan.isUpToOfSeveral()) {
        return decided(plan, failure);
      }
      long least = Long.MAX_VALUE;
      for (Transaction transaction : plan.transactions()) {
        Quota share = localShare(transaction);
        least = share == null ? least : Math.min(least, share.burst());
      }
      Plan next = plan.upTo(Math.min(least, plan.transactions().get(0).cost()));
      while (true) {
        List<Decision> decisions = decided(next, failure);
        Plan fewer = next.withWhatFits(decisions);
        if (fewer == null) {
          return decisions;
        }
        next = fewer;
      }
    }

    private List<Decision> decided(Plan plan, StoreException failure) {
      long nowNanos = time.nanos();
      List<Charge> charges = charges(plan, failure, nowNanos);
      return decisions(plan, readings(plan, charges, failure), nowNanos);
    }

    private List<Reading> readings(Plan plan, List<Charge> charges, StoreException failure) {
      try {
        return memory.readings(plan.act(), charges, depths(plan));
      } catch (StoreException full) {
        throw noRoom(failure);
      }
    }

    private StoreException noRoom(StoreException failure) {
      return new StoreException(
          "%s; the failure rule local has no room: it keeps at most %s buckets that are not full"
              .formatted(failure.getMessage(), mostBuckets),
          failure);
    }

    /** Decides on a spend that can wait; the caller waits for tokens in this process's memory. */
    PendingAcquire acquire(
        Plan plan,
        StoreException failure,
        Function<List<Decision>, Decision> verdict,
        LimiterObserver observer) {
      long nowNanos = time.nanos();
      List<Charge> charges = charges(plan, failure, nowNanos);
      long askedNanos = memory.waitQueues().asks();
      List<Reading> readings = readings(plan, charges, failure);
      return new PendingAcquire(
          verdict.apply(decisions(plan, readings, nowNanos)),
          memory.waitQueues(),
          plan.taken(charges, readings, this::localShare),
          askedNanos,
          observer);
    }

    private Debts.Depths depths(Plan plan) {
      return plan.depths(this::localShare);
    }

    /** Decides on a reservation whose tokens are in this process's memory. */
    Reservation reserve(
        CurrentLimits limits,
        Plan plan,
        StoreException failure,
        Function<List<Decision>, Decision> verdict) {
      long nowNanos = time.nanos();
      List<Charge> charges = charges(plan, failure, nowNanos);
      return TrackedStore.result(
          memory.hold(
              memory.blockingCall(),
              charges,
              depths(plan),
              holding ->
                  new Reservation(
                      memory,
                      t -> presentShare(limits, t),
                      verdict.apply(decisions(plan, holding.readings(), nowNanos)),
                      Reservation.Taken.all(plan.transactions(), this::localShare, holding)),
              full -> {
                var unused = Engine.storeException(full);
                throw noRoom(failure);
              }));
    }

    /** Returns the share of the quota for a local decision, null if the rule is not local. */
    private @Nullable Quota localShare(Transaction transaction) {
      Quota quota = Plan.limiting(transaction);
      return quota != null && kindFor(transaction, quota) == Kind.LOCAL
          ? share(transaction, quota)
          : null;
    }

    private @Nullable Present presentShare(CurrentLimits limits, Transaction transaction) {
      Present now = Present.of(limits.get(), transaction);
      return now == null ? null : new Present(share(transaction, now.quota()), now.debt());
    }

    /** Returns the charges for the buckets in this process's memory. */
    private List<Charge> charges(Plan plan, StoreException failure, long nowNanos) {
      if (plan.act() != Act.CHECK && plan.act() != Act.SPEND) {
        throw failure;
      }
      boolean passes = true;
      List<Charge> charges = new ArrayList<>();
      for (int i = 0; i < plan.transactions().size(); i++) {
        Transaction transaction = plan.transactions().get(i);
        Quota quota = Plan.limiting(transaction);
        if (quota == null) {
          continue;
        }
        boolean penalized = plan.penalties().at(i, nowNanos) != null;
        passes &= !(penalized && Penalties.denies(transaction));
        switch (kindFor(transaction, quota)) {
          case FAIL -> throw failure;
          case ALLOW -> {}
          case DENY -> passes &= transaction.kind() == Transaction.Kind.SPEND_ONLY;
          case LOCAL, LOCAL_AUTO -> {
            Charge charge = charge(plan, transaction, quota);
            charges.add(penalized ? reading(charge) : charge);
          }
        }
      }
      return passes ? charges : charges.stream().map(OneCall::reading).toList();
    }

    private static Charge reading(Charge charge) {
      return new Charge(charge.key(), Effect.of(Effect.Op.CHECK, 0, charge.offsetNanos()));
    }

    /**
     * Returns the decisions.
     *
     * @param nowNanos the time that was passed to {@link #charges}: at a later time, a penalty may
     *     have ended, and a spend that the penalty prevented would be reported as allowed
     */
    private List<Decision> decisions(Plan plan, List<Reading> readings, long nowNanos) {
      List<Decision> decisions = new ArrayList<>();
      int next = 0;
      for (int i = 0; i < plan.transactions().size(); i++) {
        Transaction transaction = plan.transactions().get(i);
        Quota quota = Plan.limiting(transaction);
        if (quota == null) {
          decisions.add(Decision.of(plan.act(), transaction, Answer.UNLIMITED));
          continue;
        }
        Kind kind = kindFor(transaction, quota);
        // The rule `deny` also denies a cost of 0, so skip a penalty, which would allow this cost.
        boolean denies = kind == Kind.DENY && transaction.cost() == 0;
        Penalty penalty = denies ? null : plan.penalties().at(i, nowNanos);
        Reading found = kind == Kind.LOCAL ? readings.get(next++) : null;
        if (penalty != null) {
          decisions.add(penalized(plan.act(), transaction, penalty, nowNanos).by(DecidedBy.LOCAL));
        } else if (found != null) {
          Quota share = share(transaction, quota);
          decisions.add(
              plan.spent(transaction.heldTo(share), share, plan.effect(transaction, share), found)
                  .by(DecidedBy.LOCAL));
        } else {
          boolean allows = kind == Kind.ALLOW;
          decisions.add(
              Decision.of(plan.act(), transaction, Answer.ofRule(allows, nowNanos))
                  .by(allows ? DecidedBy.ALLOW : DecidedBy.DENY));
        }
      }
      return plan.asHappened(decisions, this::localShare);
    }

    /** Returns the decision under a penalty; uses this process's clock, since the store failed. */
    private Decision penalized(Act act, Transaction transaction, Penalty penalty, long nowNanos) {
      return Decision.of(
          act,
          transaction,
          Answer.ofPenalty(penalty.untilNanos(), transaction.cost(), nowNanos),
          penalty);
    }

    /** Returns which kind of rule applies; {@code DENY} if the cost exceeds the local share. */
    private Kind kindFor(Transaction transaction, Quota quota) {
      Kind kind = ruleOf(transaction).kind();
      return kind == Kind.LOCAL
              && !transaction.isUpTo()
              && transaction.cost() > share(transaction, quota).burst()
          ? Kind.DENY
          : kind;
    }

    private Quota share(Transaction transaction, Quota quota) {
      int processes = ruleOf(transaction).processes();
      long burst = Math.max(quota.burst() / processes, 1);
      BigInteger period =
          BigInteger.valueOf(quota.period().toNanos()).multiply(BigInteger.valueOf(processes));
      // If a share of the bucket would take more than 292 years to fill, its rate is the slowest
      // rate that fits into 64 bits.
      BigInteger longest =
          BigInteger.valueOf(Long.MAX_VALUE)
              .divide(BigInteger.valueOf(burst))
              .multiply(BigInteger.valueOf(quota.count()))
              .min(BigInteger.valueOf(Long.MAX_VALUE));
      return Quota.burst(burst)
          .refill(quota.count(), Duration.ofNanos(period.min(longest).longValueExact()));
    }

    private Charge charge(Plan plan, Transaction transaction, Quota quota) {
      Quota share = share(transaction, quota);
      return new Charge(transaction.bucketKey(), plan.effect(transaction, share));
    }
  }
}
