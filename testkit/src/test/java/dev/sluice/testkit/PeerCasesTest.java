// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The table that compares waiting with golang.org/x/time/rate, and what the cases show. */
class PeerCasesTest {

  private static final Path DECISION =
      Path.of("../docs/decisions/013-who-waits-has-taken-its-tokens.md");

  @Test
  void decision_listsEachCase_asItRuns() throws IOException {
    String decision = Files.readString(DECISION);
    for (JsonNode peer : Vectors.json("peers/x_time_rate.json").get("cases")) {
      String name = peer.get("name").asText();
      boolean leftOut = PeerRules.NOT_OURS.containsKey(name);
      boolean otherwise = PeerRules.OTHERWISE.containsKey(name);

      assertThat(decision.lines().filter(line -> line.contains("`" + name + "`")))
          .as(name)
          .singleElement()
          .satisfies(row -> assertThat(row.contains("| left out: ")).isEqualTo(leftOut))
          .satisfies(
              row -> assertThat(row.endsWith("| the same |")).isEqualTo(!leftOut && !otherwise));
    }
  }
}
