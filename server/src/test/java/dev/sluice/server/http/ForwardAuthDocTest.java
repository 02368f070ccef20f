// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * What {@code docs/doors/forward-auth.md} shows of a proxy's configuration stands in its example.
 */
final class ForwardAuthDocTest {

  private static final Pattern BLOCK =
      Pattern.compile("(?ms)^```(nginx|caddyfile|haproxy)\n(.*?)^```$");
  private static final Map<String, String> FILES =
      Map.of(
          "nginx", "nginx/nginx.conf",
          "caddyfile", "caddy/Caddyfile",
          "haproxy", "haproxy/haproxy.cfg");

  @Test
  void everyBlock_isQuotedFromItsExample() throws IOException {
    String page = Files.readString(Path.of("../docs/doors/forward-auth.md"));
    int blocks = 0;
    for (MatchResult block : BLOCK.matcher(page).results().toList()) {
      String file = Files.readString(Path.of("../examples", FILES.get(block.group(1))));
      assertThat(unindented(file)).contains(unindented(block.group(2)));
      blocks++;
    }
    assertThat(blocks).isEqualTo(3);
  }

  private static String unindented(String text) {
    return text.replaceAll("(?m)^[ \t]+", "").replaceAll("\n+", "\n");
  }
}
