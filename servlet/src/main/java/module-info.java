// SPDX-License-Identifier: Apache-2.0
/** A Jakarta Servlet filter: which requests spend from which limits. */
module dev.sluice.servlet {
  requires transitive dev.sluice;
  requires transitive dev.sluice.web;
  requires transitive jakarta.servlet;

  exports dev.sluice.servlet;
}
