// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;

/**
 * A place that keeps what is set at run time. Every method blocks on that place. Called by one
 * thread at a time.
 */
interface Keeper {

  /** The word for the place in answers: memory, file or table. */
  String place();

  /**
   * Whether the place may have changed since the last {@link #load}; cheap.
   *
   * @return true if it has to be read again
   */
  boolean hasChanged();

  /**
   * Reads all that is kept.
   *
   * @param names the names that there are
   * @throws KeepException if it cannot be read
   */
  Kept load(Catalogue names);

  /**
   * Keeps an override, which replaces the id's existing one.
   *
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  void put(LimitOverride override, Catalogue names);

  /**
   * Forgets an override.
   *
   * @return false if there is none
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  boolean remove(LimitName name, String id, Catalogue names);

  /**
   * Keeps a penalty, which replaces the id's existing one.
   *
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  void put(Penalty penalty, Catalogue names);

  /**
   * Forgets a penalty.
   *
   * @return false if there is none
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  boolean removePenalty(LimitName name, String id, Catalogue names);
}
