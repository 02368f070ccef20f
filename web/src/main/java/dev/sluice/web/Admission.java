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
 * The result of charging a request: the request may pass, or is refused. If rules with conditions
 * spent tokens, the response's status later decides whether these tokens stay spent: {@link
 * #settle} or {@link #leaveSpent} then ends the admission, once. If a rule {@linkplain
 * Rule.Builder#estimate estimated} the cost, {@link #cost} sets the true cost, which is charged
 * when the admission ends, or at once if it has ended.
 *
 * <p>Thread-safe.
 */
public final class Admission {

  private final @Nullable Decision decision;
  private final @Nullable Refusal refusal;
  private final @Nullable String unusable;
  private final List<Batch<Ending>> open;
  private final QuietLog log;

  private volatile boolean settlementFailed;

  @GuardedBy("this")
  private @Nullable Long cost;

  @GuardedBy("this")
  private @Nullable Ending ending; // null before the end

  private Admission(
      @Nullable Decision decision,
      @Nullable Refusal refusal,
      @Nullable String unusable,
      List<Batch<Ending>> open,
      QuietLog log) {
    this.decision = decision;
    this.refusal = refusal;
    this.unusable = unusable;
    this.open = open;
    this.log = log;
  }

  static Admission passed(@Nullable Decision decision, List<Batch<Ending>> spent, QuietLog log) {
    return new Admission(decision, null, null, spent.stream().filter(Batch::isOpen).toList(), log);
  }

  static Admission refused(
      @Nullable Decision decision, Refusal refusal, @Nullable String unusable, QuietLog log) {
    return new Admission(decision, refusal, unusable, List.of(), log);
  }

  /**
   * Returns the response to a refused request.
   *
   * @return the response, null if the request may pass
   */
  public @Nullable Refusal refusal() {
    return refusal;
  }

  /**
   * Returns why a request could not be charged, such as a missing header, for a protocol whose
   * clients do not see the body of the {@link #refusal}.
   *
   * @return a sentence for the client, without ids; null if the request could be charged
   */
  public @Nullable String unusable() {
    return unusable;
  }

  /**
   * Returns the decision of the enforced rules.
   *
   * @return the decision; null if no enforced rule matches, or no decision could be made
   */
  public @Nullable Decision decision() {
    return decision;
  }

  /**
   * Returns whether the response's status decides about tokens to give back, or the true cost
   * replaces an estimate. If so, call {@link #settle}, {@link #settleAsync} or {@link #leaveSpent}
   * when the request ends.
   *
   * @return false if the request was refused
   */
  public boolean isConditional() {
    return !open.isEmpty();
  }

  /**
   * Returns whether a rule estimated the cost. If so, end the admission after the response.
   *
   * @return false if no cost was estimated
   */
  public boolean isEstimated() {
    return open.stream().anyMatch(Batch::isEstimated);
  }

  /**
   * Returns reads of the buckets whose costs a rule that is not in shadow estimated; none after a
   * failed settlement.
   */
  List<Transaction> readsAfter() {
    return open.stream()
        .filter(batch -> !settlementFailed)
        .filter(Batch::isEstimated)
        .flatMap(batch -> batch.transactions().stream())
        .filter(transaction -> !transaction.isShadow())
        .map(transaction -> transaction.withCost(0))
        .toList();
  }

  /**
   * Sets the true cost for the rules that estimated it. The last call before the end of the
   * admission counts. If there is none, the first call after the end counts, and charges the cost
   * without blocking. If this method is never called, the estimate stays spent.
   *
   * @param tokens the number of tokens that the request cost
   * @throws IllegalArgumentException if the cost is below 1, which can come from a usage report
   *     that could not be read
   */
  public void cost(long tokens) {
    if (tokens < 1) {
      throw new IllegalArgumentException(
          "cost: found %s, expected 1 or more; for requests that cost nothing, use a rule that does not count their statuses"
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

  /** Records how the request ended; returns null if the admission has ended before. */
  private synchronized @Nullable Ending end(@Nullable Integer status) {
    if (ending != null) {
      return null;
    }
    ending = new Ending(status, cost);
    return ending;
  }

  /** Returns the batches to end now; a batch with an estimate can wait for the true cost. */
  private List<Batch<Ending>> due(Ending how) {
    return open.stream().filter(batch -> !batch.isEstimated() || batch.isDueFor(how)).toList();
  }

  /**
   * Gives back the tokens of rules that do not count the response's status, and charges the true
   * cost in place of estimates. Blocks until the store has answered. If the store fails, the tokens
   * stay spent and a warning is logged. Does nothing if the admission has ended before.
   *
   * @param status the status of the application's response
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
   * @param status the status of the application's response
   * @return a stage that completes when the store has answered; it never fails because of the store
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
   * Leaves all tokens spent, since the outcome of the application's work is unknown. Only a true
   * cost that was set is charged in place of an estimate. Never blocks. Does nothing if the
   * admission has ended before.
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

  /**
   * Logs that a settlement failed: the response cannot change any more, and the tokens stay spent.
   */
  private void notSettled(StoreException failure) {
    settlementFailed = true;
    log.failed(
        isEstimated() ? "the true cost was not charged" : "tokens were not given back", failure);
  }
}
