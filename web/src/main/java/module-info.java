// SPDX-License-Identifier: Apache-2.0
/**
 * Rules for HTTP requests: which limits requests spend from, and the responses to denied requests.
 */
module dev.sluice.web {
  requires transitive dev.sluice;

  exports dev.sluice.web;
}
