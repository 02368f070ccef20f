package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.IpAddress;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Who the client is, over real HTTP. The peer, 127.0.0.1, is a trusted proxy, as is 10.0.0.0/8; the
 * proxy has appended what it saw, all that stands left of it was sent by the client.
 */
@ParameterizedClass
@EnumSource(Container.class)
class ClientAddressTest {

  private static final String[] TRUSTED = {"127.0.0.1", "10.0.0.0/8", "2001:db8:ffff::/48"};
  private static WebServer web;

  private final Container container;

  ClientAddressTest(Container container) {
    this.container = container;
  }

  @BeforeParameterizedClassInvocation
  static void start(Container container) throws Exception {
    web = container.server();
    web.servlet("/direct", echo(ClientAddress.direct()))
        .servlet("/xff", echo(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, TRUSTED)))
        .servlet("/forwarded", echo(ClientAddress.behind(ProxyHeader.FORWARDED, TRUSTED)))
        .start();
  }

  @AfterParameterizedClassInvocation
  static void stop() throws Exception {
    web.close();
  }

  private static HttpServlet echo(ClientAddress how) {
    return new HttpServlet() {
      @Override
      protected void doGet(HttpServletRequest request, HttpServletResponse response)
          throws IOException {
        IpAddress found = how.find(request);
        response.getOutputStream().print("client=" + (found == null ? "" : how.grouped(found)));
      }
    };
  }

  private String client(String path, String... headerLines) throws IOException {
    String response = RawHttp.get(web.port(), "/app" + path, headerLines);
    assertThat(response).as(container.name()).startsWith("HTTP/1.1 200");
    return response.substring(response.indexOf("client=") + "client=".length()).strip();
  }

  @Test
  void direct_believesNoHeader() throws IOException {
    assertThat(client("/direct", "X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6"))
        .isEqualTo("127.0.0.1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
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
        // Spoofed: what the client sent stands on the left.
        "6.6.6.6, 192.0.2.1                     | 192.0.2.1",
        "10.6.6.6, 192.0.2.1                    | 192.0.2.1",
        "6.6.6.6, 192.0.2.1, 10.1.2.3           | 192.0.2.1",
        "127.0.0.1, 192.0.2.1                   | 192.0.2.1",
        "\"6.6.6.6, 192.0.2.1                   | 192.0.2.1",
        // A proxy that names nobody stands for all that is behind it.
        "6.6.6.6, unknown                       | 127.0.0.1",
        "6.6.6.6, unknown, 10.1.2.3             | 10.1.2.3",
        "6.6.6.6, _hidden                       | 127.0.0.1",
        "6.6.6.6,                               | 127.0.0.1",
        "6.6.6.6, , 10.1.2.3                    | 10.1.2.3",
        "6.6.6.6, unix:                         | 127.0.0.1",
        // Malformed.
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
        "6.6.6.6, ١٩٢.0.2.1                     | 127.0.0.1"
      })
  void xForwardedFor_isReadFromTheRight_asFarAsTrustGoes(String header, String client)
      throws IOException {
    assertThat(client("/xff", "X-Forwarded-For: " + header)).isEqualTo(client);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "for=192.0.2.1                                        | 192.0.2.1",
        "For=192.0.2.1;proto=https;by=10.0.0.1                | 192.0.2.1",
        "proto=https; FOR=\"192.0.2.1:4711\"                  | 192.0.2.1",
        "for=\"[2001:db8:1:2::3]:4711\"                       | 2001:db8:1:2::",
        "for=\"[2001:db8:1:2::3]\", for=10.1.2.3              | 2001:db8:1:2::",
        "for=\"[2001:db8:1:2::3]:_port\"                      | 2001:db8:1:2::",
        "for=192.0.2.1, for=10.1.2.3;host=\"a,b;for=6.6.6.6\" | 192.0.2.1",
        // Spoofed.
        "for=6.6.6.6, for=192.0.2.1                           | 192.0.2.1",
        "for=\"6.6.6.6, for=192.0.2.1                         | 192.0.2.1",
        "for=6.6.6.6;x=\", for=192.0.2.1                      | 192.0.2.1",
        "for=6.6.6.6;x=\"\\, for=192.0.2.1                    | 192.0.2.1",
        // Naming nobody, or malformed.
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
        "for=6.6.6.6,                                         | 127.0.0.1"
      })
  void forwarded_isReadFromTheRight_asFarAsTrustGoes(String header, String client)
      throws IOException {
    assertThat(client("/forwarded", "Forwarded: " + header)).isEqualTo(client);
  }

  @Test
  void severalLines_areOneList_andTheLastLineIsNearest() throws IOException {
    assertThat(client("/xff", "X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 192.0.2.1, 10.1.2.3"))
        .isEqualTo("192.0.2.1");
    assertThat(client("/xff", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.1.2.3"))
        .isEqualTo("192.0.2.1");
    assertThat(client("/xff", "X-Forwarded-For:", "X-Forwarded-For: 192.0.2.1"))
        .isEqualTo("192.0.2.1");
    assertThat(client("/forwarded", "Forwarded: for=\"6.6.6.6", "Forwarded: for=192.0.2.1"))
        .isEqualTo("192.0.2.1");
  }

  @Test
  void theOtherHeader_isNotBelieved() throws IOException {
    assertThat(client("/forwarded", "X-Forwarded-For: 6.6.6.6")).isEqualTo("127.0.0.1");
    assertThat(client("/xff", "Forwarded: for=6.6.6.6")).isEqualTo("127.0.0.1");
  }

  @Test
  void noHeader_orAnEmptyOne_isTheProxyItself() throws IOException {
    assertThat(client("/xff")).isEqualTo("127.0.0.1");
    assertThat(client("/xff", "X-Forwarded-For:")).isEqualTo("127.0.0.1");
    assertThat(client("/forwarded", "Forwarded:")).isEqualTo("127.0.0.1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"6.6.6.6", "10.0.0.7", "unknown", "\"", "", "fe80::1%eth0", "[::1]:1"})
  void aHundredHopsOfTheClients_chooseNothing(String hop) throws IOException {
    String hops = String.join(", ", Collections.nCopies(100, hop));

    assertThat(client("/xff", "X-Forwarded-For: " + hops + ", 192.0.2.1")).isEqualTo("192.0.2.1");
    assertThat(client("/xff", "X-Forwarded-For: " + hops, "X-Forwarded-For: 192.0.2.1, 10.1.2.3"))
        .isEqualTo("192.0.2.1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"for=6.6.6.6", "for=10.0.0.7", "for=unknown", "for=\"", "", "for=\"[::1]:1\""})
  void aHundredForwardedHopsOfTheClients_chooseNothing(String hop) throws IOException {
    String hops = String.join(", ", Collections.nCopies(100, hop));

    assertThat(client("/forwarded", "Forwarded: " + hops + ", for=192.0.2.1"))
        .isEqualTo("192.0.2.1");
    assertThat(client("/forwarded", "Forwarded: " + hops, "Forwarded: for=192.0.2.1, for=10.1.2.3"))
        .isEqualTo("192.0.2.1");
  }

  /** Whatever the client sends first, the id is the address that the trusted proxy saw. */
  @ParameterizedTest
  @EnumSource
  void randomGarbageOfTheClients_choosesNothing(ProxyHeader header) throws IOException {
    long seed = 20261122;
    Random random = new Random(seed);
    String alphabet = "for=\"\\,;[]:.%_ \t0123456789abcdef-xé<>()@?={}'";
    boolean forwarded = header == ProxyHeader.FORWARDED;
    String honest = forwarded ? "for=192.0.2.1" : "192.0.2.1";
    for (int i = 0; i < 300; i++) {
      StringBuilder garbage = new StringBuilder();
      for (int length = random.nextInt(80); length > 0; length--) {
        garbage.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      List<String> lines = new ArrayList<>();
      if (random.nextBoolean()) {
        lines.add(header.header() + ": " + garbage);
        lines.add(header.header() + ": " + honest);
      } else {
        lines.add(header.header() + ": " + garbage + ", " + honest);
      }

      assertThat(client(forwarded ? "/forwarded" : "/xff", lines.toArray(String[]::new)))
          .as("seed %d, case %d: %s", seed, i, lines)
          .isEqualTo("192.0.2.1");
    }
  }

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
