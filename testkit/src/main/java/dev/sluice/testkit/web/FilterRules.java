// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

interface FilterRules {

  FilterRun run();
}
