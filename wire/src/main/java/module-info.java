// SPDX-License-Identifier: Apache-2.0
/** Requests and decisions as JSON writes them. */
module dev.sluice.wire {
  requires transitive com.fasterxml.jackson.core;
  requires transitive dev.sluice;

  exports dev.sluice.wire;
}
