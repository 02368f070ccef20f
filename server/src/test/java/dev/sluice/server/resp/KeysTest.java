package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.Strictness;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class KeysTest {

  @ParameterizedTest
  @CsvSource({
    "user:123, user:123",
    "'a b', 'a b'",
    "50%, 50%25",
    "'', %",
    "Ünïcödé, Ünïcödé",
    "🪣, 🪣",
    "'a\nb', a%0Ab"
  })
  void text_staysAsItIs_butForPercentAndControls(String key, String id) {
    assertThat(id(key.getBytes(StandardCharsets.UTF_8))).isEqualTo(id);
  }

  private static String id(byte[] key) {
    return Keys.id(key, 0, key.length);
  }

  @Test
  void bytesThatAreNoText_areWrittenInHex() {
    assertThat(id(new byte[] {(byte) 0xff, 'a', (byte) 0xc3})).isEqualTo("%FFa%C3");
    assertThat(id(new byte[] {(byte) 0xed, (byte) 0xa0, (byte) 0x80})) // half a surrogate pair
        .isEqualTo("%ED%A0%80");
    assertThat(id(new byte[] {(byte) 0xc2, (byte) 0x85})).isEqualTo("%C2%85"); // C1 control
    assertThat(id(new byte[] {0})).isEqualTo("%00");
  }

  @Test
  void twoKeys_neverBecomeOneId_andEachIsAnId() {
    Map<String, String> keys = new HashMap<>();
    Random random = new Random(3);
    int[] pool = {
      'a', '%', '2', '5', 0, 0xff, 0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xaa, 0xa3
    };
    for (int i = 0; i < 200_000; i++) {
      byte[] key = new byte[random.nextInt(6)];
      for (int j = 0; j < key.length; j++) {
        key[j] = (byte) pool[random.nextInt(pool.length)];
      }
      String id = id(key);
      assertThat(IdFormat.string().canonical(id, Strictness.STRICT)).isEqualTo(id);
      String bytes = new String(key, StandardCharsets.ISO_8859_1);
      String other = keys.put(id, bytes);
      assertThat(other == null || other.equals(bytes)).as("two keys for %s", id).isTrue();
    }
  }
}
