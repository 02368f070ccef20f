// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RendezvousTest {

  private static final int KEYS = 30_000;

  private static int[] places(String... servers) {
    Rendezvous placement = new Rendezvous(List.of(servers));
    return IntStream.range(0, KEYS)
        .map(i -> placement.serverOf(("3:" + i).getBytes(UTF_8)))
        .toArray();
  }

  @Test
  void serverOf_threeServers_spreadsEvenly() {
    long[] shares = new long[3];
    for (int place : places("shard1", "shard2", "shard3")) {
      shares[place]++;
    }
    for (long share : shares) {
      assertThat(share).isBetween(9_000L, 11_000L);
    }
  }

  @Test
  void serverOf_aFourthServer_movesItsShareAndNothingElse() {
    int[] before = places("shard1", "shard2", "shard3");
    int[] after = places("shard1", "shard2", "shard3", "shard4");
    assertThat(IntStream.range(0, KEYS).filter(i -> after[i] != before[i]))
        .allMatch(i -> after[i] == 3)
        .hasSizeBetween(KEYS / 5, KEYS * 3 / 10);
  }

  @Test
  void serverOf_keysWithOneTag_areTogether() {
    Rendezvous placement = new Rendezvous(List.of("a", "b", "c", "d", "e"));
    int place = placement.serverOf("3:{17}".getBytes(UTF_8));
    assertThat(placement.serverOf("4:{17}:example.com".getBytes(UTF_8))).isEqualTo(place);
    assertThat(placement.serverOf("17".getBytes(UTF_8))).isEqualTo(place);
  }

  /**
   * What the tests of go-redis, Boulder's client, say of its own ring (ring_test.go, since its
   * version 8): of {@code key0} to {@code key99} it puts 56 on the first of two servers of these
   * names, and every key with the tag on the second.
   */
  @Test
  void serverOf_namesOfBouldersClient_placesAsItDoes() {
    Rendezvous placement = new Rendezvous(List.of("ringShardOne", "ringShardTwo"));
    assertThat(IntStream.range(0, 100).map(i -> placement.serverOf(("key" + i).getBytes(UTF_8))))
        .filteredOn(place -> place == 0)
        .hasSize(56);
    assertThat(
            IntStream.range(0, 100)
                .map(i -> placement.serverOf(("key" + i + "{tag}").getBytes(UTF_8))))
        .containsOnly(1);
  }

  /** Published results of the hash, and those of its authors' program at the ends of its blocks. */
  @ParameterizedTest
  @CsvSource({
    "'', ef46db3751d8e999",
    "a, d24ec4f1a98c6e5b",
    "as, 1c330fb2d66be179",
    "asd, 631c37ce72a97393",
    "asdf, 415872f599cea71e",
    "'Call me Ishmael. Some years ago--never mind how long precisely-', 02a2e85470d6fd96",
    "abcdefgh, 3ad351775b4634b7",
    "0123456789ab, 862e292326b8a4fc",
    "'Call me Ishmael. Some years ago-', ce0d12f5fe4d4fb9",
    "'Call me Ishmael. Some years ago--never mind how long precisely--', b0942b8fa6c448ab"
  })
  void hash_knownTexts_isAsPublished(String text, String expected) {
    assertThat(String.format(Locale.ROOT, "%016x", XxHash64.hash(text.getBytes(UTF_8))))
        .isEqualTo(expected);
  }

  @Test
  void tagged_keys_neverCollide() {
    assertThat(HashTag.NONE.apply("4:17:a.com")).isEqualTo("4:17:a.com");
    assertThat(HashTag.ID.apply("4:17:a.com")).isEqualTo("4:{17:a.com}");
    assertThat(HashTag.ACCOUNT.apply("4:17:a.com")).isEqualTo("4:{17}:a.com");
    assertThat(HashTag.ACCOUNT.apply("3:17")).isEqualTo("3:{17}");
    assertThat(HashTag.ACCOUNT.apply("3:")).isEqualTo("3:");
    Keys keys = new Keys("", HashTag.NONE);
    assertThat(keys.bytes("3:\ud800")).isNotEqualTo(keys.bytes("3:\ud801"));
    assertThat(keys.bytes("3:ü")).isEqualTo("3:ü".getBytes(UTF_8));
  }
}
