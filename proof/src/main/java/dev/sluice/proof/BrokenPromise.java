// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;

/** Thrown when a proof program observes behaviour that Sluice promises never to show. */
public final class BrokenPromise extends Exception {

  private static final long serialVersionUID = 1;

  public BrokenPromise(String what) {
    super(what);
  }

  /**
   * Requires that a promise was kept.
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
