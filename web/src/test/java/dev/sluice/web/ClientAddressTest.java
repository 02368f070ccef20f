// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.IpAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a client's address is described and found; the contract of filters has more headers. */
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
        .hasMessage("there is no trusted proxy; add at least one, or use direct()");
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

  private static String found(ClientAddress how, @Nullable String peer, String... forwardedFor) {
    PlainRequest.Builder request = new PlainRequest.Builder("GET", "/").peer(peer);
    for (String line : forwardedFor) {
      request.header("X-Forwarded-For", line);
    }
    return String.valueOf(how.find(request.build()));
  }

  @Test
  void find_direct_isThePeer_withoutItsZone() {
    ClientAddress direct = ClientAddress.direct();
    assertThat(found(direct, "192.0.2.1", "6.6.6.6")).isEqualTo("192.0.2.1");
    assertThat(found(direct, "fe80::1%eth0")).isEqualTo("fe80::1");
    assertThat(found(direct, "[fe80::1%eth0]")).isEqualTo("fe80::1");
    assertThat(found(direct, null, "6.6.6.6")).isEqualTo("null");
    assertThat(direct.trusts("192.0.2.1")).isFalse();
  }

  @Test
  void find_behindProxies_endsWhereTrustEnds() {
    ClientAddress behind =
        ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1", "10.0.0.0/8", "fd00::/8");
    assertThat(found(behind, "127.0.0.1", "6.6.6.6, 192.0.2.1, 10.1.2.3")).isEqualTo("192.0.2.1");
    assertThat(found(behind, "fd00::7", "192.0.2.1")).isEqualTo("192.0.2.1");
    assertThat(found(behind, "127.0.0.1", "6.6.6.6", "192.0.2.1, 10.1.2.3")).isEqualTo("192.0.2.1");
    assertThat(found(behind, "127.0.0.1", "10.9.9.9")).isEqualTo("10.9.9.9");
    assertThat(found(behind, "127.0.0.1", "6.6.6.6, unknown, 10.1.2.3")).isEqualTo("10.1.2.3");
    assertThat(found(behind, "127.0.0.1")).isEqualTo("127.0.0.1");
    assertThat(found(behind, "127.0.0.2", "6.6.6.6")).as("no proxy").isEqualTo("127.0.0.2");
    assertThat(found(behind, null, "6.6.6.6")).isEqualTo("null");
    assertThat(behind.trusts("10.1.2.3")).isTrue();
    assertThat(behind.trusts("fd00::1%eth0")).isTrue();
    assertThat(behind.trusts("11.1.2.3")).isFalse();
    assertThat(behind.trusts("somebody")).isFalse();
    assertThat(behind.trusts(null)).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "null",
      delimiter = '|',
      value = {
        "127.0.0.1 | 6.6.6.6, 192.0.2.1, 10.1.2.3 | 192.0.2.1",
        "127.0.0.1 | lol, 192.0.2.1 | 192.0.2.1",
        "127.0.0.1 | 10.9.9.9 | 10.9.9.9",
        "127.0.0.1 | 6.6.6.6, unknown, 10.1.2.3 | null",
        "127.0.0.1 | lol | null",
        "127.0.0.1 | '' | null",
        "127.0.0.1 | null | null",
        "127.0.0.2 | 6.6.6.6 | null",
        "null | 6.6.6.6 | null",
      })
  void findNamed_isNothing_whereAProxyWouldStandForItsClients(
      @Nullable String peer, @Nullable String line, @Nullable String expected) {
    ClientAddress behind =
        ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1", "10.0.0.0/8");
    PlainRequest.Builder request = WebRequest.builder("GET", "/").peer(peer);
    if (line != null) {
      request.header("X-Forwarded-For", line);
    }
    assertThat(String.valueOf(behind.findNamed(request.build())))
        .isEqualTo(expected == null ? "null" : expected);
  }

  @Test
  void find_behindProxiesThatSendForwarded_readsThatHeaderAlone() {
    ClientAddress behind = ClientAddress.behind(ProxyHeader.FORWARDED, "10.0.0.0/8");
    WebRequest request =
        WebRequest.builder("GET", "/")
            .peer("10.0.0.1")
            .header("X-Forwarded-For", "6.6.6.6")
            .header("Forwarded", "for=192.0.2.1;proto=https, for=10.0.0.2")
            .build();
    assertThat(behind.find(request)).hasToString("192.0.2.1");
  }

  @Test
  void groupIpv6By_theWidestAndTheNarrowest_areTaken() {
    IpAddress address = IpAddress.parse("ffff::1");
    assertThat(ClientAddress.direct().groupIpv6By(1).grouped(address)).hasToString("8000::");
    assertThatThrownBy(() -> ClientAddress.direct().groupIpv6By(129))
        .hasMessage("bits: found 129, expected 1 to 128");
    IpAddress ipv4 = IpAddress.parse("192.0.2.1");
    assertThat(ClientAddress.direct().groupIpv6By(1).grouped(ipv4)).isEqualTo(ipv4);
  }

  @Test
  void range_containsItsFamilyAlone_andIsWrittenAsItWasRead() {
    AddressRange range = AddressRange.parse("10.0.0.0/8");
    assertThat(range).hasToString("10.0.0.0/8");
    assertThat(AddressRange.parse("2001:db8::")).hasToString("2001:db8::/128");
    assertThat(range.contains(IpAddress.parse("10.255.0.1"))).isTrue();
    assertThat(range.contains(IpAddress.parse("11.0.0.1"))).isFalse();
    AddressRange all = AddressRange.parse("::/0");
    assertThat(all.contains(IpAddress.parse("1::"))).isTrue();
    assertThat(all.contains(IpAddress.parse("10.0.0.1"))).isFalse();
  }
}
