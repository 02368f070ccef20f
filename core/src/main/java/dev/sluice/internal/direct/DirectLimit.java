// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/** A limit whose spends can be decided on many at a time. Only for Sluice's own modules. */
public interface DirectLimit {

  /**
   * Returns a way to decide on many spends at a time.
   *
   * @return for one thread; null where the store does not answer at once
   */
  @Nullable SpendPipeline spends();
}
