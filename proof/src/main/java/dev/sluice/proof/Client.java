// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/** A connection to a {@link Door} that spends, one token with each request. Not thread-safe. */
public interface Client extends AutoCloseable {

  /**
   * Sends requests at once and reads their answers.
   *
   * @param id whose token is spent
   * @param requests how many
   * @throws IOException if a request is lost: it was sent before the server said that the
   *     connection ends, and has no answer; or if an answer is none that is expected
   */
  Answers ask(String id, int requests) throws IOException;

  /** What this client can ask of the limit {@link Act#LIMIT}. */
  Set<Act> acts();

  /**
   * Asks for an act, and reads its answer.
   *
   * @param ids several for a batch, else one
   * @param cost the tokens for each
   * @throws IOException as {@link #ask} does
   */
  Outcome act(Act act, List<String> ids, int cost) throws IOException;

  @Override
  void close() throws IOException;

  /** What a client may ask of the limit whose buckets are followed. */
  enum Act {
    SPEND,

    /** Says what a spend would leave, and changes nothing. */
    CHECK,

    REFUND,

    /** A spend of several ids at once, all or nothing. */
    BATCH,

    /** A spend that is taken back at once. */
    RESERVE;

    /** The limit of the followed buckets. */
    public static final String LIMIT = "LoginsPerUserPerIPAddress";

    /** So much that no bucket is ever empty. */
    public static final long BURST = 10_000;

    /** In which one token refills. */
    public static final String PERIOD = "1h";

    /** How many tokens a bucket lacks that is shown in the answer, where it lacked some before. */
    public long shown(long lacked, int cost) {
      return this == REFUND ? lacked - cost : lacked + cost;
    }

    /** How many it lacks from then on. */
    public long left(long lacked, int cost) {
      return this == CHECK || this == RESERVE ? lacked : shown(lacked, cost);
    }
  }

  /**
   * The result of an act. Immutable.
   *
   * @param allowed false also where the store could not decide
   * @param remaining what each of its buckets held then, in the order of the ids
   */
  record Outcome(boolean allowed, List<Long> remaining) {

    static final Outcome UNDECIDED = new Outcome(false, List.of());
  }

  /**
   * The answers to a few requests. Immutable.
   *
   * @param allowed how many may pass
   * @param denied how many may not
   * @param undecided for how many the store could not decide
   * @param unanswered how many had no answer when the connection ended, in a protocol that has no
   *     word for those that the server did not look at
   * @param goodbye whether the server has said that the connection ends
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

    /** The same, where the server says that the connection ends, or does not. */
    Answers ending(boolean ends) {
      return plus(new Answers(0, 0, 0, 0, ends));
    }
  }
}
