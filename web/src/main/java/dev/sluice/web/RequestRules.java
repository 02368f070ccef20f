// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import java.util.List;

/**
 * Rules for requests that come with the limits, such as a rule book that was read from a file. They
 * are replaced together with the limits. Implementations are thread-safe, do not block, and ask no
 * store.
 */
public interface RequestRules {

  /**
   * Finds what a request is charged.
   *
   * @param request the request
   * @param client how the client's address is found
   * @param limits the limits that hold now; rules that came with them decide, otherwise these
   * @return the charges; {@link Charges#NONE} if no rule is for the request
   * @throws UnusableRequestException if the request lacks what a rule needs
   * @throws dev.sluice.limit.InvalidRequestException.UnknownLimitException if the limits lack a
   *     limit that a rule names
   */
  Charges charges(WebRequest request, ClientAddress client, Limits limits);

  /**
   * Whether these rules match no request at all.
   *
   * @return true for a book of rules for descriptors alone, or without rules
   */
  boolean isEmpty();

  /**
   * What a request is charged.
   *
   * @param denied whether a rule refuses the request, whatever is left of a limit
   * @param enforced charged together, all or nothing, each bucket once
   * @param trials in shadow: charged afterwards, each separately
   */
  record Charges(boolean denied, List<Transaction> enforced, List<Transaction> trials) {

    /** Nothing limits the request. */
    public static final Charges NONE = new Charges(false, List.of(), List.of());

    /** A rule refuses the request. */
    public static final Charges DENIED = new Charges(true, List.of(), List.of());

    /**
     * Makes charges.
     *
     * @param denied whether a rule refuses the request
     * @param enforced copied
     * @param trials copied
     */
    public Charges {
      enforced = List.copyOf(enforced);
      trials = List.copyOf(trials);
    }
  }
}
