package dev.sluice.servlet;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a request spends, all or nothing. Not thread-safe.
 *
 * <p>A bucket is charged once for a request: where two rules name it, at the higher cost, and it is
 * given back only if neither wants it to count.
 */
final class Batch {

  private final Map<String, Transaction> byBucket = new LinkedHashMap<>();
  private final Map<String, List<Rule>> rules = new HashMap<>();
  private @Nullable Reservation reservation;

  void add(Rule rule, Transaction transaction) {
    String bucket = transaction.bucketKey();
    byBucket.merge(bucket, transaction, (one, other) -> other.cost() > one.cost() ? other : one);
    rules.computeIfAbsent(bucket, b -> new ArrayList<>(1)).add(rule);
  }

  boolean isEmpty() {
    return byBucket.isEmpty();
  }

  private boolean isConditional() {
    return rules.values().stream().anyMatch(Batch::mayBeGivenBack);
  }

  private static boolean mayBeGivenBack(List<Rule> rulesOfBucket) {
    return rulesOfBucket.stream().allMatch(Rule::isConditional);
  }

  Decision spend(Limiter limiter) {
    List<Transaction> transactions = List.copyOf(byBucket.values());
    if (!isConditional()) {
      return limiter.spend(transactions);
    }
    reservation = limiter.reserve(transactions);
    return reservation.decision();
  }

  /** Whether the response's status still has a say. */
  boolean isOpen() {
    return reservation != null && reservation.allowed();
  }

  /** Gives back nothing, now or later. */
  void leaveSpent() {
    if (reservation != null) {
      reservation.close();
    }
  }

  /** Gives back what this status does not count. */
  void settle(int status) {
    if (reservation != null) {
      reservation.cancel(
          transaction ->
              rules.getOrDefault(transaction.bucketKey(), List.of()).stream()
                  .noneMatch(rule -> rule.counts(status)));
      reservation.close();
    }
  }
}
