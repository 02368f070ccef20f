// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.production;

import com.google.errorprone.annotations.FormatMethod;

/** Thrown when a drill sees something that must not be. */
final class BrokenPromise extends Exception {

  private static final long serialVersionUID = 1;

  BrokenPromise(String what) {
    super(what);
  }

  @FormatMethod
  static void unless(boolean kept, String broken, Object... values) throws BrokenPromise {
    if (!kept) {
      throw new BrokenPromise(broken.formatted(values));
    }
  }
}
