// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;

/** Something that happens to a server in production, and what is promised then. */
interface Drill {

  /** What is tried, for the report. */
  String text();

  /**
   * Tries it.
   *
   * @return what was seen
   * @throws BrokenPromise if that is not what is promised
   * @throws NotTried if this machine cannot try it
   * @throws Exception if a process or a file cannot be made
   */
  String seen() throws Exception;
}
