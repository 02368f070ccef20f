// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.acme;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.acme.AcmeTransactions;
import dev.sluice.acme.Identifier;
import dev.sluice.limit.IpAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The calls that the front end of a certificate authority makes to its limits, and nothing else of
 * it.
 *
 * <p>Not thread-safe, as the set of pauses would be a table.
 */
final class FrontEnd {

  private final Limiter limiter;
  private final AcmeTransactions acme;
  private final Set<String> paused = new HashSet<>();
  private long lastAccount;

  FrontEnd(Limiter limiter) {
    this.limiter = limiter;
    this.acme = AcmeLimits.bundled().transactions(limiter.limits());
  }

  /** Creates an account, if the client's address may have another. */
  Answer newAccount(IpAddress client) {
    Decision decision = limiter.spend(acme.newAccount(client));
    return decision.allowed()
        ? Answer.yes("account " + ++lastAccount)
        : Answer.no(decision.message());
  }

  /** Takes an order, if nothing stands in the way of its certificate. */
  Answer newOrder(long account, List<Identifier> identifiers, boolean isRenewal) {
    for (Identifier identifier : identifiers) {
      if (paused.contains(pauseKey(account, identifier))) {
        return Answer.no("paused for " + identifier.authorized() + ": unpause it to go on");
      }
    }
    Decision decision = limiter.spend(acme.newOrder(account, identifiers, isRenewal));
    return decision.allowed() ? Answer.yes("order") : Answer.no(decision.message());
  }

  /** An authorization failed: it counts, and at last the account is paused for the identifier. */
  Answer authorizationFailed(long account, Identifier identifier) {
    // Two spends, not a batch: the denial of the second must not undo the first.
    Decision counted = limiter.spend(List.of(acme.failedAuthorization(account, identifier)));
    Decision pause =
        limiter.spend(List.of(acme.failedAuthorizationForPausing(account, identifier)));
    if (pause.denied()) {
      paused.add(pauseKey(account, identifier));
      return Answer.no(pause.message());
    }
    long left = counted.parts().get(0).remaining();
    return Answer.yes("failed; " + left + " more may fail at once");
  }

  /** A certificate was issued: it counts for its domains and its set. */
  void issued(long account, List<Identifier> identifiers) {
    // Never denied: what does not fit is not spent, but the certificate exists.
    var unused = limiter.spend(acme.certificateIssued(account, identifiers, false));
  }

  /** The client says that its set-up is mended. */
  void unpause(long account, Identifier identifier) {
    limiter.reset(List.of(acme.unpause(account, identifier)));
    paused.remove(pauseKey(account, identifier));
  }

  /** A wildcard is paused with its name: what has to be proven for both is the same. */
  private static String pauseKey(long account, Identifier identifier) {
    return account + " " + identifier.authorized();
  }

  /**
   * Whether it was done, and what a person reads.
   *
   * @param allowed whether it was done
   * @param text why not, or what
   */
  record Answer(boolean allowed, String text) {

    static Answer yes(String text) {
      return new Answer(true, text);
    }

    static Answer no(String text) {
      return new Answer(false, text);
    }
  }
}
