// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ReportTest {

  private static final String PLAIN = "\"date\": \"2026-01-02\", \"command\": \"prove x\"";
  private static final String TLS = "\"date\": \"2026-01-02\", \"command\": \"prove x --tls\"";

  @TempDir Path folder;

  private void write(String run, boolean kept, String attack, String seen) {
    Report report = new Report(List.of(), folder.resolve("x.json"), run);
    report.table(1, "attack", "seen");
    report.row(kept, attack, seen);
  }

  @Test
  void row_replacesTheOneOfItsNameAndCommand_andKeepsTheOthers() throws IOException {
    write(PLAIN, true, "idle \"clients\"", "10");
    write(TLS, true, "idle \"clients\"", "20");
    write(PLAIN, true, "idle", "30");
    write(PLAIN, false, "idle \"clients\"", "40");

    assertThat(Files.readAllLines(folder.resolve("x.json")))
        .containsExactly(
            "[",
            "  {\"attack\": \"idle \\\"clients\\\"\", \"seen\": \"40\", \"kept\": false, "
                + PLAIN
                + "},",
            "  {\"attack\": \"idle \\\"clients\\\"\", \"seen\": \"20\", \"kept\": true, "
                + TLS
                + "},",
            "  {\"attack\": \"idle\", \"seen\": \"30\", \"kept\": true, " + PLAIN + "}",
            "]");
  }
}
