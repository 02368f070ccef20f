// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static dev.sluice.limit.IdFormat.Strictness.LENIENT;
import static dev.sluice.limit.IdFormat.Strictness.STRICT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormats.JoinedFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The edges of the formats of ids: the last that is taken, the first that is refused, and where.
 */
class FormatEdgesTest {

  private static void assertRefused(IdFormat format, String id, String message) {
    assertThatThrownBy(() -> format.canonical(id, LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining(message);
  }

  @Test
  void canonical_placeOfAMistake_isCountedFromOne() {
    assertRefused(IdFormat.bytes(), "a%zz", "position 2");
    assertRefused(IdFormat.bytes(), "a\ud800", "position 2");
    assertRefused(IdFormat.string(), "a\ud800", "position 2");
  }

  @Test
  void bytes_thatGrowTooLongByTheirEscapes_areRefused() {
    assertRefused(IdFormat.bytes(), "\u00e9".repeat(200), "the id has 1200 characters");
    assertThat(IdFormat.bytes().canonical("%41\u00e9", LENIENT)).isEqualTo("A%C3%A9");
  }

  @Test
  void idsThatAreTooLong_areRefused_evenIfTheirPartsOrTheirCanonicalFormAreNot() {
    assertRefused(IdFormat.bytes(), "%41".repeat(400), "the id has 1200 characters");
    IdFormat joined = IdFormat.joined(IdFormat.string(), IdFormat.string());
    assertRefused(joined, "a".repeat(800) + ":" + "b".repeat(800), "the id has 1601 characters");
  }

  @Test
  void prefix_behindTwoAddressesInBrackets_hasBoth() {
    JoinedFormat format =
        new JoinedFormat(List.of(IdFormat.ipAddress(), IdFormat.ipAddress(), IdFormat.string()));
    String id = "[2001:db8::1]:[2001:db8::2]:a:b";
    assertThat(format.prefix(id, 1)).isEqualTo("[2001:db8::1]");
    assertThat(format.prefix(id, 2)).isEqualTo("[2001:db8::1]:[2001:db8::2]");
    assertThat(format.prefix("192.0.2.1:[2001:db8::2]:a", 2)).isEqualTo("192.0.2.1:[2001:db8::2]");
  }

  /** 64:ff9b::/96 and 64:ff9b:1::/48 are reserved. */
  @Test
  void address_besideAReservedBlock_isTaken() {
    assertThat(IdFormat.ipAddress().canonical("64:ff9b:2::1", STRICT)).isEqualTo("64:ff9b:2::1");
    assertThatThrownBy(() -> IdFormat.ipAddress().canonical("64:ff9b:1::1", STRICT))
        .hasMessageContaining("reserved address block");
  }

  @Test
  void ipv6Range_lengthOutOfRange_isRefused() {
    assertThat(IdFormat.ipv6Range(128).canonical("2001:db8::1/128", LENIENT))
        .isEqualTo("2001:db8::1/128");
    for (int bits : new int[] {0, 129}) {
      assertThatThrownBy(() -> IdFormat.ipv6Range(bits)).hasMessageContaining("found " + bits);
    }
    assertThatThrownBy(() -> IdFormat.ipv6Range(48).canonical("2001:db8::/48", STRICT))
        .hasMessageContaining("reserved address block");
  }

  @Test
  void prefix_longerThanTheAddress_isRefused() {
    assertThatThrownBy(() -> IpAddress.parse("10.0.0.1").prefix(33))
        .hasMessage("length: found 33, expected 0 to 32");
  }

  @Test
  void formats_ofOtherBitsOrParts_areNotEqual() {
    assertThat(IdFormat.ipv6Range(48)).isEqualTo(IdFormat.ipv6Range(48));
    assertThat(IdFormat.ipv6Range(48)).isNotEqualTo(IdFormat.ipv6Range(64));
    IdFormat one = IdFormat.joined(IdFormat.string(), IdFormat.uuid());
    assertThat(one).isEqualTo(IdFormat.joined(IdFormat.string(), IdFormat.uuid()));
    assertThat(one).isNotEqualTo(IdFormat.joined(IdFormat.uuid(), IdFormat.string()));
  }

  @Test
  void format_ofOnePart_joinsThatPartAlone_andDoubtsNothing() {
    IdFormat format = IdFormat.regId();
    assertThat(format.join(List.of("007"), LENIENT)).isEqualTo("7");
    assertThatThrownBy(() -> format.join(List.of("1", "2"), LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("found 2 parts");
    assertThat(format.doubt("7")).isNull();
  }

  @Test
  void denial_firstPartOfAPlainId_isTheId() {
    LimitName name = LimitName.builder(7, "A").message("for {id.1}").build();
    assertThat(name.denial(Quota.per(1, Duration.ofSeconds(1)), "x")).isEqualTo("for x");
  }
}
