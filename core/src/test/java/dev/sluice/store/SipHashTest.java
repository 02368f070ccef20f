// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SipHashTest {

  /** A state of its own for each test: one for all would hide a constructor that is wrong. */
  private final SipHash keyed = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);

  private static String hex(SipHash hash) {
    hash.end();
    return Long.toHexString(hash.first()) + " " + Long.toHexString(hash.second());
  }

  private SipHash limit(String prefix) {
    return message(keyed, prefix.getBytes(StandardCharsets.UTF_8));
  }

  private static SipHash message(SipHash state, byte[] utf8) {
    IdBytes bytes = new IdBytes();
    boolean unused = bytes.set(utf8);
    return new SipHash(0, 0).message(state, bytes.bytes(), 0, utf8.length);
  }

  private SipHash key(String key) {
    IdBytes bytes = new IdBytes();
    boolean ascii = bytes.set(key);
    assertThat(ascii).isEqualTo(key.chars().allMatch(c -> c < 0x80));
    return new SipHash(0, 0).key(keyed, bytes.bytes(), bytes.length());
  }

  /**
   * Against another implementation, which gives the result of SipHash's paper for two rounds and
   * four.
   */
  @ParameterizedTest
  @CsvSource({
    "0, abac0158050fc4dc, 1ace04e0d59912cf",
    "1, c9f49bf37d57ca93, def85a912c01a876",
    "7, d3927d989bb11140, 10a60be74dd38588",
    "8, 369095118d299a8e, 8b5d62b75b69b91b",
    "15, d320d86d2a519956, 5e278ef77b7ff034",
    "16, cc4fdd1a7d908b66, c3b05b92860605e3",
    "63, 9d199062b7bbb3a8, 575cd672679498fb",
    "255, f76214e3153c4a15, 887d735af7c9632f",
  })
  void message_isHashedBySipHash13(int length, String first, String second) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) i;
    }
    assertThat(hex(message(keyed, bytes))).isEqualTo(first + " " + second);
  }

  @Test
  void kept_stateOfALimitWithAnId_meetsTheWholeKey() {
    for (String id : List.of("", "1", "10.0.0.1", "abcdefg", "abcdefgh", "ä€𝄞", "a:b:c")) {
      byte[] bytes = id.getBytes(StandardCharsets.UTF_8);
      assertThat(hex(message(limit("12:"), bytes))).as(id).isEqualTo(hex(key("12:" + id)));
    }
  }

  @Test
  void numbers_areTheirDigits() {
    IdBytes bytes = new IdBytes();
    long[] edges = {0, 9, 10, 99, 100, Long.MAX_VALUE, Long.MIN_VALUE, -1, -10, 1L << 62};
    Random random = new Random(7);
    for (int i = 0; i < 1_000 + edges.length; i++) {
      long number = i < edges.length ? edges[i] : random.nextLong() >> random.nextInt(64);
      bytes.set(number);
      assertThat(bytes).hasToString(Long.toString(number));
    }
  }

  @Test
  void different_keys_hashDifferently() {
    Set<String> hashes = new HashSet<>();
    String[] keys = {
      "",
      ":",
      "1",
      "1:",
      ":1",
      "1:\0",
      "1:\0\0",
      "\0:1",
      "1:2",
      "12:",
      "1\0:",
      "1:\uD800",
      "1:?",
      "1:\uDC00",
      "1:é",
      "1:e\u0301",
      "1:Ã©",
      "aaaaaaaa:",
      "aaaaaaaa",
      "aaaaaaa:a",
      "aaaaaaa:"
    };
    for (String key : keys) {
      assertThat(hashes.add(hex(key(key)))).as(key).isTrue();
    }
  }

  @Test
  void another_processHashesOtherwise() {
    byte[] key = {'1', ':', 'a', 0, 0, 0, 0, 0, 0, 0, 0};
    BucketTable one = new BucketTable(() -> 1, 1);
    BucketTable other = new BucketTable(() -> 1, 1);
    assertThat(hex(new SipHash(0, 0).key(one.keyedHash(), key, 3)))
        .isNotEqualTo(hex(new SipHash(0, 0).key(other.keyedHash(), key, 3)));
  }

  @Test
  void each_bitOfAKey_changesHalfOfTheResult() {
    Random random = new Random(5);
    double flipped = 0;
    int trials = 2_000;
    for (int i = 0; i < trials; i++) {
      byte[] id = new byte[1 + random.nextInt(40)];
      random.nextBytes(id);
      SipHash before = message(limit("1:"), id);
      id[random.nextInt(id.length)] ^= (byte) (1 << random.nextInt(8));
      SipHash after = message(limit("1:"), id);
      before.end();
      after.end();
      flipped += Long.bitCount(before.first() ^ after.first());
      flipped += Long.bitCount(before.second() ^ after.second());
    }
    assertThat(flipped / trials).isBetween(63.0, 65.0);
  }
}
