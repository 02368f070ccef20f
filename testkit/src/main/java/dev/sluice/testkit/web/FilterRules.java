// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A part of the contract. */
interface FilterRules {

  /** Returns the running test: its clock, its limits, its server. */
  FilterRun run();
}
