// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the quotas that the application supplied to requests of this process, since the
 * configured limits do not contain these quotas. The actuator shows supplied quotas. Thread-safe.
 */
final class SuppliedQuotas implements LimiterObserver {

  /** The most ids that are remembered: the ids of the latest decisions. */
  static final int MOST_IDS = 1_000;

  /** The most limits that are remembered; an application names few limits in its code. */
  static final int MOST_LIMITS = 1_000;

  private final Map<String, Transaction> byBucket = latest(MOST_IDS);
  private final Map<String, Transaction> byLimit = latest(MOST_LIMITS);

  private static Map<String, Transaction> latest(int most) {
    return Collections.synchronizedMap(
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1;

          @Override
          protected boolean removeEldestEntry(Map.Entry<String, Transaction> eldest) {
            return size() > most;
          }
        });
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    Transaction transaction = decision.transaction();
    if (transaction == null || transaction.isShadow() || decision.degraded()) {
      return; // a failure rule can have replaced the quota by a share of it
    }
    if (!transaction.supplied()) {
      if (!byBucket.isEmpty()) {
        byBucket.remove(transaction.bucketKey());
      }
    } else {
      byBucket.put(transaction.bucketKey(), transaction);
      byLimit.put(transaction.name().name(), transaction);
    }
  }

  List<Transaction> latest() {
    synchronized (byLimit) {
      return List.copyOf(byLimit.values());
    }
  }

  /** Returns a limit's latest transaction; null if the application supplied no quota for it. */
  @Nullable Transaction latest(String limit) {
    return byLimit.get(limit);
  }

  /**
   * Returns a bucket's latest transaction; null if the application supplied no quota for the
   * bucket, or the quota was forgotten.
   */
  @Nullable Transaction latest(Transaction ofBucket) {
    return byBucket.get(ofBucket.bucketKey());
  }
}
