// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import com.google.errorprone.annotations.FormatMethod;
import java.util.Locale;

/** Figures as text. Stateless. */
final class Seen {

  private Seen() {}

  @FormatMethod
  static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
