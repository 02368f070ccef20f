// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The result of charging a request: it may pass, or how it is refused. If conditional rules spent
 * tokens, the response's status later decides whether these stay spent: {@link #settle} or {@link
 * #leaveSpent} then ends the admission, once. If a rule {@linkplain Rule.Builder#estimate
 * estimated} the cost, {@link #cost} sets the true one, which is charged when the admission ends,
 * or at once if it has ended.
 *
 * <p>Thread-safe.
 */
public final class Admission {

  private final @Nullable Decision decision;
  private final @Nullable Refusal refusal;
  private final List<Batch<Ending>> open;
  private final QuietLog log;

  @GuardedBy("this")
  private @Nullable Long cost;

  @GuardedBy("this")
  private @Nullable Ending ending; // null before the end

  private Admission(
      @Nullable Decision decision,
      @Nullable Refusal refusal,
      List<Batch<Ending>> open,
      QuietLog log) {
    this.decision = decision;
    this.refusal = refusal;
    this.open = open;
    this.log = log;
  }

  static Admission passed(@Nullable Decision decision, List<Batch<Ending>> spent, QuietLog log) {
    return new Admission(decision, null, spent.stream().filter(Batch::isOpen).toList(), log);
  }

  static Admission refused(@Nullable Decision decision, Refusal refusal, QuietLog log) {
    return new Admission(decision, refusal, List.of(), log);
  }

  /**
   * Returns how the request is refused.
   *
   * @return the response, null if the request may pass
   */
  public @Nullable Refusal refusal() {
    return refusal;
  }

  /**
   * Returns the decision of the enforced rules.
   *
   * @return the decision; null if no enforced rule matches the request, or none could be made
   */
  public @Nullable Decision decision() {
    return decision;
  }

  /**
   * Returns whether the response's status decides on tokens to give back, or the true cost replaces
   * an estimate. If so, call {@link #settle}, {@link #settleAsync} or {@link #leaveSpent} when the
   * request ends.
   *
   * @return false for a request that was refused
   */
  public boolean isConditional() {
    return !open.isEmpty();
  }

  /**
   * Returns whether a rule estimated the cost. If so, end the admission when all of the response is
   * sent.
   *
   * @return false if all costs were known before
   */
  public boolean isEstimated() {
    return open.stream().anyMatch(Batch::isEstimated);
  }

  /** Returns reads of the buckets whose costs a rule that is not in shadow estimated. */
  List<Transaction> readsAfter() {
    return open.stream()
        .filter(Batch::isEstimated)
        .flatMap(batch -> batch.transactions().stream())
        .filter(transaction -> !transaction.isShadow())
        .map(transaction -> transaction.withCost(0))
        .toList();
  }

  /**
   * Sets the true cost, for the rules that estimated it. The last call before the end of the
   * admission counts, or else the first one after it, which charges without blocking. Without one,
   * the estimate stays spent.
   *
   * @param tokens the tokens that the request cost
   * @throws IllegalArgumentException below 1, which may come from a report that could not be read
   */
  public void cost(long tokens) {
    if (tokens < 1) {
      throw new IllegalArgumentException(
          "cost: found %s, expected 1 or more; for requests that cost nothing, let the rule count all statuses but theirs"
              .formatted(tokens));
    }
    Ending known;
    synchronized (this) {
      cost = tokens;
      if (ending == null) {
        return;
      }
      known = new Ending(ending.status(), tokens);
    }
    open.forEach(batch -> batch.settleAsync(known, this::notSettled));
  }

  /** Keeps how the request ended; returns null if it has ended before. */
  private synchronized @Nullable Ending end(@Nullable Integer status) {
    if (ending != null) {
      return null;
    }
    ending = new Ending(status, cost);
    return ending;
  }

  /** Returns the batches that can end; one with an estimate may wait for a later cost. */
  private List<Batch<Ending>> due(Ending how) {
    return open.stream().filter(batch -> !batch.isEstimated() || batch.isDueFor(how)).toList();
  }

  /**
   * Gives back the tokens of rules that do not count the response's status, and charges the true
   * cost where it was estimated. Blocks until the store has answered. If the store fails, the
   * tokens stay spent and a warning is logged. Only the first call that ends the admission does
   * anything.
   *
   * @param status the status that the application answered with
   */
  public void settle(int status) {
    Ending how = end(status);
    if (how != null) {
      due(how).forEach(batch -> batch.settle(how, this::notSettled));
    }
  }

  /**
   * Does the same as {@link #settle} without blocking.
   *
   * @param status the status that the application answered with
   * @return completes when the tokens are back; never fails because of the store
   */
  public CompletionStage<Void> settleAsync(int status) {
    Ending how = end(status);
    if (how == null) {
      return CompletableFuture.completedFuture(null);
    }
    return CompletableFuture.allOf(
        due(how).stream()
            .map(batch -> batch.settleAsync(how, this::notSettled))
            .map(CompletionStage::toCompletableFuture)
            .toArray(CompletableFuture<?>[]::new));
  }

  /**
   * Leaves all tokens spent, since the outcome of the application's work is unknown. Only the true
   * cost is charged where it was estimated. Never blocks. Only the first call that ends the
   * admission does anything.
   */
  public void leaveSpent() {
    Ending how = end(null);
    if (how != null) {
      for (Batch<Ending> batch : open) {
        if (!batch.isEstimated()) {
          batch.leaveSpent();
        } else if (how.cost() != null) {
          batch.settleAsync(how, this::notSettled);
        }
      }
    }
  }

  /** The response is on its way: the tokens stay spent, which errs on the strict side. */
  private void notSettled(StoreException failure) {
    log.failed(
        isEstimated() ? "the true cost was not charged" : "tokens were not given back", failure);
  }
}
