package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction.Kind;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdTexts;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way: transactions into charges for the store, its readings back into a
 * decision. The same for the synchronous and the asynchronous way. Immutable.
 *
 * @param act what is asked
 * @param transactions the request, in order
 * @param charges what the store is to do, in the order of the transactions that need it; empty
 *     where the store need not be asked
 */
record Plan(Act act, List<Transaction> transactions, List<Charge> charges) {

  static Plan of(Act act, List<Transaction> transactions) {
    List<Charge> charges = new ArrayList<>(transactions.size());
    Set<String> keys = new HashSet<>();
    for (Transaction transaction : transactions) {
      Charge charge = charge(act, transaction);
      if (charge == null) {
        continue;
      }
      if (!keys.add(charge.key())) {
        throw new InvalidRequestException(
            Field.TRANSACTIONS,
            "found two transactions on the bucket %s (%s), expected each bucket once in a batch"
                .formatted(IdTexts.printable(charge.key()), transaction.name()));
      }
      charges.add(charge);
    }
    return new Plan(act, List.copyOf(transactions), charges);
  }

  /** Whether it is one transaction, and no batch. */
  boolean isAlone() {
    return transactions.size() == 1;
  }

  private static @Nullable Charge charge(Act act, Transaction transaction) {
    if (act == Act.RESET) {
      return new Charge(transaction.bucketKey(), Charge.Act.RESET, 0, 0, Charge.NO_END);
    }
    if (transaction.kind() == Kind.RESET_ONLY) {
      throw new InvalidRequestException(
          Field.KIND,
          "found a reset-only transaction on the bucket %s, expected it in a reset alone"
              .formatted(IdTexts.printable(transaction.bucketKey())));
    }
    Quota quota = limiting(transaction);
    if (quota == null) {
      return null;
    }
    return new Charge(
        transaction.bucketKey(),
        chargeAct(act, transaction),
        act == Act.REFUND
            ? refundNanos(transaction, quota)
            : quota.incrementNanos(transaction.cost()),
        quota.offsetNanos(),
        Charge.NO_END);
  }

  static Charge.Act chargeAct(Act act, Transaction transaction) {
    boolean checkOnly = transaction.kind() == Kind.CHECK_ONLY;
    boolean spendOnly = transaction.kind() == Kind.SPEND_ONLY;
    return switch (act) {
      case SPEND ->
          checkOnly ? Charge.Act.CHECK : spendOnly ? Charge.Act.SPEND_ONLY : Charge.Act.SPEND;
      case REFUND -> checkOnly ? Charge.Act.CHECK : Charge.Act.REFUND;
      default -> Charge.Act.CHECK;
    };
  }

  /** What a check-only transaction never took, it never gets back. */
  private static long refundNanos(Transaction transaction, Quota quota) {
    return transaction.kind() == Kind.CHECK_ONLY ? 0 : quota.incrementNanos(transaction.cost());
  }

  /** The quota that a transaction is held to; null where it only allows. */
  static @Nullable Quota limiting(Transaction transaction) {
    return transaction.kind() == Kind.ALLOW_ONLY ? null : transaction.quota();
  }

  /** The decision of each transaction, in order. */
  List<Decision> decide(List<Reading> readings) {
    List<Decision> decisions = new ArrayList<>(transactions.size());
    int next = 0;
    for (Transaction transaction : transactions) {
      Quota quota = limiting(transaction);
      if (quota == null) {
        decisions.add(unlimited(transaction));
      } else {
        Reading reading = readings.get(next++);
        decisions.add(
            act == Act.REFUND
                ? Decision.ofRefund(transaction, quota, refundNanos(transaction, quota), reading)
                : Decision.ofSpend(transaction, quota, reading));
      }
    }
    return asHappened(decisions, Plan::limiting);
  }

  /**
   * Corrects the parts of a denied batch that had room: nothing was spent, so each says what its
   * bucket still holds.
   *
   * @param quotaOf what a transaction was held to, null where no bucket was asked
   */
  List<Decision> asHappened(
      List<Decision> decisions, Function<Transaction, @Nullable Quota> quotaOf) {
    if (act != Act.SPEND || isAlone() || strictest(decisions).allowed()) {
      return decisions;
    }
    List<Decision> happened = new ArrayList<>(decisions.size());
    for (int i = 0; i < decisions.size(); i++) {
      Transaction transaction = transactions.get(i);
      Decision decision = decisions.get(i);
      Quota quota = quotaOf.apply(transaction);
      boolean wouldHaveSpent = decision.allowed() && transaction.kind() != Kind.CHECK_ONLY;
      happened.add(
          wouldHaveSpent && quota != null ? decision.unspent(transaction, quota) : decision);
    }
    return happened;
  }

  /** What an observer is told was done for a part: a denied batch only checks those that pass. */
  Act actOn(Decision part, Decision whole) {
    return act == Act.SPEND && whole.denied() && part.allowed() ? Act.CHECK : act;
  }

  /** Nothing stood in the way of a spend, and nothing was given back by a refund. */
  private Decision unlimited(@Nullable Transaction transaction) {
    return act == Act.REFUND
        ? Decision.nothingRefunded(transaction)
        : Decision.unlimited(transaction);
  }

  /** The decision of the batch, from those of its transactions. */
  Decision strictest(List<Decision> decisions) {
    List<Decision> counting = new ArrayList<>(decisions.size());
    for (int i = 0; i < decisions.size(); i++) {
      if (counts(transactions.get(i).kind())) {
        counting.add(decisions.get(i));
      }
    }
    return Decision.ofBatch(counting.isEmpty() ? List.of(unlimited(null)) : counting, decisions);
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
