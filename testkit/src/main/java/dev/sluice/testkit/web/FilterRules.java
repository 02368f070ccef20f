// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A part of the contract. */
interface FilterRules {

  /** The test that is running: its clock, its limits, its server. */
  FilterRun run();
}
