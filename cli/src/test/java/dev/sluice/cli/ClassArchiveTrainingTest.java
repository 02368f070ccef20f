// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClassArchiveTrainingTest {

  @Test
  void main_ofTheWholeApp_endsWithoutAnError() throws IOException, InterruptedException {
    try (CliProcess training = CliProcess.start(List.of(), Map.of(), ClassArchiveTraining.class)) {
      String said = String.join("\n", training.err().lines().toList());

      assertThat(training.process().waitFor()).as(said).isZero();
    }
  }
}
