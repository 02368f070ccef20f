// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RehearsalTest {

  @Test
  void main_ofTheWholeApp_endsWithoutAnError() throws IOException, InterruptedException {
    try (CliProcess rehearsal = CliProcess.start(List.of(), Map.of(), Rehearsal.class)) {
      String said = String.join("\n", rehearsal.err().lines().toList());

      assertThat(rehearsal.process().waitFor()).as(said).isZero();
    }
  }
}
