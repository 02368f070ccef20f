// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Numbers as the format's specification writes them. */
final class MessagePackArrayTest {

  private static String hex(MessagePackArray array) {
    return HexFormat.of().formatHex(array.bytes());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 00",
    "127, 7f",
    "128, ce00000080",
    "4294967295, ceffffffff",
    "4294967296, cf0000000100000000",
    "9223372036854775807, cf7fffffffffffffff",
  })
  void add_number_takesTheShortestOfThreeForms(long number, String bytes) {
    MessagePackArray array = new MessagePackArray(1);
    array.add(number);
    assertThat(hex(array)).isEqualTo("dd00000001" + bytes);
  }

  @Test
  void bytes_ofAFullArray_beginWithTheCount() {
    MessagePackArray array = new MessagePackArray(3);
    assertThat(hex(array)).isEqualTo("dd00000000");
    array.addMinusOne();
    array.add(Long.MAX_VALUE);
    array.add(5);
    assertThat(hex(array)).isEqualTo("dd00000003" + "ff" + "cf7fffffffffffffff" + "05");
  }
}
