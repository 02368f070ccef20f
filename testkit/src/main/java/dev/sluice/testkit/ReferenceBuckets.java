// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.Transaction.Kind;
import dev.sluice.gcra.Quota;
import dev.sluice.store.TimeSource;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * For each bucket, the model stores the time in nanoseconds until the bucket is full. A token takes
 * one emission interval T to refill. So this time is 0 ns for a full bucket and T × burst for an
 * empty bucket. This time falls by 1 ns per nanosecond, and rises when the clock steps back. The
 * model stores no TAT and cannot overflow. The model shares no code and no formula with the
 * arithmetic that it tests.
 */

/**
 * Token buckets as in a textbook, computed with integers of any size. Tests compare the results of
 * a store with these slow but exact buckets.
 *
 * <p>Not thread-safe; never blocks.
 */
final class ReferenceBuckets {

  private final TimeSource time;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private final Map<String, BigInteger> forgivenUntil = new HashMap<>();

  /**
   * Creates a model in which all buckets are full.
   *
   * @param time the clock of the store under test
   */
  ReferenceBuckets(TimeSource time) {
    this.time = time;
  }

  /**
   * Returns the correct result of a check.
   *
   * @param transactions the batch
   * @return the result of each transaction
   */
  List<Answer> check(List<Transaction> transactions) {
    return transactions.stream().map(this::spendAnswer).toList();
  }

  /**
   * Spends a batch and returns the correct result.
   *
   * @param transactions the batch
   * @return the result of each transaction
   */
  @CanIgnoreReturnValue
  List<Answer> spend(List<Transaction> transactions) {
    if (transactions.size() == 1) {
      forgive(transactions.get(0));
    }
    List<Answer> answers = transactions.stream().map(this::spendAnswer).toList();
    boolean passes = true;
    for (int i = 0; i < answers.size(); i++) {
      boolean votes = transactions.get(i).kind() != Kind.SPEND_ONLY;
      passes &= !votes || answers.get(i).allowed();
    }
    if (!passes && transactions.size() > 1) {
      return answersOfDenied(transactions, answers);
    }
    for (int i = 0; i < answers.size(); i++) {
      Transaction transaction = transactions.get(i);
      Quota quota = transaction.quota();
      if (quota == null || !spends(transaction.kind())) {
        continue;
      }
      BigInteger lacking = lacking(transaction.bucketKey());
      if (passes && answers.get(i).allowed() && transaction.cost() > 0) {
        put(transaction.bucketKey(), lacking.add(worth(transaction, quota)));
      }
    }
    return answers;
  }

  /** Returns the results of a denied batch, of which no transaction spends tokens. */
  private List<Answer> answersOfDenied(List<Transaction> transactions, List<Answer> checks) {
    List<Answer> answers = new ArrayList<>();
    for (int i = 0; i < checks.size(); i++) {
      Transaction transaction = transactions.get(i);
      Quota quota = transaction.quota();
      if (quota != null && checks.get(i).allowed() && spends(transaction.kind())) {
        BigInteger lacking = lacking(transaction.bucketKey());
        answers.add(new Answer(true, remaining(quota, lacking), 0, lacking.longValueExact()));
      } else {
        answers.add(checks.get(i));
      }
    }
    return answers;
  }

  /**
   * Refunds a batch and returns the correct result.
   *
   * @param transactions the batch
   * @return the result of each transaction
   */
  @CanIgnoreReturnValue
  List<Answer> refund(List<Transaction> transactions) {
    List<Answer> answers = new ArrayList<>();
    for (Transaction transaction : transactions) {
      Quota quota = transaction.quota();
      if (quota == null || transaction.kind() == Kind.ALLOW_ONLY) {
        answers.add(Answer.NOTHING_GIVEN);
        continue;
      }
      BigInteger lacking = lacking(transaction.bucketKey());
      BigInteger given =
          transaction.kind() == Kind.CHECK_ONLY
              ? BigInteger.ZERO
              : worth(transaction, quota).min(lacking);
      if (given.signum() > 0) {
        put(transaction.bucketKey(), lacking.subtract(given));
      }
      BigInteger left = lacking.subtract(given);
      answers.add(new Answer(given.signum() > 0, remaining(quota, left), 0, left.longValueExact()));
    }
    return answers;
  }

  /**
   * Fills the buckets of a batch.
   *
   * @param transactions the batch
   */
  void reset(List<Transaction> transactions) {
    transactions.forEach(transaction -> buckets.remove(transaction.bucketKey()));
  }

  /**
   * Forgives the debt of a bucket, at most once within the bucket's refill time τ. Only a spend
   * that is not part of a batch forgives a debt.
   */
  private void forgive(Transaction transaction) {
    Quota quota = transaction.quota();
    if (quota == null || transaction.kind() != Kind.CHECK_AND_SPEND || transaction.cost() == 0) {
      return;
    }
    String key = transaction.bucketKey();
    if (isForgivable(key, quota)) {
      put(key, size(quota));
      forgivenUntil.put(debt(key, quota), BigInteger.valueOf(time.nanos()).add(size(quota)));
    }
  }

  private boolean isForgivable(String key, Quota quota) {
    BigInteger until = forgivenUntil.getOrDefault(debt(key, quota), BigInteger.ZERO);
    return lacking(key).compareTo(size(quota)) > 0
        && until.compareTo(BigInteger.valueOf(time.nanos())) <= 0;
  }

  private static String debt(String key, Quota quota) {
    return key + " " + size(quota);
  }

  private static boolean spends(Kind kind) {
    return kind == Kind.CHECK_AND_SPEND || kind == Kind.SPEND_ONLY;
  }

  /** Returns the result of a spend, or of a check. */
  private Answer spendAnswer(Transaction transaction) {
    Quota quota = transaction.quota();
    if (quota == null || transaction.kind() == Kind.ALLOW_ONLY) {
      return Answer.UNLIMITED;
    }
    BigInteger worth = worth(transaction, quota);
    BigInteger lacking = lacking(transaction.bucketKey());
    boolean reads = worth.signum() == 0;
    boolean fits = reads || lacking.add(worth).compareTo(size(quota)) <= 0;
    BigInteger after = fits ? lacking.add(worth) : lacking;
    BigInteger wait =
        reads ? BigInteger.ZERO : after.add(worth).subtract(size(quota)).max(BigInteger.ZERO);
    return new Answer(fits, remaining(quota, after), wait.longValueExact(), after.longValueExact());
  }

  private BigInteger lacking(String key) {
    Bucket bucket = buckets.get(key);
    if (bucket == null) {
      return BigInteger.ZERO;
    }
    BigInteger elapsed = BigInteger.valueOf(time.nanos()).subtract(bucket.atNanos());
    return bucket.lackingNanos().subtract(elapsed).max(BigInteger.ZERO);
  }

  private void put(String key, BigInteger lackingNanos) {
    buckets.put(key, new Bucket(lackingNanos, BigInteger.valueOf(time.nanos())));
  }

  private static BigInteger interval(Quota quota) {
    return BigInteger.valueOf(quota.period().toNanos()).divide(BigInteger.valueOf(quota.count()));
  }

  private static BigInteger size(Quota quota) {
    return interval(quota).multiply(BigInteger.valueOf(quota.burst()));
  }

  private static BigInteger worth(Transaction transaction, Quota quota) {
    return interval(quota).multiply(BigInteger.valueOf(transaction.cost()));
  }

  private static long remaining(Quota quota, BigInteger lacking) {
    return size(quota)
        .subtract(lacking)
        .max(BigInteger.ZERO)
        .divide(interval(quota))
        .longValueExact();
  }

  private record Bucket(BigInteger lackingNanos, BigInteger atNanos) {}

  /**
   * The correct result of one transaction.
   *
   * @param allowed the value of {@link Decision#allowed}
   * @param remaining the value of {@link Decision#remaining}
   * @param retryInNanos the value of {@link Decision#retryInNanos}
   * @param resetInNanos the value of {@link Decision#resetInNanos}
   */
  record Answer(boolean allowed, long remaining, long retryInNanos, long resetInNanos) {

    private static final Answer UNLIMITED = new Answer(true, Long.MAX_VALUE, 0, 0);
    private static final Answer NOTHING_GIVEN = new Answer(false, Long.MAX_VALUE, 0, 0);

    /**
     * Converts a decision, so that a test can compare it with the correct result.
     *
     * @param decision the decision
     * @return the fields of the decision
     */
    static Answer of(Decision decision) {
      return new Answer(
          decision.allowed(),
          decision.remaining(),
          decision.retryInNanos(),
          decision.resetInNanos());
    }
  }
}
