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

  Set<Act> acts();

  /** */
  Outcome act(Act act, List<String> ids, int cost) throws IOException;

  @Override
  void close() throws IOException;

  enum Act {
    SPEND,

    CHECK,

    REFUND,

    BATCH,

    /** A reservation that is cancelled at once. */
    RESERVE;

    /** The limit of the buckets that a ledger follows. */
    public static final String LIMIT = "LoginsPerUserPerIPAddress";

    /** The burst of the limit, so large that no bucket is ever empty. */
    public static final long BURST = 10_000;

    /** The time in which one token refills. */
    public static final String PERIOD = "1h";

    /** */
    public long shown(long lacked, int cost) {
      return this == REFUND ? lacked - cost : lacked + cost;
    }

    public long left(long lacked, int cost) {
      return this == CHECK || this == RESERVE ? lacked : shown(lacked, cost);
    }
  }

  /** */
  record Outcome(boolean allowed, List<Long> remaining) {

    static final Outcome UNDECIDED = new Outcome(false, List.of());
  }

  /** */
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

    Answers ending(boolean ends) {
      return plus(new Answers(0, 0, 0, 0, ends));
    }
  }
}
