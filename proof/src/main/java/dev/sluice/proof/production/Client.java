// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/** A connection to a door that spends, one token with each request. Not thread-safe; it blocks. */
interface Client extends AutoCloseable {

  /**
   * Sends requests at once and reads their answers.
   *
   * @param id whose token is spent
   * @param requests how many
   * @return what they were answered
   * @throws IOException if a request is lost: it was sent before the server said that the
   *     connection ends, and has no answer; or if an answer is none that is expected
   */
  Answers ask(String id, int requests) throws IOException;

  /** What it can ask of the limit of a {@link Ledger}. */
  Set<Act> acts();

  /**
   * Asks for an act, and reads its answer.
   *
   * @param ids of {@link Ledger#LIMIT}: several for a batch, else one
   * @param cost the tokens for each
   * @throws IOException as {@link #ask} does
   */
  Outcome act(Act act, List<String> ids, int cost) throws IOException;

  @Override
  void close() throws IOException;

  /**
   * What a few requests were answered.
   *
   * @param allowed how many may pass
   * @param denied how many may not
   * @param undecided how many were told that the store could not decide
   * @param unanswered how many had no answer when the connection ended, in a protocol that has no
   *     word for those that the server did not look at
   * @param goodbye whether the server has said that the connection ends
   */
  record Answers(int allowed, int denied, int undecided, int unanswered, boolean goodbye) {

    Answers plus(Answers other) {
      return new Answers(
          allowed + other.allowed,
          denied + other.denied,
          undecided + other.undecided,
          unanswered + other.unanswered,
          goodbye || other.goodbye);
    }

    static Answers none() {
      return new Answers(0, 0, 0, 0, false);
    }

    /** The server says that the connection ends, or it does not. */
    static Answers ending(boolean goodbye) {
      return new Answers(0, 0, 0, 0, goodbye);
    }

    static Answers of(boolean allowed) {
      return new Answers(allowed ? 1 : 0, allowed ? 0 : 1, 0, 0, false);
    }
  }
}
