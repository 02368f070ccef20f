// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.faults;

/** Something that must not be was seen. */
final class BrokenPromise extends Exception {
  private static final long serialVersionUID = 1;

  BrokenPromise(String what) {
    super(what);
  }
}
