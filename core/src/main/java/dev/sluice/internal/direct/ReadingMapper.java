// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * Converts a store's reading to a result, so that the store need not create an object for the
 * reading.
 *
 * <p>Called once per decision, on the thread that called the store. Implementations do not block.
 */
@FunctionalInterface
public interface ReadingMapper<R extends @Nullable Object> {

  /**
   * Returns the result.
   *
   * @param id the id as the text that the caller passed to the store; can be null
   * @param effect the effect of the charge
   * @param nowNanos the store's time of the decision, in nanoseconds since the Unix epoch
   * @param tatNanos the TAT before the charge, unsigned; 0 if there was no bucket
   */
  R of(@Nullable String id, Effect effect, long nowNanos, long tatNanos);
}
