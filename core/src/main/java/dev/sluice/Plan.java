// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction.Kind;
import dev.sluice.WaitQueues.Place;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A plan converts the transactions of one request into charges for the store, and the store's
 * readings into decisions. The synchronous and the asynchronous limiter share this class.
 *
 * @param act the operation: check, spend, refund or reset
 * @param asked the transactions of the request, in order
 * @param transactions the transactions of the request, but with one transaction per quota for a
 *     limit with several quotas
 * @param charges the charges for the store, in the order of the transactions that need a charge;
 *     empty if no store call is needed
 * @param maxWaitNanos how long a spend is allowed to wait for tokens
 * @param penalties the penalties on the transactions
 * @param debt the declared debt in bursts, if the request has only one transaction
 */
record Plan(
    Act act,
    List<Transaction> asked,
    List<Transaction> transactions,
    List<Charge> charges,
    long maxWaitNanos,
    Penalties penalties,
    int debt)
    implements Debts.Depths {

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  /**
   * Makes a plan.
   *
   * @param limits the current limits, with the declared debts and penalties
   */
  static Plan of(Limits limits, Act act, List<Transaction> asked) {
    return of(limits, act, asked, 0, true);
  }

  /** Makes a plan that ignores penalties. */
  static Plan unpenalized(Limits limits, Act act, Transaction asked) {
    return of(limits, act, List.of(asked), 0, false);
  }

  /**
   * Makes a plan for a spend that is allowed to wait.
   *
   * @throws InvalidRequestException if the wait is negative, or a limit allows no waiting
   */
  static Plan ofAcquire(Limits limits, List<Transaction> asked, Duration maxWait) {
    if (Objects.requireNonNull(maxWait, "maxWait").isNegative()) {
      throw new InvalidRequestException(
          Field.MAX_WAIT, "maxWait: found " + maxWait + ", expected zero or more");
    }
    for (Transaction transaction : asked) {
      if (!maxWait.isZero() && transaction.name().longestWait().isZero()) {
        throw new InvalidRequestException(
            Field.MAX_WAIT,
            "callers are not allowed to wait for tokens of %s; declare the limit's longest wait with LimitName.builder(…).longestWait(…)"
                    .formatted(transaction.name())
                + " or longestWait in the limit file, in every process that shares the limit's buckets");
      }
    }
    return of(limits, Act.SPEND, asked, nanos(maxWait), true);
  }

  private static long nanos(Duration duration) {
    return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : Long.MAX_VALUE;
  }

  private static Plan of(
      Limits limits, Act act, List<Transaction> given, long maxWaitNanos, boolean mayBePenalized) {
    List<Transaction> asked = List.copyOf(given);
    List<Transaction> transactions = oneForEachQuota(act, asked);
    Penalties penalties = mayBePenalized ? Penalties.of(limits, act, transactions) : Penalties.NONE;
    List<Charge> charges = new ArrayList<>(transactions.size());
    Set<String> keys = transactions.size() == 1 ? null : new HashSet<>();
    for (Transaction transaction : transactions) {
      Charge charge = charge(act, transaction, maxWaitNanos);
      if (charge == null) {
        continue;
      }
      if (keys != null && !keys.add(charge.key())) {
        throw new InvalidRequestException(
            Field.TRANSACTIONS,
            "two transactions of the batch use bucket %s (%s); join them into one"
                .formatted(SafeText.printable(charge.key()), transaction.name()));
      }
      charges.add(charge);
    }
    int debt = asked.size() == 1 ? limits.debtOf(asked.get(0).name()) : 0;
    return new Plan(act, asked, transactions, charges, maxWaitNanos, penalties, debt);
  }

  /**
   * Replaces each transaction on a limit with several quotas by one transaction per quota. The
   * store charges the transactions on all quotas as one atomic batch, so if one quota denies, no
   * bucket of the limit is charged. {@link #folded} combines the decisions on the quotas again.
   */
  private static List<Transaction> oneForEachQuota(Act act, List<Transaction> asked) {
    boolean any = false;
    for (int i = 0; i < asked.size(); i++) { // not a stream, which would allocate
      any |= hasParts(act, asked.get(i));
    }
    return any
        ? asked.stream()
            .flatMap(one -> hasParts(act, one) ? one.parts().stream() : Stream.of(one))
            .toList()
        : asked;
  }

  private static boolean hasParts(Act act, Transaction one) {
    return one.isSeveral() && (one.kind() != Kind.ALLOW_ONLY || act == Act.RESET);
  }

  /**
   * Returns whether this plan must read the store's time first, to find out if a penalty is in
   * force. A refund does not need the store's time, since no penalty prevents a refund.
   */
  boolean isPenalized() {
    return !penalties.isEmpty() && act != Act.REFUND;
  }

  /** Returns charges that only read the buckets of this plan, and never deny. */
  List<Charge> looks() {
    return charges.stream().map(Plan::look).toList();
  }

  private static Charge look(Charge charge) {
    return new Charge(charge.key(), Effect.of(Effect.Op.CHECK, 0, charge.offsetNanos()));
  }

  /**
   * The state of a plan after its buckets were read.
   *
   * @param plan the plan with the charges that must still be sent
   * @param decisions the decision of each transaction if the plan needs no further charge,
   *     otherwise null
   */
  record Looked(Plan plan, @Nullable List<Decision> decisions) {}

  /**
   * Returns how the plan continues after the charges of {@link #looks} have read its buckets. A
   * plan that a penalty denies needs no further charge, and a check needs none. A spend-only
   * transaction with a penalty in force spends nothing.
   */
  Looked looked(List<Reading> found) {
    List<Charge> rest = new ArrayList<>(charges.size());
    List<@Nullable Penalty> inForce = new ArrayList<>(transactions.size());
    boolean isDone = act == Act.CHECK;
    int next = 0;
    for (int i = 0; i < transactions.size(); i++) {
      Transaction transaction = transactions.get(i);
      Penalty penalty = null;
      if (limiting(transaction) != null) {
        penalty = penalties.at(i, found.get(next).nowNanos());
        isDone |= penalty != null && Penalties.denies(transaction);
        Charge charge = charges.get(next);
        rest.add(penalty == null ? charge : look(charge));
        next++;
      }
      inForce.add(penalty);
    }
    return new Looked(
        new Plan(act, asked, transactions, rest, maxWaitNanos, new Penalties(inForce, true), debt),
        isDone ? decide(found) : null);
  }

  /** Returns whether this plan is a spend-up-to on a limit with several quotas. */
  boolean isUpToOfSeveral() {
    return transactions.size() > 1 && transactions.get(0).isUpTo();
  }

  /**
   * Returns the plan for the next try of a spend-up-to on a limit with several quotas. No store
   * operation spends as many tokens as are left in the emptiest of several buckets. Each try of a
   * spend-up-to on several buckets is therefore an atomic spend of a fixed number of tokens; a
   * denied try returns the number of tokens in each bucket.
   *
   * @param decisions the decisions of this plan
   * @return a plan for fewer tokens, at least one; null if the decisions are final
   */
  @Nullable Plan withWhatFits(List<Decision> decisions) {
    long most = transactions.get(0).cost();
    if (decisions.get(0).allowed() || most == 1) {
      return null;
    }
    long fits =
        decisions.get(0).quotas().stream().mapToLong(Decision::remaining).min().orElseThrow();
    return upTo(Math.min(fits, most - 1));
  }

  /** Returns this spend-up-to with another maximum, at least 1 token. */
  Plan upTo(long most) {
    List<Transaction> fewer =
        transactions.stream().map(one -> one.upTo(Math.max(most, 1))).toList();
    List<Charge> same =
        fewer.stream().map(one -> Objects.requireNonNull(charge(act, one, maxWaitNanos))).toList();
    return new Plan(act, asked, fewer, same, maxWaitNanos, penalties, debt);
  }

  private static @Nullable Charge charge(Act act, Transaction transaction, long maxWaitNanos) {
    if (act == Act.RESET) {
      return new Charge(transaction.bucketKey(), Effect.RESET);
    }
    if (transaction.kind() == Kind.RESET_ONLY) {
      throw new InvalidRequestException(
          Field.KIND,
          "the transaction on bucket %s is reset-only; pass it to reset()"
              .formatted(SafeText.printable(transaction.bucketKey())));
    }
    Quota quota = limiting(transaction);
    if (quota == null) {
      return null;
    }
    return new Charge(transaction.bucketKey(), effect(act, transaction, quota, maxWaitNanos));
  }

  Effect effect(Transaction transaction, Quota quota) {
    return effect(act, transaction, quota, maxWaitNanos);
  }

  private static Effect effect(Act act, Transaction transaction, Quota quota, long maxWaitNanos) {
    if (transaction.isUpTo() && !transaction.effective().isPart()) {
      long most = Math.min(transaction.cost(), quota.burst());
      return new Effect(
          Effect.Op.SPEND_UP_TO,
          quota.incrementNanos(most),
          quota.offsetNanos(),
          quota.intervalNanos());
    }
    // A check-only transaction took no tokens, so a refund gives none back.
    boolean takesNothing = act == Act.REFUND && transaction.kind() == Kind.CHECK_ONLY;
    return Effect.of(
        chargeAct(act, transaction),
        takesNothing ? 0 : quota.incrementNanos(transaction.cost()),
        transaction.kind() == Kind.CHECK_AND_SPEND
            ? offsetNanos(transaction.name(), quota, maxWaitNanos)
            : quota.offsetNanos());
  }

  private static long offsetNanos(LimitName name, Quota quota, long maxWaitNanos) {
    long waitNanos = Math.min(nanos(name.longestWait()), maxWaitNanos);
    return quota.offsetNanos() + Math.min(waitNanos, Long.MAX_VALUE - quota.offsetNanos());
  }

  /** Returns the buckets' {@linkplain Debts#depthNanos debt depths}. A batch forgives no debt. */
  Debts.Depths depths() {
    return asked.size() == 1 ? this : Debts.NEVER_FORGIVES;
  }

  /**
   * Returns the {@link #depths()} for charges that a failure rule makes in this process.
   *
   * @param quotaOf a function that returns the quota of a transaction, null if no limit applied
   */
  Debts.Depths depths(Function<Transaction, @Nullable Quota> quotaOf) {
    return asked.size() != 1
        ? Debts.NEVER_FORGIVES
        : new Debts.Depths() {
          @Override
          public long depthNanos(int charge) {
            return Plan.this.depthNanos(charge, quotaOf);
          }

          @Override
          public boolean ofCaller() {
            return Plan.this.ofCaller();
          }
        };
  }

  @Override
  public long depthNanos(int charge) {
    return depthNanos(charge, Plan::limiting);
  }

  @Override
  public boolean ofCaller() {
    return asked.get(0).effective().ofCaller();
  }

  private long depthNanos(int charge, Function<Transaction, @Nullable Quota> quotaOf) {
    int left = charge;
    for (Transaction transaction : transactions) {
      Quota quota = quotaOf.apply(transaction);
      if (quota != null && left-- == 0) {
        return Debts.depthNanos(transaction.name(), quota, debt);
      }
    }
    throw new IndexOutOfBoundsException(charge);
  }

  /**
   * Returns the tokens that a spend took, as one {@link Place} for each charged bucket.
   *
   * @param charged the charges, one for each transaction that has a quota, in the same order
   * @param quotaOf a function that returns the quota of a transaction, null if no limit applied
   */
  List<Place> taken(
      List<Charge> charged,
      List<Reading> readings,
      Function<Transaction, @Nullable Quota> quotaOf) {
    long[] afterNanos = TrackedStore.tatsAfterNanos(charged, readings);
    List<Place> places = new ArrayList<>(charged.size());
    int next = 0;
    for (Transaction transaction : transactions) {
      Quota quota = quotaOf.apply(transaction);
      if (quota != null) {
        Charge charge = charged.get(next);
        Reading found = readings.get(next);
        if (afterNanos[next] != found.tatNanos()) {
          places.add(
              new Place(
                  charge.key(),
                  transaction.name(),
                  charge.incrementNanos(),
                  quota.offsetNanos(),
                  afterNanos[next],
                  found.nowNanos()));
        }
        next++;
      }
    }
    return places;
  }

  private static Effect.Op chargeAct(Act act, Transaction transaction) {
    boolean checkOnly = transaction.kind() == Kind.CHECK_ONLY;
    boolean spendOnly = transaction.kind() == Kind.SPEND_ONLY;
    return switch (act) {
      case SPEND ->
          checkOnly ? Effect.Op.CHECK : spendOnly ? Effect.Op.SPEND_ONLY : Effect.Op.SPEND;
      case REFUND -> checkOnly ? Effect.Op.CHECK : Effect.Op.REFUND;
      default -> Effect.Op.CHECK;
    };
  }

  /** Returns the quota of a transaction, null if nothing limits the transaction. */
  static @Nullable Quota limiting(Transaction transaction) {
    return transaction.kind() == Kind.ALLOW_ONLY ? null : transaction.quota();
  }

  List<Decision> decide(List<Reading> readings) {
    List<Decision> decisions = new ArrayList<>(transactions.size());
    int next = 0;
    for (int i = 0; i < transactions.size(); i++) {
      Transaction transaction = transactions.get(i);
      Quota quota = limiting(transaction);
      if (quota == null) {
        decisions.add(Decision.of(act, transaction, unlimited()));
        continue;
      }
      Reading found = readings.get(next);
      Penalty penalty = penalties.at(i, found.nowNanos());
      decisions.add(
          penalty == null
              ? decision(transaction, quota, charges.get(next), found)
              : penalized(transaction, quota, penalty, charges.get(next), found));
      next++;
    }
    return asHappened(decisions, Plan::limiting);
  }

  private Decision penalized(
      Transaction transaction, Quota quota, Penalty penalty, Charge charge, Reading found) {
    long nowNanos = found.nowNanos();
    long tatNanos = found.tatNanos();
    long untilNanos = penalty.untilNanos();
    Effect spend =
        transaction.isUpTo() // if denied, its wait is the wait for one token
            ? Effect.of(Effect.Op.SPEND, quota.intervalNanos(), quota.offsetNanos())
            : effect(transaction, quota);
    return Decision.of(
        act,
        transaction,
        act == Act.REFUND
            ? Answer.ofRefund(charge.effect(), quota, nowNanos, tatNanos)
                .countingAsEmpty(untilNanos)
            : Answer.ofPenalty(untilNanos, spend, quota, nowNanos, tatNanos),
        penalty);
  }

  private Decision decision(Transaction transaction, Quota quota, Charge charge, Reading found) {
    Effect effect = charge.effect();
    return act == Act.REFUND
        ? Decision.of(
            act, transaction, Answer.ofRefund(effect, quota, found.nowNanos(), found.tatNanos()))
        : spent(transaction, quota, effect, found);
  }

  /** Returns the decision on a spend, or on a check whether a spend would be allowed. */
  Decision spent(Transaction transaction, Quota quota, Effect effect, Reading found) {
    Effect spend = effect.asSpend(found.nowNanos(), found.tatNanos());
    return Decision.of(
        act,
        transaction.isUpTo()
            ? transaction.took(spend.incrementNanos() / quota.intervalNanos())
            : transaction,
        Answer.ofSpend(spend, quota, found.nowNanos(), found.tatNanos()));
  }

  /**
   * Returns one decision for each transaction of the request. In a denied batch, nothing was spent,
   * so each allowed decision is changed to report the tokens that are still in its bucket.
   *
   * @param quotaOf a function that returns the quota of a transaction, null if no limit applied
   */
  List<Decision> asHappened(
      List<Decision> decisions, Function<Transaction, @Nullable Quota> quotaOf) {
    if (act != Act.SPEND || transactions.size() == 1 || !isDenied(decisions)) {
      return folded(decisions);
    }
    List<Decision> happened = new ArrayList<>(decisions.size());
    for (int i = 0; i < decisions.size(); i++) {
      Transaction transaction = transactions.get(i);
      Decision decision = decisions.get(i);
      boolean wouldHaveSpent = decision.allowed() && transaction.kind() != Kind.CHECK_ONLY;
      happened.add(
          wouldHaveSpent ? decision.unspent(transaction, quotaOf.apply(transaction)) : decision);
    }
    return folded(happened);
  }

  private boolean isDenied(List<Decision> decisions) {
    for (int i = 0; i < decisions.size(); i++) {
      if (decisions.get(i).denied() && counts(transactions.get(i).kind())) {
        return true;
      }
    }
    return false;
  }

  /** Combines the decisions on the quotas of one limit into one decision. */
  private List<Decision> folded(List<Decision> decisions) {
    if (asked.size() == transactions.size()) {
      return decisions;
    }
    List<Decision> folded = new ArrayList<>(asked.size());
    int next = 0;
    for (Transaction one : asked) {
      int count = hasParts(act, one) ? one.quotas().size() : 1;
      List<Decision> ofOne = decisions.subList(next, next + count);
      folded.add(count == 1 ? ofOne.get(0) : Decision.ofQuotas(act, ofOne));
      next += count;
    }
    return folded;
  }

  /** Returns the operation to report to the observer for one transaction. */
  Act actOn(Decision part, Decision whole) {
    return act == Act.SPEND && whole.denied() && part.allowed() ? Act.CHECK : act;
  }

  /**
   * Returns the answer for an id without limit: a spend is allowed, a refund gives nothing back.
   */
  private Answer unlimited() {
    return act == Act.REFUND ? Answer.NOTHING_REFUNDED : Answer.UNLIMITED;
  }

  /** Returns the decision of a batch with one transaction, of any kind. */
  Decision only(List<Decision> decisions) {
    return decisions.get(0);
  }

  Decision strictest(List<Decision> decisions) {
    List<Decision> counting = new ArrayList<>(decisions.size());
    for (int i = 0; i < decisions.size(); i++) {
      if (counts(asked.get(i).kind())) {
        counting.add(decisions.get(i));
      }
    }
    return Decision.ofBatch(counting, decisions);
  }

  List<LimitName> denying(List<Decision> decisions) {
    List<LimitName> denying = new ArrayList<>();
    for (int i = 0; i < asked.size(); i++) {
      if (decisions.get(i).denied() && counts(asked.get(i).kind())) {
        denying.add(asked.get(i).name());
      }
    }
    return denying;
  }

  private boolean counts(Kind kind) {
    return switch (kind) {
      case CHECK_AND_SPEND -> true;
      case CHECK_ONLY -> act != Act.REFUND;
      case SPEND_ONLY -> act == Act.REFUND;
      case RESET_ONLY, ALLOW_ONLY -> false;
    };
  }
}
