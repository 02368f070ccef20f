// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/**
 * A client that uses one protocol of the server (a {@link Door}). Before the server closes a
 * connection, the server sends the client a message called the goodbye. The goodbye message differs
 * between protocols. Not thread-safe.
 */
public interface Client extends AutoCloseable {

  /**
   * Sends several requests at once, each of which spends one token, and reads the responses.
   *
   * @param id the id whose tokens are spent
   * @param requests the number of requests
   * @throws IOException if a request gets no response although the client sent it before the server
   *     announced the close, or if a response is unexpected
   */
  Answers ask(String id, int requests) throws IOException;

  /**
   * Returns the operations that this client can request. The operations use the limit {@link
   * Act#LIMIT}.
   */
  Set<Act> acts();

  /**
   * Requests an operation and reads the response.
   *
   * @param ids the ids whose buckets are used: several for a batch, otherwise one
   * @param cost the number of tokens for each id
   * @throws IOException in the cases in which {@link #ask} throws
   */
  Outcome act(Act act, List<String> ids, int cost) throws IOException;

  @Override
  void close() throws IOException;

  /**
   * An operation on the limit {@link #LIMIT}. The production drills compare this limit's buckets
   * with the expected number of tokens.
   */
  enum Act {
    SPEND,

    /** A check: reports how many tokens a spend would leave, and changes nothing. */
    CHECK,

    REFUND,

    /** A batch that spends tokens of several ids. The batch succeeds for all ids or for none. */
    BATCH,

    /** A reservation that is immediately cancelled. */
    RESERVE;

    /** The name of the limit that all operations use. */
    public static final String LIMIT = "LoginsPerUserPerIPAddress";

    /** The burst of {@link #LIMIT}. The burst is so large that no bucket is ever empty. */
    public static final long BURST = 10_000;

    /** The time in which one token refills. */
    public static final String PERIOD = "1h";

    /**
     * Returns how many tokens the response to this operation must report as spent. {@code lacked}
     * is the number of spent tokens before the operation.
     */
    public long shown(long lacked, int cost) {
      return this == REFUND ? lacked - cost : lacked + cost;
    }

    /**
     * Returns the number of spent tokens in the bucket after this operation. {@code lacked} is the
     * number of spent tokens before the operation.
     */
    public long left(long lacked, int cost) {
      return this == CHECK || this == RESERVE ? lacked : shown(lacked, cost);
    }
  }

  /**
   * The result of an operation.
   *
   * @param allowed whether the operation was allowed; false if the operation was denied or the
   *     store could not decide
   * @param remaining the remaining tokens of each bucket in the response, in the order of the ids
   */
  record Outcome(boolean allowed, List<Long> remaining) {

    static final Outcome UNDECIDED = new Outcome(false, List.of());
  }

  /**
   * The counts of the responses to several requests.
   *
   * @param allowed the number of allowed requests
   * @param denied the number of denied requests
   * @param undecided the number of requests that the store could not decide
   * @param unanswered the number of requests that had no response when the connection ended; 0 for
   *     a protocol in which the server reports which requests it did not read
   * @param goodbye whether the server has announced the end of the connection
   */
  record Answers(int allowed, int denied, int undecided, int unanswered, boolean goodbye) {

    static final Answers NONE = new Answers(0, 0, 0, 0, false);
    static final Answers UNDECIDED = new Answers(0, 0, 1, 0, false);

    static Answers of(boolean allowed) {
      return new Answers(allowed ? 1 : 0, allowed ? 0 : 1, 0, 0, false);
    }

    Answers plus(Answers other) {
      return new Answers(
          allowed + other.allowed,
          denied + other.denied,
          undecided + other.undecided,
          unanswered + other.unanswered,
          goodbye || other.goodbye);
    }

    /**
     * Returns these counts, with {@code goodbye} set if the server announced the end of the
     * connection.
     */
    Answers ending(boolean ends) {
      return plus(new Answers(0, 0, 0, 0, ends));
    }
  }
}
