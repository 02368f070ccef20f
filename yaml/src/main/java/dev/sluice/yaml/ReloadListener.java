// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.time.Instant;
import java.util.List;

/**
 * Receives the outcome of each load of watched limit files, for logs and metrics.
 *
 * <p>Called by one thread at a time, after the limits were replaced or kept. Its exceptions go to
 * the thread's uncaught exception handler and stop nothing.
 */
public interface ReloadListener {

  /**
   * Called when files were read, before {@link #loaded} or {@link #failed}.
   *
   * @param at when the files were read
   * @param hash a hash of the contents of all files, 12 hexadecimal digits
   */
  default void offered(Instant at, String hash) {}

  /**
   * Called when the files were valid and their limits are in force.
   *
   * @param at when the limits were applied
   * @param limits the current limits
   * @param warnings the warnings about the files, sorted
   */
  void loaded(Instant at, Limits limits, List<Problem> warnings);

  /**
   * Called when the files had mistakes; the previous limits stay in force. Called only once while
   * the content stays the same, however often the files are polled.
   *
   * @param at when the files were read
   * @param problems the mistakes, sorted
   */
  void failed(Instant at, List<Problem> problems);

  /**
   * Called when a poll failed in a way that no file should cause, such as a lack of memory. The
   * previous limits stay in force, and the next poll tries again.
   *
   * @param at when the poll failed
   * @param failure the exception
   */
  default void broke(Instant at, Throwable failure) {}
}
