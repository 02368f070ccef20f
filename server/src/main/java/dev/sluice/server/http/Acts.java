package dev.sluice.server.http;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.server.wire.WireRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Sends what a client has written to the limiter. Immutable and thread-safe; never blocks. */
final class Acts {

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final MissingDefault onMissing;

  /**
   * Makes the acts of a server.
   *
   * @param onMissing whether a limit that is known, and not configured, is refused
   */
  Acts(Limiter limiter, MissingDefault onMissing) {
    this.limiter = limiter;
    this.async = limiter.async();
    this.onMissing = onMissing;
  }

  /** Looks the transactions up under the limits that hold now. */
  List<Transaction> transactions(WireRequest wire) {
    return wire.toTransactions(limiter.limits().get(), onMissing);
  }

  /**
   * Does one act.
   *
   * @return the decision; nothing for a reset
   * @throws dev.sluice.server.wire.WireException for a request with mistakes
   */
  CompletionStage<Optional<Decision>> send(Act act, WireRequest wire) {
    if (act == Act.RESET) {
      Limits limits = limiter.limits().get();
      return async.reset(wire.toResets(limits, onMissing)).thenApply(nothing -> Optional.empty());
    }
    List<Transaction> transactions = transactions(wire);
    CompletionStage<Decision> decided =
        switch (act) {
          case CHECK -> async.check(transactions);
          case REFUND -> async.refund(transactions);
          default -> async.spend(transactions);
        };
    return decided.thenApply(Optional::of);
  }
}
