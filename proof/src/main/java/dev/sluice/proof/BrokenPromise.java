// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;

public final class BrokenPromise extends Exception {

  private static final long serialVersionUID = 1;

  public BrokenPromise(String what) {
    super(what);
  }

  /** */
  @FormatMethod
  public static void unless(boolean kept, String broken, Object... values) throws BrokenPromise {
    if (!kept) {
      throw new BrokenPromise(broken.formatted(values));
    }
  }
}
