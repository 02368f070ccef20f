// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;
import java.net.http.HttpResponse;

/** Thrown if a proof program finds that Sluice has broken a promise of its documentation. */
public final class BrokenPromise extends Exception {

  private static final long serialVersionUID = 1;

  public BrokenPromise(String what) {
    super(what);
  }

  /**
   * Throws unless a promise was kept.
   *
   * @param broken the message of the exception, a format string for the values
   */
  @FormatMethod
  public static void unless(boolean kept, String broken, Object... values) throws BrokenPromise {
    if (!kept) {
      throw new BrokenPromise(broken.formatted(values));
    }
  }

  /**
   * Throws unless a server's response has the expected status.
   *
   * @param what the request, such as "a reload"
   */
  public static void unlessStatus(int expected, HttpResponse<String> answer, String what)
      throws BrokenPromise {
    unless(
        answer.statusCode() == expected,
        "unexpected response to %s: %s %s",
        what,
        answer.statusCode(),
        answer.body());
  }
}
