// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A group of tests of {@link FilterContract}. */
interface FilterRules {

  /** Returns the running test with its clock, its limits and its server. */
  FilterRun run();
}
