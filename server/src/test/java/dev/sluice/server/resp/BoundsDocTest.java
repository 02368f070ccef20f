// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.SluiceServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The bounds that docs/security.md prints are those of the code. */
class BoundsDocTest {

  private final StringBuilder table =
      new StringBuilder("| bound | HTTP and gRPC | Redis protocol |\n|---|---|---|\n");

  private void row(String bound, String http, String redis) {
    table.append("| %s | %s | %s |%n".formatted(bound, http, redis).replace("\r", ""));
  }

  private static String kib(int bytes) {
    assertThat(bytes % 1024).isZero();
    return bytes / 1024 + " KiB";
  }

  private static String seconds(Duration time) {
    return time.toSeconds() + " s";
  }

  private static String number(int number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  @Test
  void docs_printTheBoundsOfTheCode() throws IOException {
    String all = number(SluiceServer.MAX_CONNECTIONS);
    String ofOne = number(SluiceServer.MAX_CONNECTIONS_PER_PEER);
    row("connections of all protocols together", all, all);
    row("connections of one address", ofOne, ofOne);
    row(
        "first line of a request",
        kib(SluiceServer.MAX_LINE),
        kib(RequestReader.MAX_INLINE) + " (inline command)");
    row("headers of a request", kib(SluiceServer.MAX_HEADERS), "–");
    row(
        "body, or command",
        kib(SluiceServer.MAX_BODY),
        "%s, %s arguments of %s"
            .formatted(
                kib(RequestReader.MAX_REQUEST),
                number(RequestReader.MAX_ARGUMENTS),
                kib(RequestReader.MAX_ARGUMENT)));
    row("streams of one connection over HTTP/2", number(SluiceServer.MAX_STREAMS), "–");
    row(
        "idle time of a connection",
        seconds(SluiceServer.IDLE_TIMEOUT),
        seconds(RespServer.IDLE_TIMEOUT));
    row(
        "time from a request's first byte to its answer",
        seconds(SluiceServer.REQUEST_TIMEOUT),
        "–");
    row(
        "time in which a client must read an answer",
        seconds(SluiceServer.READ_TIMEOUT) + " more",
        "–");
    row("age of a connection", SluiceServer.MAX_CONNECTION_AGE.toHours() + " h", "–");

    String page = Files.readString(Path.of("../docs/security.md"));
    assertThat(page).contains("<!-- bounds -->\n" + table + "<!-- /bounds -->");
  }
}
