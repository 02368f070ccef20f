package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * Watches a {@link RedisStore}, to count and to time what a {@code LimiterObserver} can't see.
 *
 * <p>Called on the store's threads: keep it short, never block, never throw. Implementations are
 * thread-safe.
 */
public interface RedisObserver {

  /**
   * A call of the script ended.
   *
   * @param server host and port, or what else names the server
   * @param batches how many callers shared the call
   * @param charges how many charges they brought
   * @param failure why there was no answer, null if there was one
   * @param elapsedNanos how long the call took
   */
  default void called(
      String server, int batches, int charges, @Nullable Throwable failure, long elapsedNanos) {}

  /** A denial was answered from what an earlier one told, without a call. */
  default void deniedFromMemory() {}

  /**
   * A server was given up, or is asked again.
   *
   * @param server host and port, or what else names the server
   * @param state what holds from now on
   * @param reason what was seen
   */
  default void changed(String server, State state, String reason) {}

  /** Whether a server is asked. */
  enum State {
    /** It is asked. */
    ASKED,
    /** It is not: calls fail at once, and a probe looks for its return. */
    GIVEN_UP
  }
}
