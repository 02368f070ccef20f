// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static dev.sluice.limit.IdFormat.Strictness.LENIENT;
import static dev.sluice.limit.IdFormat.Strictness.STRICT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class IdFormatTest {

  private static final List<IdFormat> ALL =
      List.of(
          IdFormat.ipAddress(),
          IdFormat.ipv6Range(48),
          IdFormat.regId(),
          IdFormat.integer(),
          IdFormat.uuid(),
          IdFormat.string(),
          IdFormat.bytes());

  private static void assertRefused(IdFormat format, String text, Strictness mode, String message) {
    assertThatThrownBy(() -> format.canonical(text, mode))
        .as("%s of \"%s\"", format.name(), text.length() > 100 ? text.length() : text)
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining(message);
  }

  @Test
  void canonical_emptyOrEndless_isRefusedByEveryFormat() {
    String megabyte = "1".repeat(1 << 20);
    for (IdFormat format : ALL) {
      assertRefused(format, "", LENIENT, "the id is empty, expected ");
      assertRefused(format, megabyte, LENIENT, "the id has 1048576 characters");
    }
  }

  @Test
  void canonical_itsOwnResult_isItself() {
    for (String text : List.of("2001:DB8::1", "::ffff:1.2.3.4", "10.0.0.1")) {
      String canonical = IdFormat.ipAddress().canonical(text, LENIENT);
      assertThat(IdFormat.ipAddress().canonical(canonical, LENIENT)).isSameAs(canonical);
    }
  }

  /** As Envoy's masked_remote_address sends them. */
  @Test
  void ipAddress_ofARange_isItsLowestAddress() {
    IdFormat format = IdFormat.ipAddress();
    for (String[] range :
        new String[][] {
          {"192.0.2.7/32", "192.0.2.7"},
          {"192.0.2.0/24", "192.0.2.0"},
          {"0.0.0.0/0", "0.0.0.0"},
          {"2001:DB8:0::/64", "2001:db8::"},
          {"2001:db8::5/128", "2001:db8::5"},
          {"::/0", "::"},
          {"::ffff:192.0.2.7/128", "192.0.2.7"},
          {"::ffff:192.0.2.0/120", "192.0.2.0"}
        }) {
      assertThat(format.canonical(range[0], LENIENT)).as(range[0]).isEqualTo(range[1]);
      assertRefused(format, range[0], STRICT, "not in canonical form");
    }
    assertRefused(format, "2001:db8::5/64", LENIENT, "write \"2001:db8::\" for its range");
    assertRefused(
        format, "192.0.2.7/24", LENIENT, "after /24 that are not zero; write \"192.0.2.0\"");
    assertRefused(format, "::ffff:192.0.2.7/64", LENIENT, "write \"192.0.2.7\"");
    for (String none :
        List.of("192.0.2.7/33", "::/129", "::/", "::/064", "::/+1", "::/64/64", "/64", "1/8")) {
      assertRefused(format, none, LENIENT, "is not an IP address");
    }
  }

  @Test
  void split_isTheOtherWayOfJoin() {
    IdFormat pair = IdFormat.joined(IdFormat.ipAddress(), IdFormat.string());
    for (List<String> parts :
        List.of(List.of("2001:db8::1", "a:b"), List.of("192.0.2.7", "]:"), List.of("::", "["))) {
      assertThat(pair.split(pair.join(parts, LENIENT))).isEqualTo(parts);
    }
    assertThat(IdFormat.string().split("a:b")).containsExactly("a:b");
  }

  @Test
  void ipAddress_strict_refusesOtherSpellingsAndReservedBlocks() {
    IdFormat format = IdFormat.ipAddress();
    assertRefused(format, "2602:80A:6000::1", STRICT, "not in canonical form");
    for (String reserved :
        List.of(
            "10.1.2.3",
            "127.0.0.1",
            "192.168.0.1",
            "169.254.1.1",
            "::1",
            "fe80::1",
            "fc00::1",
            "2001:db8::1",
            "0.0.0.0",
            "::")) {
      assertRefused(format, reserved, STRICT, "reserved address block");
      assertThat(format.canonical(reserved, LENIENT)).isEqualTo(reserved);
    }
    assertThat(format.canonical("64.112.117.1", STRICT)).isEqualTo("64.112.117.1");
  }

  @Test
  void ipv6Range_lenient_clearsLowBits() {
    assertThat(IdFormat.ipv6Range(48).canonical("2001:0db8:1:ffff::1/48", LENIENT))
        .isEqualTo("2001:db8:1::/48");
    assertThat(IdFormat.ipv6Range(64).name()).isEqualTo("ipv6RangeCIDR/64");
    assertThat(IdFormat.ipv6Range(1).canonical("ffff::/1", LENIENT)).isEqualTo("8000::/1");
  }

  @Test
  void ipv6Range_anyOtherMask_isRefused() {
    IdFormat format = IdFormat.ipv6Range(48);
    for (String mask : List.of("/64", "/0", "/128")) {
      assertRefused(format, "2001:db8::" + mask, LENIENT, "/48 mask");
    }
    for (String mask : List.of("", "/", "/048", "/+48", "/4a", "/48/48", "/ 48", "/4800")) {
      assertRefused(format, "2001:db8::" + mask, LENIENT, "CIDR");
    }
    assertRefused(format, "10.0.0.0/48", LENIENT, "/48 mask");
    assertThatThrownBy(() -> IdFormat.ipv6Range(129)).hasMessageContaining("found 129");
    assertThatThrownBy(() -> IdFormat.ipv6Range(0)).hasMessageContaining("found 0");
  }

  @Test
  void regId_unsigned64Bits_isTaken() {
    IdFormat format = IdFormat.regId();
    assertThat(format.canonical("18446744073709551615", STRICT)).isEqualTo("18446744073709551615");
    assertThat(format.canonical("000", LENIENT)).isEqualTo("0");
    assertRefused(format, "0017", STRICT, "canonical");
    for (String text :
        List.of("18446744073709551616", "-1", "+1", "1.0", "1e3", " 1", "0x1", "٣", "lol")) {
      assertRefused(format, text, LENIENT, "regId");
    }
  }

  @Test
  void integer_signed64Bits_isTaken() {
    IdFormat format = IdFormat.integer();
    assertThat(format.canonical("-9223372036854775808", STRICT)).startsWith("-922");
    assertThat(format.canonical("-0", LENIENT)).isEqualTo("0");
    for (String text : List.of("9223372036854775808", "-", "--1", "+1", "1_000", "")) {
      assertRefused(format, text, LENIENT, "integer");
    }
  }

  @Test
  void uuid_anyCase_isOneBucket() {
    IdFormat format = IdFormat.uuid();
    String lower = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    assertThat(format.canonical("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", LENIENT)).isEqualTo(lower);
    assertThat(format.canonical(lower, STRICT)).isSameAs(lower);
    for (String text : List.of(lower + "0", "{" + lower + "}", lower.replace("-", ""), "f81d")) {
      assertRefused(format, text, LENIENT, "uuid");
    }
  }

  @Test
  void string_textThatCouldBeTwoTexts_isRefused() {
    IdFormat format = IdFormat.string();
    assertThat(format.canonical("Ünïcode 😀 \"quoted\"", STRICT))
        .isEqualTo("Ünïcode 😀 \"quoted\"");
    assertRefused(format, "a\u0000b", LENIENT, "U+0000 at position 2");
    assertRefused(format, "a\nb", LENIENT, "U+000A at position 2");
    assertRefused(format, "\u007f", LENIENT, "U+007F at position 1");
    assertRefused(format, "a\u0080", LENIENT, "U+0080 at position 2");
    assertRefused(format, "\u0085", LENIENT, "U+0085 at position 1");
    assertRefused(format, "\u009f", LENIENT, "U+009F at position 1");
    assertThat(format.canonical("\u00a0", STRICT)).isEqualTo("\u00a0");
    for (String lone : List.of("\ud83d", "a\ud83d", "\ud83da", "\ude00", "\ude00\ud83d")) {
      assertRefused(format, lone, LENIENT, "half of a surrogate pair");
    }
    assertThat(format.canonical("x".repeat(1024), LENIENT)).hasSize(1024);
    assertRefused(format, "x".repeat(1025), LENIENT, "1025 characters");
  }

  /** A message about a hostile id must stay on its line of a log, and short. */
  @Test
  void string_eachByteAtEachPlaceOfEachLength_isCanonicalUnlessAControlCharacter() {
    for (int length = 1; length <= 33; length++) {
      byte[] ascii = "~".repeat(length).getBytes(StandardCharsets.US_ASCII);
      for (int at = 0; at < length; at++) {
        for (byte b = 0; b >= 0; b++) {
          ascii[at] = b;
          assertThat(IdFormat.string().isCanonical(ascii, length))
              .as("%d at %d of %d", b, at, length)
              .isEqualTo(b >= ' ' && b != 0x7f);
        }
        ascii[at] = '~';
      }
    }
    assertThat(IdFormat.string().isCanonical(new byte[0], 0)).isFalse();
    byte[] endless = "a".repeat(IdFormat.MAX_LENGTH + 1).getBytes(StandardCharsets.US_ASCII);
    assertThat(IdFormat.string().isCanonical(endless, endless.length)).isFalse();
    assertThat(IdFormat.string().isCanonical(endless, endless.length - 1)).isTrue();
  }

  @Test
  void canonical_hostileText_isQuotedInTheMessage() {
    assertRefused(
        IdFormat.ipAddress(), "1\n2\r\u001b[31m", LENIENT, "\"1\\u000a2\\u000d\\u001b[31m\"");
    assertRefused(IdFormat.ipAddress(), "\u202e\u2028", LENIENT, "\"\\u202e\\u2028\"");
    assertThatThrownBy(() -> IdFormat.ipAddress().canonical("x".repeat(1000), LENIENT))
        .extracting(thrown -> thrown.getMessage().length())
        .satisfies(length -> assertThat((int) length).isLessThan(200));
  }

  @Test
  void parse_namesFile_knowsEveryFormat() {
    IdFormat.Registry formats = IdFormat.Registry.builtIn();
    for (IdFormat format : ALL) {
      assertThat(formats.parse(format.name()).name()).isEqualTo(format.name());
    }
    assertThat(formats.parse("ipv6RangeCIDR/64").name()).isEqualTo("ipv6RangeCIDR/64");
    assertThat(formats.parse("ipAddress:string").name()).isEqualTo("ipAddress:string");
    assertThatThrownBy(() -> formats.parse("ipAdress"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("did you mean \"ipAddress\"?");
    for (String text : List.of("", ":", "string:", "ipv6RangeCIDR/0", "ipv6RangeCIDR/129", "x")) {
      assertThatThrownBy(() -> formats.parse(text))
          .as(text)
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void bytes_anySpelling_hasOneCanonicalForm() {
    IdFormat format = IdFormat.bytes();
    assertThat(format.canonical("user:1 2", LENIENT)).isEqualTo("user:1 2");
    assertThat(format.canonical("%41%0a%fF", LENIENT)).isEqualTo("A%0A%FF");
    assertThat(format.canonical("é", LENIENT)).isEqualTo("%C3%A9");
    assertThat(format.canonical("\0", LENIENT)).isEqualTo("%00");
    assertThat(format.canonical("%25", STRICT)).isEqualTo("%25");
    for (String bad : List.of("", "%", "a%4", "%4g", "%\u0664\u0661", "\ud800")) {
      assertThatThrownBy(() -> format.canonical(bad, LENIENT))
          .as(bad)
          .isInstanceOf(InvalidIdException.class);
    }
    assertThatThrownBy(() -> format.canonical("%41", STRICT)).hasMessageContaining("canonical");
    assertThatThrownBy(() -> format.canonical("é".repeat(500), LENIENT))
        .hasMessageContaining("3000 characters");
  }

  @Test
  void ofBytes_differentBytes_haveDifferentIdsThatAreCanonical() {
    Set<String> ids = new HashSet<>();
    for (int first = 0; first < 256; first++) {
      for (int second = 0; second < 256; second += 5) {
        String id = IdFormat.ofBytes(new byte[] {(byte) first, (byte) second});
        assertThat(IdFormat.bytes().canonical(id, STRICT)).isSameAs(id);
        ids.add(id);
      }
    }
    assertThat(ids).hasSize(256 * 52);
    assertThatThrownBy(() -> IdFormat.ofBytes(new byte[0])).isInstanceOf(InvalidIdException.class);
    assertThatThrownBy(() -> IdFormat.ofBytes(new byte[342]))
        .isInstanceOf(InvalidIdException.class);
    assertThat(IdFormat.ofBytes(new byte[341])).hasSize(1023);
  }
}
