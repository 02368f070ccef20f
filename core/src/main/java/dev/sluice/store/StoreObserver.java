// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * Receives, for metrics, events of a store on servers that a {@code LimiterObserver} cannot see.
 *
 * <p>Called on the store's threads and on those of callers: keep it short, never block. While it
 * blocks, the answers to other callers wait, up to their time-outs. Time-outs, and later events
 * while those wait, are reported in order on another thread, so that the observer cannot delay
 * time-outs; while 16,384 events wait, more are dropped and logged. The observer's first exception
 * is logged; none reaches a caller. Implementations are thread-safe.
 */
public interface StoreObserver {

  /**
   * Called when a call of a server ended.
   *
   * @param server host and port, or another name of the server
   * @param result how the call ended
   * @param batches how many callers shared the call
   * @param charges how many charges they had together
   * @param elapsedNanos how long the call took
   */
  default void called(String server, Result result, int batches, int charges, long elapsedNanos) {}

  /**
   * Called when a batch failed before it was sent; nothing was charged.
   *
   * @param server host and port, or another name of the server
   * @param why the reason
   */
  default void refused(String server, Refusal why) {}

  /** Called when a remembered denial answered a charge, without a call. */
  default void deniedFromMemory() {}

  /**
   * Called when a server was marked down, or up again.
   *
   * @param server host and port, or another name of the server
   * @param state the new state
   * @param reason why the state changed
   */
  default void changed(String server, State state, String reason) {}

  /** The end of a call. */
  enum Result {
    /** The server decided. */
    ANSWERED,
    /** The server returned an error, or could not be reached. */
    FAILED,
    /** The server's answer did not come in time. */
    TIMED_OUT
  }

  /** The reason why a batch was not sent. */
  enum Refusal {
    /** The queue was full. */
    QUEUE_FULL,
    /** The batch's turn did not come in time. */
    WAITED_TOO_LONG,
    /** The server is marked down. */
    DOWN
  }

  /** The state of a server in its circuit breaker. */
  enum State {
    /** The server is called. */
    UP,
    /** The server is not called: charges fail at once, and probes check for its return. */
    DOWN
  }
}
