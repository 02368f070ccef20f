// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.util.Exceptions;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.store.StoreException;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireRequest;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Sends operations to the limiter, and audits resets and refunds. Immutable; never blocks. */
public final class LimiterCalls {

  /** The most buckets of one refused batch that the audit log records. */
  private static final int MOST_NOTED = 10;

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final AuditLog audit;
  private final Denials denials;
  private final String door;

  /** Makes an object for the calls of the protocol {@code door}, as named in the audit log. */
  public LimiterCalls(Limiter limiter, AuditLog audit, Denials denials, String door) {
    this.limiter = limiter;
    this.async = limiter.async();
    this.audit = audit;
    this.denials = denials;
    this.door = door;
  }

  /** Converts a request to transactions, in order; refuses limits that the caller may not use. */
  public List<Transaction> transactions(WireRequest wire, Caller caller) {
    Limits limits = limiter.limits().get();
    List<Transaction> transactions =
        caller.lookUp(wire.limits(), () -> wire.toTransactions(limits, limiter));
    caller.require(Act.SPEND, transactions);
    return transactions;
  }

  /**
   * Runs one operation.
   *
   * @return a stage with the decision; a reset returns a decision only if a penalty is in force for
   *     one of its buckets
   * @throws WireException for a request with mistakes
   * @throws dev.sluice.server.base.RefusedException if the caller lacks the permission
   */
  public CompletionStage<Optional<Decision>> send(Act act, WireRequest wire, Caller caller) {
    return send(act, wire, caller, () -> DeniedRequest.at(door));
  }

  /** Runs one operation. A denial is reported with the details that {@code asked} returns. */
  public CompletionStage<Optional<Decision>> send(
      Act act, WireRequest wire, Caller caller, Supplier<DeniedRequest> asked) {
    List<Transaction> transactions = lookedUp(act, wire, caller);
    CompletionStage<Optional<Decision>> done =
        switch (act) {
          case CHECK -> unread(async.check(transactions)).thenApply(Optional::of);
          case SPEND ->
              (wire.isUpTo()
                      ? async.spendUpTo(transactions.get(0), wire.most())
                      : async.spend(transactions))
                  .thenApply(decision -> Optional.of(reported(decision, asked)));
          case REFUND -> async.refund(transactions).thenApply(Optional::of);
          case RESET -> async.reset(transactions).thenApply(nothing -> Optional.empty());
        };
    CompletionStage<Optional<Decision>> noted =
        audit.following(done, caller, door, act, transactions);
    return act == Act.RESET ? noted.thenCompose(nothing -> penalized(transactions)) : noted;
  }

  /** Returns the stage of a check, whose failure reports that the check charged nothing. */
  public static <T> CompletionStage<T> unread(CompletionStage<T> check) {
    return check.exceptionally(
        failure -> {
          Throwable cause = Exceptions.peel(failure);
          throw cause instanceof StoreException store && !store.chargedNothing()
              ? new FailedCheckException(store)
              : new CompletionException(cause);
        });
  }

  /** Thrown if the store could not decide on a check, which charges nothing. */
  private static final class FailedCheckException extends StoreException {

    private static final long serialVersionUID = 1;

    FailedCheckException(StoreException cause) {
      super(String.valueOf(cause.getMessage()), cause);
    }

    @Override
    public boolean chargedNothing() {
      return true;
    }
  }

  @CanIgnoreReturnValue
  public Decision reported(Decision decision) {
    return reported(decision, () -> DeniedRequest.at(door));
  }

  /** Adds a denial to the statistics, with details from {@code asked}; returns the decision. */
  @CanIgnoreReturnValue
  public Decision reported(Decision decision, Supplier<DeniedRequest> asked) {
    denials.report(decision, asked);
    return decision;
  }

  /**
   * Checks the buckets of a reset for penalties, which a reset does not lift. Returns the denial by
   * the longest penalty; empty if no bucket has a penalty by the store's clock.
   */
  private CompletionStage<Optional<Decision>> penalized(List<Transaction> reset) {
    Limits limits = limiter.limits().get();
    List<Transaction> asked =
        reset.stream()
            .filter(one -> one.quota() != null)
            .filter(one -> limits.penaltyFor(one.name(), one.id()) != null)
            .map(one -> one.withCost(0))
            .toList();
    return asked.isEmpty()
        ? CompletableFuture.completedFuture(Optional.empty())
        : async
            .check(asked)
            .thenApply(
                found ->
                    found.parts().stream()
                        .filter(part -> part.penalty() != null)
                        .max(Comparator.comparing(Decision::resetIn)))
            .exceptionally(failure -> Optional.empty()); // the reset itself was done
  }

  private List<Transaction> lookedUp(Act act, WireRequest wire, Caller anyCaller) {
    Caller caller = AuditLog.notes(act) ? anyCaller.about(noted(act, wire)) : anyCaller;
    caller.require(Permission.ofAct(act)); // first, since access control bounds what it records
    Limits limits = limiter.limits().get();
    try {
      return caller.lookUp(
          wire.limits(),
          () ->
              act == Act.RESET
                  ? wire.toResets(limits, limiter)
                  : act == Act.SPEND && wire.isUpTo()
                      ? wire.toSpendUpTo(limits, limiter)
                      : wire.toTransactions(limits, limiter));
    } catch (IllegalArgumentException e) { // access control records its own refusals
      audit.refused(caller, door, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  /** Returns one to ten audit-log entries, one per bucket, with the ids as the client sent them. */
  private static List<Noted> noted(Act act, WireRequest wire) {
    List<Noted> noted =
        wire.written().stream()
            .limit(MOST_NOTED)
            .map(one -> Noted.of(act, one.limit(), one.id()))
            .toList();
    return noted.isEmpty() ? List.of(Noted.of(act, null, null)) : noted;
  }

  /** Records the refusal of a reset or a refund whose buckets are not known yet. */
  public void refused(Act act, Caller caller, String why) {
    if (AuditLog.notes(act)) {
      audit.refused(caller.about(List.of(Noted.of(act, null, null))), door, why);
    }
  }
}
