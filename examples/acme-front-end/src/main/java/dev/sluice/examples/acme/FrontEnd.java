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
 * The calls that the front end of a certificate authority makes to its limits, without the rest of
 * a front end.
 *
 * <p>Not thread-safe: a real front end stores the paused identifiers in a database table.
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

  /** Creates an account, unless the client's address already has too many new accounts. */
  Answer newAccount(IpAddress client) {
    Decision decision = limiter.spend(acme.newAccount(client));
    return decision.allowed()
        ? Answer.yes("account " + ++lastAccount)
        : Answer.no(decision.message());
  }

  /** Accepts an order, unless a limit or a pause prevents its certificate. */
  Answer newOrder(long account, List<Identifier> identifiers, boolean isRenewal) {
    for (Identifier identifier : identifiers) {
      if (paused.contains(pauseKey(account, identifier))) {
        return Answer.no(identifier.authorized() + " is paused; unpause the name to continue");
      }
    }
    Decision decision = limiter.spend(acme.newOrder(account, identifiers, isRenewal));
    return decision.allowed() ? Answer.yes("order") : Answer.no(decision.message());
  }

  /**
   * Counts a failed authorization. Too many failures in a row pause the account for the identifier.
   */
  Answer authorizationFailed(long account, Identifier identifier) {
    // Two spends, not a batch: the denial of the second spend must not undo the first spend.
    Decision counted = limiter.spend(List.of(acme.failedAuthorization(account, identifier)));
    Decision pause =
        limiter.spend(List.of(acme.failedAuthorizationForPausing(account, identifier)));
    if (pause.denied()) {
      paused.add(pauseKey(account, identifier));
      return Answer.no(pause.message());
    }
    long left = counted.parts().get(0).remaining();
    return Answer.yes("failed; " + left + " more failure(s) allowed at once");
  }

  /**
   * Counts an issued certificate for its domains and for its set of names. A renewal counts only
   * for its set of names.
   */
  void issued(long account, List<Identifier> identifiers, boolean isRenewal) {
    // The batch is spend-only, since the certificate exists: a bucket with too few tokens is not
    // charged.
    var unused = limiter.spend(acme.certificateIssued(account, identifiers, isRenewal));
  }

  /** Ends the pause of an identifier after the client has repaired its setup. */
  void unpause(long account, Identifier identifier) {
    limiter.reset(List.of(acme.unpause(account, identifier)));
    paused.remove(pauseKey(account, identifier));
  }

  /**
   * A wildcard name is paused together with its base name, since both need the same proof of
   * control.
   */
  private static String pauseKey(long account, Identifier identifier) {
    return account + " " + identifier.authorized();
  }

  /**
   * The response of the front end: whether it did what the client requested, and a text for people.
   *
   * @param allowed whether the front end did what the client requested
   * @param text why the front end refused the request, or else what the front end did
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
