// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.time.Instant;
import java.util.List;

/**
 * Receives the outcome of each load of watched limit files, for logs and metrics.
 *
 * <p>Called by one thread at a time, after the limits were replaced or kept. An exception of the
 * listener goes to the thread's uncaught exception handler and does not stop the watcher.
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
   * Called when the files are valid and their limits are in force.
   *
   * @param at when the limits were applied
   * @param limits the current limits
   * @param warnings the warnings about the files, sorted
   */
  void loaded(Instant at, Limits limits, List<Problem> warnings);

  /**
   * Called after a rollback to earlier limits. Until the rollback ends, this method is called again
   * when changed files return to the content that they had at the time of the rollback. The default
   * implementation calls {@link #loaded}.
   *
   * @param at when the limits were put in force
   * @param limits the current limits
   * @param hash the hash of the files of the earlier load
   */
  default void putBack(Instant at, Limits limits, String hash) {
    loaded(at, limits, List.of());
  }

  /**
   * Called when the files have mistakes and the previous limits stay in force. If later polls read
   * the same content, this method is not called again.
   *
   * @param at when the files were read
   * @param problems the mistakes, sorted
   */
  void failed(Instant at, List<Problem> problems);

  /**
   * Called when a poll failed for a reason other than the files, such as a lack of memory. The
   * previous limits stay in force, and the next poll reads the files again.
   *
   * @param at when the poll failed
   * @param failure the exception
   */
  default void broke(Instant at, Throwable failure) {}
}
