// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.resp.Request.Decimals;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class DecimalsTest {

  private static OptionalLong read(String text) {
    byte[] bytes = ("x" + text + "9").getBytes(StandardCharsets.UTF_8);
    return Decimals.read(bytes, 1, bytes.length - 2);
  }

  @ParameterizedTest
  @CsvSource({
    "0,0",
    "-0,0",
    "+7,7",
    "007,7",
    "-42,-42",
    "9223372036854775807,9223372036854775807",
    "-9223372036854775808,-9223372036854775808"
  })
  void numbersOf64Bits_areRead(String text, long number) {
    assertThat(read(text)).hasValue(number);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-",
        "+",
        "1.0",
        " 1",
        "1 ",
        "1e3",
        "0x1",
        "--1",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "१"
      })
  void anythingElse_isNot(String text) {
    assertThat(read(text)).isEmpty();
  }
}
