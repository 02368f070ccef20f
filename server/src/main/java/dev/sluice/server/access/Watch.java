// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

/** Tells access control of a caller behind the door. Thread-safe; never blocks. */
interface Watch {

  /** For callers that have no line in the file of tokens. */
  Watch NONE =
      new Watch() {
        @Override
        public void refused(Caller caller, String why) {}

        @Override
        public void asks() {}
      };

  /** Takes that a caller asked for something that it may not do. */
  void refused(Caller caller, String why);

  /**
   * Takes that a caller asks once more, within a request that was counted already.
   *
   * @throws dev.sluice.server.base.RefusedException if it sends too many requests
   */
  void asks();
}
