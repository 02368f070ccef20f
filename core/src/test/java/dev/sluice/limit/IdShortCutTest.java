// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static dev.sluice.limit.IdFormat.Strictness.LENIENT;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The short cut of the hot path: an id that it takes is canonical, and it takes the usual ones. */
class IdShortCutTest {

  private static final String LONGEST = "x".repeat(IdFormat.MAX_LENGTH);

  /** Asks in an array that has more bytes than the id: those behind it must not count. */
  private static boolean isTaken(IdFormat format, String id) {
    byte[] ascii = id.getBytes(StandardCharsets.US_ASCII);
    byte[] room = Arrays.copyOf(ascii, ascii.length + 9);
    Arrays.fill(room, ascii.length, room.length, (byte) '\n');
    return format.isCanonical(room, ascii.length);
  }

  private static void assertTaken(IdFormat format, String... ids) {
    for (String id : ids) {
      assertThat(isTaken(format, id)).as("%s \"%s\"", format.name(), id).isTrue();
      assertThat(format.canonical(id, LENIENT)).isEqualTo(id);
    }
  }

  private static void assertLeft(IdFormat format, String... ids) {
    for (String id : ids) {
      assertThat(isTaken(format, id)).as("%s \"%s\"", format.name(), id).isFalse();
    }
  }

  @Test
  void ipAddress_takesIpv4WithoutLeadingZeros() {
    IdFormat format = IdFormat.ipAddress();
    assertTaken(
        format, "0.0.0.0", "255.255.255.255", "192.0.2.7", "1.2.3.4", "9.90.99.199", "10.0.0.10");
    assertLeft(format, "", "1.2.3", "1.2.3.", "1.2.3.4.", "1.2.3.4.5", ".1.2.3", "1..2.3", "...");
    assertLeft(format, "256.1.1.1", "1.1.1.256", "1.1.1.999", "01.2.3.4", "1.2.3.00", "1.2.3.04");
    assertLeft(format, "1.2.3./", "1.2.3.:", "1.2.3.a", "1.2.3.4 ", "1,2,3,4", "::1", "1.2.3.-1");
  }

  @Test
  void uuid_takesLowerCase() {
    String uuid = "01234567-89ab-cdef-0123-456789abcdef";
    IdFormat format = IdFormat.uuid();
    assertTaken(format, uuid, "00000000-0000-0000-0000-000000000000");
    assertTaken(format, "ffffffff-ffff-ffff-ffff-ffffffffffff");
    assertTaken(format, "99999999-9999-9999-9999-999999999999");
    assertTaken(format, "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa");
    assertLeft(format, "", uuid.substring(1), uuid.substring(0, 35), uuid + "0", uuid + "-");
    for (int i = 0; i < uuid.length(); i++) {
      boolean dash = uuid.charAt(i) == '-';
      for (char other : (dash ? "0a_" : "-AG/:`g").toCharArray()) {
        assertLeft(format, uuid.substring(0, i) + other + uuid.substring(i + 1));
      }
    }
  }

  @Test
  void numbers_areTakenUpTo18Digits() {
    for (IdFormat format : new IdFormat[] {IdFormat.regId(), IdFormat.integer()}) {
      assertTaken(format, "0", "1", "9", "10", "123456789", "9".repeat(18));
      assertLeft(format, "", "01", "00", "-1", "+1", "1a", "/1", "1:", "1/", ":", "1".repeat(19));
    }
  }

  @Test
  void bytes_areTakenWithoutEscapes() {
    IdFormat format = IdFormat.bytes();
    assertTaken(format, " ", "~", "a b", LONGEST);
    assertLeft(format, "", "%", "a%41", "a\u001f", "\u007fa", LONGEST + "x");
  }

  @Test
  void strings_areTakenWithoutControlCharacters() {
    IdFormat format = IdFormat.string();
    assertTaken(format, "a", " ", "~", "1234567", "12345678", "123456789", "%", LONGEST);
    assertTaken(format, "a text of nineteen.", "1234567 ~", "~~~~~~~~", "        ");
    assertLeft(format, "", "\n", "\u007f", "123456\n", "\u001f123456", "1234567\n", "\n2345678");
    assertLeft(format, "12345678\u007f", "\u00001234567890123456", LONGEST + "x");
  }

  @Test
  void otherFormats_takeNothing() {
    assertLeft(IdFormat.ipv6Range(64), "2001:db8::/64");
    assertLeft(IdFormat.joined(IdFormat.string(), IdFormat.string()), "a:b");
  }
}
