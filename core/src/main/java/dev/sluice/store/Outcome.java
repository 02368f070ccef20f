package dev.sluice.store;

/**
 * Makes an answer of what a store found, so that a store need not make an object for it.
 *
 * <p>Called once for a decision, on any thread, perhaps with locks held: it must not block, nor
 * call a store.
 *
 * @param <I> what the decision was asked for
 * @param <R> the answer
 */
@FunctionalInterface
public interface Outcome<I, R> {

  /**
   * The answer.
   *
   * @param id what the decision was asked for, as the caller gave it
   * @param incrementNanos the increment that was charged
   * @param nowNanos the store's present, as in {@link Reading}
   * @param tatNanos the TAT before the act, as in {@link Reading}
   * @return the answer
   */
  R of(I id, long incrementNanos, long nowNanos, long tatNanos);
}
