// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.acme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class TourTest {

  /** The clock is the tour's own, and the jitter is the same for the same decision. */
  @Test
  void tour_printsWhatTheReadmeShows() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
      new Tour(Path.of("limits.yml"), out).run();
    }
    String output = printed.toString(StandardCharsets.UTF_8).replace("\r\n", "\n");
    String readme = Files.readString(Path.of("README.md"));
    assertThat(readme).contains("```text" + output + "```");
  }
}
