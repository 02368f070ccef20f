// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * Converts a store's reading to a result, so that the store need not create an object for it.
 *
 * <p>Called once for a decision, on the thread that asked. It does not block.
 */
@FunctionalInterface
public interface ReadingMapper<R extends @Nullable Object> {

  /**
   * Returns the result.
   *
   * @param id the id that was asked for, as the caller gave it as text
   * @param effect what was to be done
   * @param nowNanos the store's present, nanoseconds since the Unix epoch
   * @param tatNanos the TAT before the act, unsigned; 0 where there was no bucket
   */
  R of(@Nullable String id, Effect effect, long nowNanos, long tatNanos);
}
