// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where a key lands: its bytes, its hash tag, and the hash that places it on a ring. */
class KeysTest {

  @ParameterizedTest
  @CsvSource({
    // key, by id, by account
    "3:17, 3:{17}, 3:{17}",
    "4:17:a.com, 4:{17:a.com}, 4:{17}:a.com",
    "4:17:, 4:{17:}, 4:{17}:",
    "4::a.com, 4:{:a.com}, 4::a.com", // an empty tag is none
    "3:, 3:, 3:",
    ":17, :{17}, :{17}",
    "17, 17, 17"
  })
  void tag_isPutAroundTheId_orTheAccount(String key, String id, String account) {
    assertThat(HashTag.NONE.apply(key)).isEqualTo(key);
    assertThat(HashTag.ID.apply(key)).isEqualTo(id);
    assertThat(HashTag.ACCOUNT.apply(key)).isEqualTo(account);
  }

  /** As a Redis Cluster finds it: the first opening brace, and the first closing one behind it. */
  @ParameterizedTest
  @CsvSource({
    "a, a",
    "{a}, a",
    "x{y}z, y",
    "x{y}z{w}, y",
    "{{a}}, {a",
    "a{}b{c}, a{}b{c}",
    "{}, {}",
    "{a, {a",
    "a}, a}",
    "ab}c, ab}c",
    "}a{b}, b",
    "x{, x{"
  })
  void tagOf_isWhatACluster_hashes(String key, String tag) {
    assertThat(new String(Keys.tagOf(key.getBytes(UTF_8)), UTF_8)).isEqualTo(tag);
  }

  @Test
  void text_isTheInverseOfBytes_andNullForOtherKeys() {
    for (HashTag tag : HashTag.values()) {
      Keys keys = new Keys("app:", tag);
      for (String key : List.of("3:17", "3:", "x", "4:17:a:b", "4:{17}", "4:a}:b", "4::b", "4:ü")) {
        assertThat(keys.text(keys.bytes(key))).as("%s of %s", tag, key).isEqualTo(key);
      }
      assertThat(keys.text("other:3:17".getBytes(UTF_8))).isNull();
    }
    assertThat(new Keys("", HashTag.ID).text("3:17".getBytes(UTF_8))).isNull();
  }

  @Test
  void bytes_ofAnyPrefixAndKey_areUtf8() {
    Keys keys = new Keys("app:", HashTag.ID);
    for (String id : List.of("17", "ü", "€", "\uD83D\uDE00", "a\uD83D\uDE00b", "\uD83D\uDE00")) {
      assertThat(keys.bytes("3:" + id)).isEqualTo(("app:3:{" + id + "}").getBytes(UTF_8));
    }
  }

  /** UTF-8 would make a question mark of each half of a pair, and one bucket of all of them. */
  @Test
  void bytes_ofHalvesOfPairs_differFromEachOtherAndFromAllElse() {
    Keys keys = new Keys("", HashTag.NONE);
    List<String> texts = new ArrayList<>(List.of("3:?", "3:??", "3:\uD83D\uDE00"));
    for (char half : new char[] {'\uD800', '\uD801', '\uDBFF', '\uDC00', '\uDFFF', '\uD83D'}) {
      texts.addAll(
          List.of("3:" + half, half + "3:", "3:" + half + half, "3:" + half + "x", "3:x" + half));
    }
    texts.add("3:\uDE00\uD83D"); // a pair in the wrong order
    texts.add("3:\uD83D\uDE00\uD83D"); // a pair, and half of another one
    assertThat(texts.stream().map(keys::bytes).map(KeysTest::hex)).doesNotHaveDuplicates();
    assertThat(hex(keys.bytes("\uD800a\u07ff"))).isEqualTo("eda080e081a1e09fbf");
  }

  private static String hex(byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte one : bytes) {
      hex.append(String.format(Locale.ROOT, "%02x", one));
    }
    return hex.toString();
  }

  /** The bytes 200, 207, 214 and so on, by the tool of the hash's author (xxhsum -H64). */
  @ParameterizedTest
  @CsvSource({
    "0, ef46db3751d8e999",
    "1, 0249ac40cbc8f63e",
    "31, 4d3f27429e380323",
    "32, c6dc7ddef5bbe39d",
    "33, 06c833d7d37bf682",
    "39, a601b1d67300861d",
    "40, 2fecb1503d01f1de",
    "44, 09cc3c375ba32625",
    "45, 23795951e00c458c",
    "63, b4e21154e7725d41",
    "64, b48957dd39c25981",
    "72, 838c3e73f2a927d6",
    "79, acd06590268c27ce",
    "100, ac0cf7e8c53d6dc9"
  })
  void hash_ofBytes_isThatOfItsAuthorsTool(int length, String expected) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (200 + 7 * i);
    }
    assertThat(String.format(Locale.ROOT, "%016x", XxHash64.hash(bytes))).isEqualTo(expected);
  }

  /** MessagePack's own forms: one byte below 128, then 32 and 64 bits. */
  @Test
  void numbers_areWrittenInTheShortestFormThatTheScriptReads() {
    MessagePackArray numbers = new MessagePackArray(7);
    Stream.of(0L, 127L, 128L, 0xffff_ffffL, 0x1_0000_0000L, Long.MAX_VALUE).forEach(numbers::add);
    numbers.addMinusOne();
    assertThat(hex(numbers.bytes()))
        .isEqualTo(
            "dd00000007" // an array of seven
                + "00"
                + "7f"
                + "ce00000080"
                + "ceffffffff"
                + "cf0000000100000000"
                + "cf7fffffffffffffff"
                + "ff");
  }
}
