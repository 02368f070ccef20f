// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.testkit.web.FilterRun.FilterRules;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests of how a filter finds the client's address. The proxy at 127.0.0.1 and all proxies in
 * 10.0.0.0/8 are trusted. A trusted proxy appends to the header the address from which it received
 * the request. A client can forge everything in the header to the left of the address that the
 * proxy appended.
 */
interface ClientAddressRules extends FilterRules {

  private void startBehind(ProxyHeader header) throws Exception {
    startWith(ClientAddress.behind(header, "127.0.0.1", "10.0.0.0/8", "2001:db8:ffff::/48"));
  }

  private void startWith(ClientAddress how) throws Exception {
    run()
        .start(
            how,
            HeaderProfile.NONE,
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build());
  }

  /** Sends a request, and returns the id that the filter charged for the request. */
  private String client(String... headerLines) throws Exception {
    run().time().advance(Duration.ofMinutes(1)); // all earlier charges have refilled
    int before = run().decisions().size();
    assertThat(run().raw("/page", headerLines)).startsWith("HTTP/1.1 200");
    List<Decision> decisions = run().decisions();
    assertThat(decisions).hasSize(before + 1);
    return Objects.requireNonNull(decisions.get(before).transaction()).id();
  }

  /** Checks several rows, each with a header value and the client address to be found. */
  private void check(ProxyHeader header, String... rows) throws Exception {
    startBehind(header);
    for (String row : rows) {
      int bar = row.lastIndexOf('|');
      String value = row.substring(0, bar).strip();
      assertThat(client(name(header) + ": " + value))
          .as("%s: %s", header, value)
          .isEqualTo(row.substring(bar + 1).strip());
    }
  }

  private static String name(ProxyHeader header) {
    return header.name().replace('_', '-').toLowerCase(Locale.ROOT);
  }

  @Test
  default void direct_believesNoHeader() throws Exception {
    startWith(ClientAddress.direct());

    assertThat(client("X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6")).isEqualTo("127.0.0.1");
  }

  @Test
  default void xForwardedFor_isReadFromTheRight_asFarAsTrustGoes() throws Exception {
    check(
        ProxyHeader.X_FORWARDED_FOR,
        "192.0.2.1                              | 192.0.2.1",
        "192.0.2.1:4711                         | 192.0.2.1",
        "192.0.2.1, 10.1.2.3                    | 192.0.2.1",
        "192.0.2.1,10.1.2.3,10.4.5.6            | 192.0.2.1",
        "192.0.2.1, 2001:db8:ffff::9            | 192.0.2.1",
        "2001:db8:1:2:3:4:5:6                   | 2001:db8:1:2::",
        "[2001:db8:1:2:3:4:5:6]                 | 2001:db8:1:2::",
        "[2001:db8:1:2:3:4:5:6]:4711            | 2001:db8:1:2::",
        "::ffff:192.0.2.1                       | 192.0.2.1",
        "[::ffff:c000:201]:80                   | 192.0.2.1",
        "10.9.9.9                               | 10.9.9.9",
        // Spoofed headers: the client has sent the addresses on the left.
        "6.6.6.6, 192.0.2.1                     | 192.0.2.1",
        "10.6.6.6, 192.0.2.1                    | 192.0.2.1",
        "6.6.6.6, 192.0.2.1, 10.1.2.3           | 192.0.2.1",
        "127.0.0.1, 192.0.2.1                   | 192.0.2.1",
        "\"6.6.6.6, 192.0.2.1                   | 192.0.2.1",
        // If a proxy does not report its client's address, the proxy counts as the client.
        "6.6.6.6, unknown                       | 127.0.0.1",
        "6.6.6.6, unknown, 10.1.2.3             | 10.1.2.3",
        "6.6.6.6, _hidden                       | 127.0.0.1",
        "6.6.6.6,                               | 127.0.0.1",
        "6.6.6.6, , 10.1.2.3                    | 10.1.2.3",
        "6.6.6.6, unix:                         | 127.0.0.1",
        // Malformed values.
        "6.6.6.6, fe80::1%eth0                  | 127.0.0.1",
        "6.6.6.6, [fe80::1%25eth0]:80           | 127.0.0.1",
        "6.6.6.6, 192.0.2.256                   | 127.0.0.1",
        "6.6.6.6, 192.0.2                       | 127.0.0.1",
        "6.6.6.6, 192.0.2.01                    | 127.0.0.1",
        "6.6.6.6, 0x7f.1                        | 127.0.0.1",
        "6.6.6.6, 3232235777                    | 127.0.0.1",
        "6.6.6.6, 192.0.2.1:port                | 127.0.0.1",
        "6.6.6.6, 192.0.2.1:                    | 127.0.0.1",
        "6.6.6.6, [192.0.2.1]                   | 127.0.0.1",
        "6.6.6.6, [2001:db8::1                  | 127.0.0.1",
        "6.6.6.6, [2001:db8::1]x                | 127.0.0.1",
        "6.6.6.6, []                            | 127.0.0.1",
        "6.6.6.6, localhost                     | 127.0.0.1",
        "6.6.6.6, ١٩٢.0.2.1                     | 127.0.0.1");
  }

  @Test
  default void forwarded_isReadFromTheRight_asFarAsTrustGoes() throws Exception {
    check(
        ProxyHeader.FORWARDED,
        "for=192.0.2.1                                        | 192.0.2.1",
        "For=192.0.2.1;proto=https;by=10.0.0.1                | 192.0.2.1",
        "proto=https; FOR=\"192.0.2.1:4711\"                  | 192.0.2.1",
        "for=\"[2001:db8:1:2::3]:4711\"                       | 2001:db8:1:2::",
        "for=\"[2001:db8:1:2::3]\", for=10.1.2.3              | 2001:db8:1:2::",
        "for=\"[2001:db8:1:2::3]:_port\"                      | 2001:db8:1:2::",
        "for=192.0.2.1, for=10.1.2.3;host=\"a,b;for=6.6.6.6\" | 192.0.2.1",
        // Spoofed values.
        "for=6.6.6.6, for=192.0.2.1                           | 192.0.2.1",
        "for=\"6.6.6.6, for=192.0.2.1                         | 192.0.2.1",
        "for=6.6.6.6;x=\", for=192.0.2.1                      | 192.0.2.1",
        "for=6.6.6.6;x=\"\\, for=192.0.2.1                    | 192.0.2.1",
        // Header values without a client address, and malformed header values.
        "for=6.6.6.6, for=unknown                             | 127.0.0.1",
        "for=6.6.6.6, for=_hidden, for=10.1.2.3               | 10.1.2.3",
        "for=6.6.6.6, proto=https                             | 127.0.0.1",
        "for=6.6.6.6, for=192.0.2.1;for=192.0.2.2             | 127.0.0.1",
        "for=6.6.6.6, for=\"192.0.2.1                         | 127.0.0.1",
        "for=6.6.6.6, for=\"192.0.2.\\1\"                     | 127.0.0.1",
        "for=6.6.6.6, for=                                    | 127.0.0.1",
        "for=6.6.6.6, for=\"\"                                | 127.0.0.1",
        "for=6.6.6.6, 192.0.2.1                               | 127.0.0.1",
        "for=6.6.6.6, for=\"[fe80::1%eth0]\"                  | 127.0.0.1",
        "for=6.6.6.6,                                         | 127.0.0.1");
  }

  @Test
  default void severalLines_areOneList_andTheLastLineIsNearest() throws Exception {
    startBehind(ProxyHeader.X_FORWARDED_FOR);

    assertThat(client("X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 192.0.2.1, 10.1.2.3"))
        .isEqualTo("192.0.2.1");
    assertThat(client("X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.1.2.3"))
        .isEqualTo("192.0.2.1");
    assertThat(client("X-Forwarded-For:", "X-Forwarded-For: 192.0.2.1")).isEqualTo("192.0.2.1");
  }

  @Test
  default void severalLinesOfForwarded_areOneList() throws Exception {
    startBehind(ProxyHeader.FORWARDED);

    assertThat(client("Forwarded: for=\"6.6.6.6", "Forwarded: for=192.0.2.1"))
        .isEqualTo("192.0.2.1");
  }

  @ParameterizedTest
  @EnumSource
  default void theOtherHeader_isNotBelieved(ProxyHeader header) throws Exception {
    startBehind(header);

    assertThat(
            header == ProxyHeader.FORWARDED
                ? client("X-Forwarded-For: 6.6.6.6")
                : client("Forwarded: for=6.6.6.6"))
        .isEqualTo("127.0.0.1");
  }

  @ParameterizedTest
  @EnumSource
  default void noHeader_orAnEmptyOne_isTheProxyItself(ProxyHeader header) throws Exception {
    startBehind(header);

    assertThat(client()).isEqualTo("127.0.0.1");
    assertThat(client(name(header) + ":")).isEqualTo("127.0.0.1");
  }

  @Test
  default void aHundredHopsOfTheClients_chooseNothing() throws Exception {
    startBehind(ProxyHeader.X_FORWARDED_FOR);
    for (String hop :
        List.of("6.6.6.6", "10.0.0.7", "unknown", "\"", "", "fe80::1%eth0", "[::1]:1")) {
      String hops = String.join(", ", Collections.nCopies(100, hop));

      assertThat(client("X-Forwarded-For: " + hops + ", 192.0.2.1")).isEqualTo("192.0.2.1");
      assertThat(client("X-Forwarded-For: " + hops, "X-Forwarded-For: 192.0.2.1, 10.1.2.3"))
          .isEqualTo("192.0.2.1");
    }
  }

  @Test
  default void aHundredForwardedHopsOfTheClients_chooseNothing() throws Exception {
    startBehind(ProxyHeader.FORWARDED);
    for (String hop :
        List.of("for=6.6.6.6", "for=10.0.0.7", "for=unknown", "for=\"", "", "for=\"[::1]:1\"")) {
      String hops = String.join(", ", Collections.nCopies(100, hop));

      assertThat(client("Forwarded: " + hops + ", for=192.0.2.1")).isEqualTo("192.0.2.1");
      assertThat(client("Forwarded: " + hops, "Forwarded: for=192.0.2.1, for=10.1.2.3"))
          .isEqualTo("192.0.2.1");
    }
  }

  /**
   * Whatever header the client sends, the filter must find the address that the trusted proxy
   * appended.
   */
  @ParameterizedTest
  @EnumSource
  default void randomGarbageOfTheClients_choosesNothing(ProxyHeader header) throws Exception {
    startBehind(header);
    long seed = 20261122;
    Random random = new Random(seed);
    String alphabet = "for=\"\\,;[]:.%_ \t0123456789abcdef-xé<>()@?={}'";
    String honest = header == ProxyHeader.FORWARDED ? "for=192.0.2.1" : "192.0.2.1";
    for (int i = 0; i < 300; i++) {
      StringBuilder garbage = new StringBuilder();
      for (int length = random.nextInt(80); length > 0; length--) {
        garbage.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      List<String> lines = new ArrayList<>();
      if (random.nextBoolean()) {
        lines.add(name(header) + ": " + garbage);
        lines.add(name(header) + ": " + honest);
      } else {
        lines.add(name(header) + ": " + garbage + ", " + honest);
      }

      assertThat(client(lines.toArray(String[]::new)))
          .as("seed %d, case %d: %s", seed, i, lines)
          .isEqualTo("192.0.2.1");
    }
  }
}
