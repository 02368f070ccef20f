// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HostPortTest {

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:8080, 127.0.0.1:8080",
    ":0, 127.0.0.1:0",
    "8080, 127.0.0.1:8080",
    "0.0.0.0:65535, 0.0.0.0:65535",
    "[::1]:80, [0:0:0:0:0:0:0:1]:80",
  })
  void address_isRead_loopbackUnlessSaidOtherwise(String text, String address) {
    assertThat(HostPort.format(HostPort.parse(text))).isEqualTo(address);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "x", "127.0.0.1", "127.0.0.1:", ":65536", "::1:80", "a:b", ":-1", "h:1:2"})
  void junk_isRefused(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HostPort.parse(text))
        .withMessageContaining("found the address \"" + text + "\", expected host:port");
  }
}
