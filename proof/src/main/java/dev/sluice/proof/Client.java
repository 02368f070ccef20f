// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/** A client of one {@link Door} that spends one token with each request. Not thread-safe. */
public interface Client extends AutoCloseable {

  /**
   * Sends several requests without waiting in between, and reads the responses.
   *
   * @param id the id whose tokens are spent
   * @param requests the number of requests
   * @throws IOException if a request that was sent before the server's goodbye has no response, or
   *     if a response is unexpected
   */
  Answers ask(String id, int requests) throws IOException;

  /** Returns the operations that this client can request on the limit {@link Act#LIMIT}. */
  Set<Act> acts();

  /**
   * Requests an operation and reads the response.
   *
   * @param ids several ids for a batch, otherwise one id
   * @param cost the tokens for each id
   * @throws IOException under the conditions of {@link #ask}
   */
  Outcome act(Act act, List<String> ids, int cost) throws IOException;

  @Override
  void close() throws IOException;

  /** The operations on the limit whose buckets a ledger follows. */
  enum Act {
    SPEND,

    /** Reports how many tokens a spend would leave, and changes nothing. */
    CHECK,

    REFUND,

    /** A spend of several ids at once, charged all or nothing. */
    BATCH,

    /** A reservation that is cancelled at once. */
    RESERVE;

    /** The limit of the buckets that a ledger follows. */
    public static final String LIMIT = "LoginsPerUserPerIPAddress";

    /** The burst of the limit, so large that no bucket is ever empty. */
    public static final long BURST = 10_000;

    /** The time in which one token refills. */
    public static final String PERIOD = "1h";

    /**
     * Returns how many tokens a bucket lacks in the response to this operation, from how many it
     * lacked before.
     */
    public long shown(long lacked, int cost) {
      return this == REFUND ? lacked - cost : lacked + cost;
    }

    /**
     * Returns how many tokens a bucket lacks after this operation, from how many it lacked before.
     */
    public long left(long lacked, int cost) {
      return this == CHECK || this == RESERVE ? lacked : shown(lacked, cost);
    }
  }

  /**
   * The result of an operation.
   *
   * @param allowed whether the operation was allowed; also false if the store could not decide
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
   * @param unanswered the number of requests without a response when the connection ended, in a
   *     protocol that does not identify the requests that the server did not read
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
