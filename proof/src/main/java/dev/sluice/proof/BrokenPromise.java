// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;

/** Thrown if a proof program observes behaviour that Sluice promises never to show. */
public final class BrokenPromise extends Exception {

  private static final long serialVersionUID = 1;

  public BrokenPromise(String what) {
    super(what);
  }

  /**
   * Throws if a promise was broken.
   *
   * @param broken the message of the exception, a format
   */
  @FormatMethod
  public static void unless(boolean kept, String broken, Object... values) throws BrokenPromise {
    if (!kept) {
      throw new BrokenPromise(broken.formatted(values));
    }
  }
}
