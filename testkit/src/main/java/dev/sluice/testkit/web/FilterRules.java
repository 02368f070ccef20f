// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A group of tests of {@link FilterContract}. */
interface FilterRules {

  /** Returns the clock, the limits and the server of the current test. */
  FilterRun run();
}
