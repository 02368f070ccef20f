// SPDX-License-Identifier: Apache-2.0
/** Reads and writes requests and decisions as JSON. */
module dev.sluice.wire {
  requires transitive com.fasterxml.jackson.core;
  requires transitive dev.sluice;

  exports dev.sluice.wire;
}
