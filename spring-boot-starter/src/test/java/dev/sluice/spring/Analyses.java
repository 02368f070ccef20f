// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** What the starter says of a start that failed. */
final class Analyses {

  private Analyses() {}

  static FailureAnalysis of(@Nullable Throwable failure) {
    FailureAnalysis analysis =
        failure == null ? null : new SluiceFailureAnalyzer().analyze(failure);
    assertThat(analysis).as("analysis of %s", failure).isNotNull();
    return analysis;
  }
}
