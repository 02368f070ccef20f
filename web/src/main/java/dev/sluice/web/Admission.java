// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The result of charging a request: it may pass, or how it is refused. If conditional rules spent
 * tokens, the response's status later decides whether these stay spent: {@link #settle} or {@link
 * #leaveSpent} then ends the admission, once.
 *
 * <p>Thread-safe.
 */
public final class Admission {

  private final @Nullable Decision decision;
  private final @Nullable Refusal refusal;
  private final List<Batch<Integer>> open;
  private final QuietLog log;

  private Admission(
      @Nullable Decision decision,
      @Nullable Refusal refusal,
      List<Batch<Integer>> open,
      QuietLog log) {
    this.decision = decision;
    this.refusal = refusal;
    this.open = open;
    this.log = log;
  }

  static Admission passed(@Nullable Decision decision, List<Batch<Integer>> spent, QuietLog log) {
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
   * Returns whether the response's status decides on tokens to give back. If so, call {@link
   * #settle}, {@link #settleAsync} or {@link #leaveSpent} when the request ends.
   *
   * @return false for a request that was refused
   */
  public boolean isConditional() {
    return !open.isEmpty();
  }

  /**
   * Gives back the tokens of rules that do not count the response's status. Blocks until the store
   * has answered. If the store fails, the tokens stay spent and a warning is logged. Only the first
   * call that ends the admission does anything.
   *
   * @param status the status that the application answered with
   */
  public void settle(int status) {
    open.forEach(batch -> batch.settle(status, this::notGivenBack));
  }

  /**
   * Does the same as {@link #settle} without blocking.
   *
   * @param status the status that the application answered with
   * @return completes when the tokens are back; never fails because of the store
   */
  public CompletionStage<Void> settleAsync(int status) {
    return CompletableFuture.allOf(
        open.stream()
            .map(batch -> batch.settleAsync(status, this::notGivenBack))
            .map(CompletionStage::toCompletableFuture)
            .toArray(CompletableFuture<?>[]::new));
  }

  /**
   * Leaves all tokens spent, since the outcome of the application's work is unknown. Never blocks.
   * Only the first call that ends the admission does anything.
   */
  public void leaveSpent() {
    open.forEach(Batch::leaveSpent);
  }

  /** The response is on its way: the tokens stay spent, which errs on the strict side. */
  private void notGivenBack(StoreException failure) {
    log.failed("tokens were not given back", failure);
  }
}
