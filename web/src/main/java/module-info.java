// SPDX-License-Identifier: Apache-2.0
/** Rules for HTTP requests: which limits requests spend from, and how denials are answered. */
module dev.sluice.web {
  requires transitive dev.sluice;

  exports dev.sluice.web;
}
