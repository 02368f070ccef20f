// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** {@code docs/doors/forward-auth.md} quotes the nginx example. */
final class ForwardAuthDocTest {

  private static final Pattern BLOCK = Pattern.compile("(?ms)^```nginx\n(.*?)^```$");

  @Test
  void nginx_isQuotedFromItsExample() throws IOException {
    Matcher block = BLOCK.matcher(Files.readString(Path.of("../docs/doors/forward-auth.md")));
    assertThat(block.find()).isTrue();
    assertThat(unindented(Files.readString(Path.of("../examples/nginx/nginx.conf"))))
        .contains(unindented(block.group(1)));
  }

  private static String unindented(String text) {
    return text.replaceAll("(?m)^[ \t]+", "").replaceAll("\n+", "\n");
  }
}
