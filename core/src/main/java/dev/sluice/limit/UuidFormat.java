// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import java.util.Locale;
import java.util.regex.Pattern;

/** A UUID as RFC 9562 writes it: 8-4-4-4-12 hexadecimal digits. */
final class UuidFormat implements IdFormat {

  static final UuidFormat INSTANCE = new UuidFormat();

  private static final Pattern UUID =
      Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

  private UuidFormat() {}

  @Override
  public String name() {
    return "uuid";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a UUID");
    if (!UUID.matcher(text).matches()) {
      throw new InvalidIdException(
          "invalid uuid, %s is not 8-4-4-4-12 hexadecimal digits".formatted(SafeText.quote(text)));
    }
    return strictness.canonical(text, text.toLowerCase(Locale.ROOT), "uuid");
  }

  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    for (int i = 0; i < length; i++) {
      byte c = ascii[i];
      boolean dash = i == 8 || i == 13 || i == 18 || i == 23;
      boolean hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      if (dash ? c != '-' : !hex) {
        return false;
      }
    }
    return length == 36;
  }
}
