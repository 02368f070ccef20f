// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SafeTextTest {

  @Test
  void quote_textThatIsTooLong_isCutBetweenCharacters() {
    String most = "x".repeat(80);
    assertThat(SafeText.quote(most)).isEqualTo("\"" + most + "\"");
    assertThat(SafeText.quote(most + "y")).isEqualTo("\"" + most + "…\"");
    String face = "\ud83d\ude00";
    assertThat(SafeText.quote("x".repeat(79) + face)).isEqualTo("\"" + "x".repeat(79) + "…\"");
    assertThat(SafeText.quote("x".repeat(78) + face))
        .isEqualTo("\"" + "x".repeat(78) + face + "\"");
    assertThat(SafeText.quote("a\"b\\c")).isEqualTo("\"a\\\"b\\\\c\"");
  }

  @Test
  void printable_invisibleCharacters_areEscaped() {
    String plain = "a line, ä";
    assertThat(SafeText.printable(plain)).isSameAs(plain);
    assertThat(SafeText.printable("a\u202eb\nc")).isEqualTo("a\\u202eb\\u000ac");
    assertThat(SafeText.printable("a\udb40\udd00")).isEqualTo("a\\U000e0100");
  }

  @Test
  void isInvisible_namesWhatShowsNothing() {
    for (int c : List.of(0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x34F, 0xFFA0, 0xA0, 0x2028, 0xE000)) {
      assertThat(SafeText.isInvisible(c)).as(Integer.toHexString(c)).isTrue();
    }
    for (int c : List.of((int) ' ', (int) 'a', 0xFE10, 0x1F600, 0x4E00)) {
      assertThat(SafeText.isInvisible(c)).as(Integer.toHexString(c)).isFalse();
    }
  }
}
