// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/**
 * Watches a {@link RedisStore}, to count and to time what a {@code LimiterObserver} can't see.
 *
 * <p>Called on the store's threads and on its callers': keep it short, never block. While it
 * blocks, the answers of others wait for it, up to their time-outs. It hears of time-outs, and of
 * what happens after them, on another thread. So it delays none, and hears of them in their order;
 * while 16,384 events wait, more are dropped, with a line in the log. What it throws goes no
 * further; the first time it is logged. Implementations are thread-safe.
 */
public interface RedisObserver {

  /**
   * A call of the script ended.
   *
   * @param server host and port, or what else names the server
   * @param result how
   * @param batches how many callers shared the call
   * @param charges how many charges they brought
   * @param elapsedNanos how long the call took
   */
  default void called(String server, Result result, int batches, int charges, long elapsedNanos) {}

  /**
   * A batch failed before a call took it along; nothing was charged.
   *
   * @param server host and port, or what else names the server
   * @param why what stood in its way
   */
  default void refused(String server, Refusal why) {}

  /** A denial was answered from what an earlier one told, without a call. */
  default void deniedFromMemory() {}

  /**
   * A server was marked down, or up again.
   *
   * @param server host and port, or what else names the server
   * @param state what holds from now on
   * @param reason what was seen
   */
  default void changed(String server, State state, String reason) {}

  /** The end of a call of the script. */
  enum Result {
    /** The server decided. */
    ANSWERED,
    /** It refused, or could not be reached. */
    FAILED,
    /** Its answer did not come in time. */
    TIMED_OUT
  }

  /** The reason why no call took a batch along. */
  enum Refusal {
    /** The queue was full. */
    QUEUE_FULL,
    /** Its turn did not come in time. */
    WAITED_TOO_LONG,
    /** The server is marked down. */
    DOWN
  }

  /** The state of a server, as its circuit breaker has it. */
  enum State {
    /** It is called. */
    UP,
    /** It is not called: charges fail at once, and a probe looks for its return. */
    DOWN
  }
}
