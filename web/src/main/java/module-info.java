// SPDX-License-Identifier: Apache-2.0
/** Rules for HTTP requests: which requests spend from which limits, and what the client is told. */
module dev.sluice.web {
  requires transitive dev.sluice;

  exports dev.sluice.web;
}
