// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.acme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.acme.Identifier;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class TourTest {

  /** The clock is the tour's own, but each denial has another jitter. */
  @Test
  void tour_printsWhatTheReadmeShows() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
      new Tour(Path.of("limits.yml"), out).run();
    }
    String output = printed.toString(StandardCharsets.UTF_8).replace("\r\n", "\n");
    String readme = Files.readString(Path.of("README.md"));
    assertThat(withoutJitter(readme)).contains("```text" + withoutJitter(output) + "```");
  }

  private static String withoutJitter(String text) {
    return text.replaceAll("retry after [0-9: -]+ UTC", "retry after TIME UTC");
  }

  @Test
  void renewals_doNotUseUpTheCertificatesOfTheirDomain() {
    Tour tour = new Tour(Path.of("limits.yml"), new PrintStream(OutputStream.nullOutputStream()));
    for (int i = 1; i <= 50; i++) {
      assertThat(tour.orderAndIssue(i, site(i), true).allowed()).isTrue();
    }
    assertThat(tour.orderAndIssue(51, site(51), false).allowed()).isTrue();
  }

  private static List<Identifier> site(int number) {
    return Identifier.parseAll(List.of("site" + number + ".example.co.uk"));
  }
}
