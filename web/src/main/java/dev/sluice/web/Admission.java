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
 * The result of charging a request: the request may pass, or is refused. A rule can give tokens
 * back if the response has a certain status. To end the admission after the response, call {@link
 * #settle} or {@link #leaveSpent} once. If a rule {@linkplain Rule.Builder#estimate estimated} the
 * cost, {@link #cost} sets the true cost. The true cost is charged when the admission ends, or at
 * once if the admission has ended.
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
  private @Nullable Ending ending; // null until the request has ended

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
   * @return the decision; null if no enforced rule matches, or if no decision could be made
   */
  public @Nullable Decision decision() {
    return decision;
  }

  /**
   * Returns whether tokens can be given back after the response, or a true cost can replace an
   * estimate. If this method returns true, call {@link #settle}, {@link #settleAsync} or {@link
   * #leaveSpent} when the request ends.
   *
   * @return false if the request was refused
   */
  public boolean isConditional() {
    return !open.isEmpty();
  }

  /**
   * Returns whether a rule estimated the cost; if so, end the admission only after the response.
   *
   * @return false if no cost was estimated
   */
  public boolean isEstimated() {
    return open.stream().anyMatch(Batch::isEstimated);
  }

  /**
   * Returns a transaction of cost 0 for each bucket with an estimated cost, to read the state of
   * the bucket. Buckets of shadow rules are left out. The returned list is empty if the settlement
   * failed.
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
   * Sets the true cost for the rules that estimated the cost. If this method is called several
   * times before the admission ends, the last cost is charged. If this method is first called after
   * the admission has ended, the cost of the first call is charged at once, without blocking. If no
   * cost is set, the estimate stays spent.
   *
   * @param tokens the number of tokens that the request cost
   * @throws IllegalArgumentException if the cost is below 1, for example because a model's usage
   *     report could not be read
   */
  public void cost(long tokens) {
    if (tokens < 1) {
      throw new IllegalArgumentException(
          "cost: found %s, expected 1 or more; if responses with some status are to cost nothing, exclude the status in the rule, with countAllBut(STATUS)"
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

  /** A batch to settle at the end of the request. */
  private record Due(Batch<Ending> batch, Ending how) {}

  /** Records the end of the request; returns nothing if the admission has already ended. */
  private synchronized List<Due> end(@Nullable Integer status) {
    if (ending != null) {
      return List.of();
    }
    Ending how = new Ending(status, cost);
    ending = how;
    return open.stream().map(batch -> new Due(batch.dueFor(how), how)).toList();
  }

  /**
   * Gives back the tokens of each rule whose tokens do not stay spent after the response's status,
   * and charges the true cost in place of estimates. Blocks until the store has answered. If the
   * store fails, the tokens stay spent and a warning is logged. Does nothing if the admission has
   * ended before.
   *
   * @param status the status of the application's response
   */
  public void settle(int status) {
    end(status).forEach(due -> due.batch.settle(due.how, this::notSettled));
  }

  /**
   * Does the same as {@link #settle} without blocking.
   *
   * @param status the status of the application's response
   * @return a stage that completes when the store has answered; the stage never fails because of
   *     the store
   */
  public CompletionStage<Void> settleAsync(int status) {
    return CompletableFuture.allOf(
        end(status).stream()
            .map(due -> due.batch.settleAsync(due.how, this::notSettled))
            .map(CompletionStage::toCompletableFuture)
            .toArray(CompletableFuture<?>[]::new));
  }

  /**
   * Leaves all tokens spent, since the outcome of the application's work is unknown. If {@link
   * #cost} was called, the true cost is charged in place of the estimate. Never blocks. Does
   * nothing if the admission has ended before.
   */
  public void leaveSpent() {
    // An unknown status gives no tokens back.
    end(null).forEach(due -> due.batch.settleAsync(due.how, this::notSettled));
  }

  /** Logs a failed settlement: the response is sent, and the tokens stay spent. */
  private void notSettled(StoreException failure) {
    settlementFailed = true;
    log.failed(
        isEstimated() ? "the true cost was not charged" : "tokens were not given back", failure);
  }
}
