// SPDX-License-Identifier: Apache-2.0
/** A Jakarta Servlet filter, whose rules decide which limits a request is charged to. */
module dev.sluice.servlet {
  requires transitive dev.sluice;
  requires transitive dev.sluice.web;
  requires transitive jakarta.servlet;

  exports dev.sluice.servlet;
}
