// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * Converts a store's reading to a result, so that the store need not create an object for it.
 *
 * <p>Called once per decision, on the thread of the caller. Must not block.
 *
 * @param <R> the result
 */
@FunctionalInterface
public interface ReadingMapper<R extends @Nullable Object> {

  /**
   * Returns the result.
   *
   * @param id the id, as the caller gave it as text; null if the caller gave none
   * @param effect the operation
   * @param nowNanos the store's time, in nanoseconds since the Unix epoch
   * @param tatNanos the TAT before the operation, unsigned; 0 if there was no bucket
   * @return the result
   */
  R of(@Nullable String id, Effect effect, long nowNanos, long tatNanos);
}
