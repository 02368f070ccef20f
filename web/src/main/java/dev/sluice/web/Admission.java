// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The decision about a request: it may pass, or how it is refused. Where conditional rules spent
 * something, the response's status says later whether it counts: {@link #settle} or {@link
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
   * @return the decision; null if no enforced rule is for the request, or if nobody could decide
   */
  public @Nullable Decision decision() {
    return decision;
  }

  /**
   * Returns whether the response's status decides what is given back. If so, call {@link #settle},
   * {@link #settleAsync} or {@link #leaveSpent} when the request ends.
   *
   * @return false for a request that was refused
   */
  public boolean isConditional() {
    return !open.isEmpty();
  }

  /**
   * Gives back what the response's status does not count. Blocks as long as the store does. If the
   * store fails, the tokens stay spent and the log says so. Only the first call that ends the
   * admission does anything.
   *
   * @param status the status that the application answered with
   */
  public void settle(int status) {
    open.forEach(batch -> batch.settle(status, this::notGivenBack));
  }

  /**
   * Gives back what the response's status does not count, without blocking; otherwise as {@link
   * #settle}.
   *
   * @param status the status that the application answered with
   * @return done when it is given back; never fails because of the store
   */
  public CompletionStage<Void> settleAsync(int status) {
    return CompletableFuture.allOf(
        open.stream()
            .map(batch -> batch.settleAsync(status, this::notGivenBack))
            .map(CompletionStage::toCompletableFuture)
            .toArray(CompletableFuture<?>[]::new));
  }

  /**
   * Gives nothing back: nobody knows how the application's work ends. Never blocks. Only the first
   * call that ends the admission does anything.
   */
  public void leaveSpent() {
    open.forEach(Batch::leaveSpent);
  }

  /** The response is on its way: the tokens stay spent, which errs on the strict side. */
  private void notGivenBack(StoreException failure) {
    log.failed("tokens were not given back", failure);
  }
}
