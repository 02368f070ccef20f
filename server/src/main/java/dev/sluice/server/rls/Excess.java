package dev.sluice.server.rls;

/**
 * What becomes of a cost that does not fit. It matters where the cost was incurred before it was
 * told: Envoy reports the tokens of a response when its stream has ended, and waits for no answer.
 */
enum Excess {
  /** Nothing is charged, as for a request that is refused. */
  REJECT,
  /** The bucket is emptied. */
  DRAIN,
  /**
   * All of it is charged, and the bucket is in debt until it has refilled. A bucket owes at most
   * {@value RateLimitRequests#DEEPEST_DEBT} times its burst; what is beyond is not charged.
   */
  DEBT
}
