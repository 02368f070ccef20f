// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.time.Instant;
import java.util.List;

/**
 * Is told how each load of watched limit files went, for logs and metrics.
 *
 * <p>Called by one thread at a time, after the limits were replaced or kept. Its exceptions go to
 * the thread's uncaught exception handler and stop nothing.
 */
public interface ReloadListener {

  /**
   * Files were read and are about to be applied or refused; {@link #loaded} or {@link #failed}
   * follows.
   *
   * @param at when they were looked at
   * @param hash 12 hexadecimal digits, equal for equal contents of all files
   */
  default void offered(Instant at, String hash) {}

  /**
   * The files were good, and their limits hold now.
   *
   * @param at when they were applied
   * @param limits the limits that hold now
   * @param warnings what is doubtful in the files, sorted
   */
  void loaded(Instant at, Limits limits, List<Problem> warnings);

  /**
   * The files were bad; the limits that held before still hold. Told once for one content of the
   * files, however often they are looked at.
   *
   * @param at when they were looked at
   * @param problems what is wrong, sorted
   */
  void failed(Instant at, List<Problem> problems);

  /**
   * Looking at the files failed in a way that no file should cause, such as a lack of memory. The
   * limits that held before still hold, and the next look tries again.
   *
   * @param at when they were looked at
   * @param failure what was thrown
   */
  default void broke(Instant at, Throwable failure) {}
}
