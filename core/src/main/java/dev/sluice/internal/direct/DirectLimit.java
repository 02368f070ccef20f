// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/** A limit that can decide on many spends together. Only for Sluice's own modules. */
public interface DirectLimit {

  /**
   * Returns a pipeline that decides on many spends together.
   *
   * @return a pipeline for use by one thread; null if the store does not answer at once
   */
  @Nullable SpendPipeline spends();
}
