// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.async.Stages;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The transactions that a request spends, all or nothing. Filled by one thread; the rest may be
 * called by others.
 *
 * <p>A bucket is charged once for a request: where two rules name it, at the higher cost, and it is
 * given back only if neither wants it to count.
 */
final class Batch {

  /** Every status counts: nothing is given back. */
  static final IntPredicate ALWAYS = status -> true;

  private final Map<String, Transaction> byBucket = new LinkedHashMap<>();
  private final Map<String, List<IntPredicate>> counted = new HashMap<>();
  private volatile @Nullable Reservation reservation;

  /**
   * Adds what a rule charges.
   *
   * @param counts whether a response with a status leaves the tokens spent; {@link #ALWAYS} for an
   *     unconditional rule
   */
  void add(Transaction transaction, IntPredicate counts) {
    String bucket = transaction.bucketKey();
    byBucket.merge(bucket, transaction, (one, other) -> other.cost() > one.cost() ? other : one);
    counted.computeIfAbsent(bucket, b -> new ArrayList<>(1)).add(counts);
  }

  boolean isEmpty() {
    return byBucket.isEmpty();
  }

  List<Transaction> transactions() {
    return List.copyOf(byBucket.values());
  }

  private boolean isConditional() {
    return counted.values().stream().anyMatch(Batch::mayBeGivenBack);
  }

  private static boolean mayBeGivenBack(List<IntPredicate> ofBucket) {
    return !ofBucket.contains(ALWAYS);
  }

  Decision spend(Limiter limiter) {
    return isConditional() ? keep(limiter.reserve(transactions())) : limiter.spend(transactions());
  }

  /** Spends without blocking. To give up, cancel the future that is returned. */
  CompletableFuture<Decision> spendAsync(AsyncLimiter limiter) {
    if (!isConditional()) {
      return limiter.spend(transactions()).toCompletableFuture();
    }
    CompletableFuture<Reservation> reserved = limiter.reserve(transactions()).toCompletableFuture();
    CompletableFuture<Decision> decided = reserved.thenApply(this::keep);
    Stages.onEnd(
        decided,
        (decision, failure) -> {
          if (decision == null && !reserved.cancel(false)) {
            Stages.onSuccess(reserved, Reservation::close); // its caller gave up
          }
        });
    return decided;
  }

  private Decision keep(Reservation made) {
    reservation = made;
    return made.decision();
  }

  /** Whether the response's status still has a say. */
  boolean isOpen() {
    Reservation made = reservation;
    return made != null && made.allowed();
  }

  /** Gives back nothing, now or later. */
  void leaveSpent() {
    Reservation made = reservation;
    if (made != null) {
      made.close();
    }
  }

  /** Gives back what this status does not count. */
  void settle(int status) {
    Reservation made = reservation;
    if (made != null) {
      made.cancel(isFree(status));
      made.close();
    }
  }

  /** Gives back without blocking what this status does not count. */
  CompletionStage<Void> settleAsync(int status) {
    Reservation made = reservation;
    return made == null
        ? CompletableFuture.completedFuture(null)
        : made.cancelAsync(isFree(status));
  }

  private Predicate<Transaction> isFree(int status) {
    return transaction ->
        counted.getOrDefault(transaction.bucketKey(), List.of()).stream()
            .noneMatch(counts -> counts.test(status));
  }
}
