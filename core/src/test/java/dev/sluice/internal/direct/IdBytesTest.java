// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class IdBytesTest {

  private static final SipHash KEYED = new SipHash(1, 2);
  private static final SipHash ONE = prefix("1:");
  private static final SipHash OTHER = prefix("2:");
  private static final List<String> TEXTS =
      List.of(
          "",
          "7",
          "8",
          "user-000000000000007",
          "user-000000000000008",
          "\u0137",
          "ä",
          "a\u0161",
          "x".repeat(300),
          "y".repeat(200));

  private final IdBytes bytes = new IdBytes();

  private static SipHash prefix(String text) {
    byte[] utf8 = (text + "\0".repeat(8)).getBytes(StandardCharsets.UTF_8);
    return new SipHash(0, 0).message(KEYED, utf8, 0, text.length());
  }

  /** What an object says that has never seen another id. */
  private static long fresh(SipHash prefix, String text) {
    IdBytes bytes = new IdBytes();
    boolean unused = bytes.set(text);
    return bytes.hashAfter(prefix).first();
  }

  private boolean set(String text, int way) {
    return switch (way) {
      case 0 -> bytes.set(text);
      case 1 -> bytes.set(CharBuffer.wrap(text));
      case 2 -> bytes.set(text.getBytes(StandardCharsets.UTF_8));
      default -> bytes.set(new String(text.toCharArray()));
    };
  }

  @Test
  void hash_whateverCameBefore_isThatOfTheTextAndThePrefix() {
    Random random = new Random(11);
    int known = 0;
    for (int i = 0; i < 200_000; i++) {
      String text = TEXTS.get(random.nextInt(TEXTS.size()));
      int way = random.nextInt(6);
      int times = random.nextInt(6);
      for (int j = 0; j < times; j++) {
        SipHash prefix = random.nextInt(8) == 0 ? OTHER : ONE;
        assertThat(set(text, way)).isEqualTo(text.chars().allMatch(c -> c < 0x80));
        assertThat(bytes).hasToString(text);
        known += bytes.isHashedAfter(prefix) ? 1 : 0;
        assertThat(bytes.hashAfter(prefix).first()).isEqualTo(fresh(prefix, text));
      }
      if (random.nextInt(4) == 0) {
        boolean unused = bytes.set("1:7");
        assertThat(bytes.hashKey(KEYED).first()).isEqualTo(fresh(ONE, "7"));
      }
      if (random.nextInt(4) == 0) {
        bytes.set(7);
        assertThat(bytes.hashAfter(ONE).first()).isEqualTo(fresh(ONE, "7"));
      }
    }
    assertThat(known).isGreaterThan(10_000);
  }

  @Test
  void text_thatComesAgainAndAgain_isKnownFromTheFourthTimeOn() {
    for (int i = 1; i <= 6; i++) {
      boolean unused = bytes.set(new String("10.0.0.1".toCharArray()));
      assertThat(bytes.isHashedAfter(ONE)).as("time %d", i).isEqualTo(i >= 4);
      assertThat(bytes.isHashedAfter(OTHER)).isFalse();
      SipHash unusedToo = bytes.hashAfter(ONE);
    }
    boolean unused = bytes.set("10.0.0.2");
    assertThat(bytes.isHashedAfter(ONE)).isFalse();
  }

  @Test
  void text_ofMoreThan256Characters_isNeverKept() {
    for (int length : new int[] {255, 256, 257}) {
      String text = "x".repeat(length);
      IdBytes fresh = new IdBytes();
      for (int i = 1; i <= 6; i++) {
        boolean unused = fresh.set(text);
        boolean known = i >= 4 && length <= 256;
        assertThat(fresh.isHashedAfter(ONE)).as("length %d", length).isEqualTo(known);
        SipHash unusedToo = fresh.hashAfter(ONE);
      }
    }
  }

  /** A text of which a character is asked for only after another id was charged. */
  private static CharSequence interrupted(String text, int where, Runnable between) {
    CharBuffer chars = CharBuffer.wrap(text);
    return new CharSequence() {
      @Override
      public int length() {
        return chars.length();
      }

      @Override
      public char charAt(int index) {
        if (index == where) {
          between.run();
        }
        return chars.charAt(index);
      }

      @Override
      public CharSequence subSequence(int start, int end) {
        return chars.subSequence(start, end);
      }

      @Override
      public String toString() {
        return text;
      }
    };
  }

  @Test
  void text_whoseCodeChargesAnotherId_leavesNothingOfThatBehind() {
    for (String inner : List.of("10.0.0.1", "9".repeat(250))) {
      Runnable charges =
          () -> {
            for (int i = 0; i < 5; i++) {
              boolean unused = bytes.set(inner);
              SipHash unusedToo = bytes.hashAfter(ONE);
            }
          };
      for (int where : new int[] {0, 5, 9}) {
        charges.run();
        boolean unused = bytes.set(interrupted("10.0.0.300", where, charges));
        assertThat(bytes).hasToString("10.0.0.300");
        assertThat(bytes.hashAfter(ONE).first()).isEqualTo(fresh(ONE, "10.0.0.300"));
        unused = bytes.set(inner);
        assertThat(bytes).hasToString(inner);
        assertThat(bytes.hashAfter(OTHER).first()).isEqualTo(fresh(OTHER, inner));
        CharSequence failing = interrupted("10.0.0.300", where, () -> fail(charges));
        assertThatThrownBy(() -> bytes.set(failing)).isInstanceOf(IllegalStateException.class);
        assertThat(bytes.isHashedAfter(ONE)).isFalse();
        unused = bytes.set(inner);
        assertThat(bytes).hasToString(inner);
        assertThat(bytes.hashAfter(ONE).first()).isEqualTo(fresh(ONE, inner));
      }
    }
  }

  /** The hash reads whole words: the array must go on behind the id. */
  @Test
  void hash_ofAnyLength_isThatOfTheWholeArray() {
    for (int length = 0; length < 300; length++) {
      byte[] utf8 = "x".repeat(length).getBytes(StandardCharsets.UTF_8);
      byte[] roomy = Arrays.copyOf(utf8, length + 8);
      long expected = new SipHash(0, 0).message(ONE, roomy, 0, length).end().first();
      assertThat(fresh(ONE, "x".repeat(length))).as("length %d", length).isEqualTo(expected);
      IdBytes bytes = new IdBytes();
      assertThat(bytes.set(utf8)).isTrue();
      assertThat(bytes.hashAfter(ONE).first()).as("length %d", length).isEqualTo(expected);
    }
  }

  @Test
  void text_withTheFirstAndTheLastCharacterOfEachLength_isItsUtf8() {
    for (int point : new int[] {0, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff}) {
      String text = Character.toString(point);
      byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
      assertThat(bytes.set(text)).as("U+%04X", point).isEqualTo(point < 0x80);
      assertThat(Arrays.copyOf(bytes.bytes(), bytes.length())).isEqualTo(utf8);
    }
    assertThat(bytes.set("\ud800")).isFalse();
    assertThat(Arrays.copyOf(bytes.bytes(), bytes.length()))
        .as("half of a pair, which the JDK would make a question mark")
        .isEqualTo(new byte[] {(byte) 0xed, (byte) 0xa0, (byte) 0x80});
  }

  @Test
  void array_ofAnIdThatWasMuchTooLong_isLetGoWithTheNext() {
    for (BooleanSupplier next :
        List.<BooleanSupplier>of(() -> bytes.set("1"), () -> bytes.set(new byte[1]))) {
      boolean unused = bytes.set("x".repeat(1_000_000));
      assertThat(bytes.bytes()).hasSizeGreaterThan(1_000_000);
      assertThat(next.getAsBoolean()).isTrue();
      assertThat(bytes.bytes()).hasSizeLessThan(1_000);
    }
  }

  private static void fail(Runnable first) {
    first.run();
    throw new IllegalStateException("no more characters");
  }
}
