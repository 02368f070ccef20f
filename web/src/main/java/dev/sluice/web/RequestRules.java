// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import java.util.List;

/**
 * Rules for requests, such as a rule book read from a file, that are replaced together with the
 * limits. Thread-safe; no method blocks or calls a store.
 */
public interface RequestRules {

  /**
   * Returns the charges for a request.
   *
   * @param request the request
   * @param client finds the client's address
   * @param limits the current limits; if the limits contain rules, these rules are used instead of
   *     this object
   * @return the charges; {@link Charges#NONE} if no rule matches the request
   * @throws UnusableRequestException if the request lacks a value that a rule needs
   * @throws dev.sluice.limit.InvalidRequestException.UnknownLimitException for an unknown limit
   */
  Charges charges(WebRequest request, ClientAddress client, Limits limits);

  /**
   * Returns whether these rules never match a request.
   *
   * @return true for a rule book without rules, or with rules for descriptors only
   */
  boolean isEmpty();

  /**
   * The charges for a request.
   *
   * @param denied whether a rule denies the request, independently of limits
   * @param enforced the transactions to charge together, all or none, each on a different bucket
   * @param trials the transactions of shadow rules, to charge separately after {@code enforced}
   */
  record Charges(boolean denied, List<Transaction> enforced, List<Transaction> trials) {

    /** The charges for a request to which no rule applies. */
    public static final Charges NONE = new Charges(false, List.of(), List.of());

    /** The result for a request that a rule denies. */
    public static final Charges DENIED = new Charges(true, List.of(), List.of());

    /**
     * Makes charges.
     *
     * @param denied whether a rule denies the request
     * @param enforced the transactions; the list is copied
     * @param trials the transactions of shadow rules; the list is copied
     */
    public Charges {
      enforced = List.copyOf(enforced);
      trials = List.copyOf(trials);
    }
  }
}
