// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.net.InetAddresses;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Against Guava's InetAddresses, which is stricter than the JDK and looks nothing up either. */
class IpAddressTest {

  private static final String ALPHABET = "0123456789abcdefABCDEF:::::....%/[] xg";

  /** What Guava says, but for zones and the digits of other scripts: it takes them, we refuse. */
  private static boolean isAddress(String text) {
    boolean plain = text.chars().allMatch(c -> c < 128 && c != '%');
    return plain && InetAddresses.isInetAddress(text);
  }

  private static void assertAsGuava(String text) {
    IpAddress parsed = IpAddress.parse(text);
    assertThat(parsed != null).as("\"%s\" is an address", text).isEqualTo(isAddress(text));
    if (parsed != null) {
      InetAddress expected = InetAddresses.forString(text);
      assertThat(parsed).as(text).hasToString(InetAddresses.toAddrString(expected));
      assertThat(IpAddress.parse(parsed.toString())).isEqualTo(parsed).hasSameHashCodeAs(parsed);
    }
  }

  @Test
  void parse_hostileTexts_areReadAsGuavaDoes() {
    for (String text :
        List.of(
            "",
            ":",
            "::",
            ":::",
            "::1",
            "1::",
            "::1::",
            "1:2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7::",
            "1:2:3:4:5:6:7:8::",
            "::1:2:3:4:5:6:7:8",
            "::2:3:4:5:6:7:8",
            "1::3:4:5:6:7:8",
            ":1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:",
            "12345::",
            "g::",
            "::g",
            "::1 ",
            " ::1",
            "[::1]",
            "::1%eth0",
            "::1/64",
            "1.2.3.4",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "01.2.3.4",
            "1.2.3.04",
            "0.0.0.0",
            "255.255.255.255",
            "0x7f.1",
            "127.1",
            "1",
            "1.2.3.",
            ".1.2.3",
            "1..2.3",
            "+1.2.3.4",
            "1.2.3.4 ",
            "::1.2.3.4",
            "::ffff:1.2.3.4",
            "::FFFF:1.2.3.4",
            "::ffff:102:304",
            "::ff00:102:304",
            "::ff:102:304",
            "1::ffff:102:304",
            "1:2:3:4:5:6:1.2.3.4",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::1.2.3.256",
            "1.2.3.4::",
            "::1.2.3",
            "64:ff9b::192.0.2.33",
            "2001:db8::1.2.3.4:5",
            "1١.2.3.4",
            "：：1",
            "a".repeat(10_000),
            ":".repeat(10_000),
            "1.".repeat(5_000))) {
      assertAsGuava(text);
    }
  }

  @Test
  void parse_randomTexts_areReadAsGuavaDoes() {
    Random random = new Random(11);
    for (int i = 0; i < 200_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(20); length > 0; length--) {
        text.append(ALPHABET.charAt(random.nextInt(ALPHABET.length())));
      }
      assertAsGuava(text.toString());
    }
  }

  @Test
  void parse_randomAddressesWithOneSlip_areReadAsGuavaDoes() throws UnknownHostException {
    Random random = new Random(13);
    for (int i = 0; i < 50_000; i++) {
      byte[] bytes = new byte[random.nextBoolean() ? 4 : 16];
      random.nextBytes(bytes);
      for (int zeros = random.nextInt(bytes.length); zeros > 0; zeros--) {
        bytes[random.nextInt(bytes.length)] = 0;
      }
      String text = InetAddresses.toAddrString(InetAddress.getByAddress(bytes));
      assertAsGuava(text);
      int at = random.nextInt(text.length());
      char slip = ALPHABET.charAt(random.nextInt(ALPHABET.length()));
      assertAsGuava(text.substring(0, at) + slip + text.substring(at + random.nextInt(2)));
    }
  }

  @Test
  void parse_ipv4MappedIpv6_isTheIpv4Address() {
    IpAddress mapped = IpAddress.parse("::ffff:192.0.2.1");
    assertThat(mapped).isEqualTo(IpAddress.parse("192.0.2.1")).hasToString("192.0.2.1");
    assertThat(mapped.isIpv4()).isTrue();
  }

  @Test
  void prefix_anyLength_keepsTheFirstBits() {
    IpAddress address = IpAddress.parse("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
    assertThat(address.prefix(48)).hasToString("2001:db8:ffff::");
    assertThat(address.prefix(50)).hasToString("2001:db8:ffff:c000::");
    assertThat(address.prefix(0)).hasToString("::");
    assertThat(address.prefix(128)).isEqualTo(address);
    assertThat(IpAddress.parse("192.0.2.255").prefix(25)).hasToString("192.0.2.128");
    assertThatThrownBy(() -> address.prefix(129)).hasMessageContaining("found 129, expected 0 to");
    assertThatThrownBy(() -> address.prefix(-1)).hasMessageContaining("found -1");
  }
}
