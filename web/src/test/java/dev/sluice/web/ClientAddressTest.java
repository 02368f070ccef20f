// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.IpAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a client's address is described. Which address is found, the contract of filters tests. */
class ClientAddressTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10.0.0.0/33      | found \"10.0.0.0/33\", expected an address or a range",
        "10.0.0.1/8       | did you mean 10.0.0.0/8?",
        "10.0.0           | expected an address or a range",
        "proxy.internal   | expected an address or a range",
        "10.0.0.0/        | expected an address or a range",
        "10.0.0.0/08      | expected an address or a range",
        "2001:db8::/129   | expected an address or a range",
        "''               | expected an address or a range"
      })
  void trustedProxy_thatIsNoAddressOrRange_isRefused(String text, String message) {
    assertThatThrownBy(() -> ClientAddress.behind(ProxyHeader.FORWARDED, text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("trusted proxies: ")
        .hasMessageContaining(message);
  }

  @Test
  void behind_nobody_isRefused() {
    assertThatThrownBy(() -> ClientAddress.behind(ProxyHeader.FORWARDED))
        .hasMessageContaining("use direct()");
  }

  @Test
  void groupIpv6By_outOfRange_isRefused() {
    assertThatThrownBy(() -> ClientAddress.direct().groupIpv6By(0))
        .hasMessage("bits: found 0, expected 1 to 128");
  }

  @Test
  void groupIpv6By_changesTheGroup() {
    IpAddress address = IpAddress.parse("2001:db8:1:2:3:4:5:6");

    assertThat(ClientAddress.direct().grouped(address)).hasToString("2001:db8:1:2::");
    assertThat(ClientAddress.direct().groupIpv6By(48).grouped(address)).hasToString("2001:db8:1::");
    assertThat(ClientAddress.direct().groupIpv6By(128).grouped(address)).isEqualTo(address);
  }
}
