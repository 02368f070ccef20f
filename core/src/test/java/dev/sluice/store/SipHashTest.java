package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SipHashTest {

  private static final SipHash STATE = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);

  private static String hex(SipHash hash) {
    SipHash ended = hash.end();
    return Long.toHexString(ended.first()) + " " + Long.toHexString(ended.second());
  }

  private static SipHash limit(String prefix) {
    return new SipHash(STATE).message(prefix, 0, prefix.length());
  }

  @Test
  void kept_stateOfALimitWithAnId_meetsTheWholeKey() {
    for (String id : new String[] {"", "1", "10.0.0.1", "abcdefg", "abcdefgh", "ä€𝄞", "a:b:c"}) {
      SipHash whole = new SipHash(STATE).key("12:" + id);
      SipHash kept = new SipHash(limit("12:")).message(id, 0, id.length());
      byte[] bytes = id.getBytes(StandardCharsets.UTF_8);
      SipHash fromBytes = new SipHash(limit("12:")).message(bytes, 0, bytes.length);
      assertThat(hex(kept)).as(id).isEqualTo(hex(whole)).isEqualTo(hex(fromBytes));
    }
  }

  @Test
  void numbers_hashAsTheirDigits() {
    long number = 1;
    for (int digits = 1; digits <= 19; digits++, number *= 10) {
      for (long n : new long[] {number, number + 3, -number, number * 7 + 5}) {
        String id = Long.toString(n);
        assertThat(hex(limit("3:").message(n)))
            .as(id)
            .isEqualTo(hex(new SipHash(STATE).key("3:" + id)));
      }
    }
    assertThat(hex(limit("3:").message(0))).isEqualTo(hex(new SipHash(STATE).key("3:0")));
    assertThat(hex(limit("3:").message(Long.MAX_VALUE)))
        .isEqualTo(hex(new SipHash(STATE).key("3:" + Long.MAX_VALUE)));
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
      assertThat(hashes.add(hex(new SipHash(STATE).key(key)))).as(key).isTrue();
    }
  }

  @Test
  void another_processHashesOtherwise() {
    assertThat(hex(SipHash.randomlyKeyed().key("1:a")))
        .isNotEqualTo(hex(SipHash.randomlyKeyed().key("1:a")));
  }

  @Test
  void each_bitOfAKey_changesHalfOfTheResult() {
    Random random = new Random(5);
    double flipped = 0;
    int trials = 2_000;
    for (int i = 0; i < trials; i++) {
      byte[] id = new byte[1 + random.nextInt(40)];
      random.nextBytes(id);
      SipHash before = limit("1:").message(id, 0, id.length).end();
      id[random.nextInt(id.length)] ^= (byte) (1 << random.nextInt(8));
      SipHash after = limit("1:").message(id, 0, id.length).end();
      flipped += Long.bitCount(before.first() ^ after.first());
      flipped += Long.bitCount(before.second() ^ after.second());
    }
    assertThat(flipped / trials).isBetween(63.0, 65.0);
  }
}
