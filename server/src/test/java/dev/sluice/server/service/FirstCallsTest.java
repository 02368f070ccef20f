// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

final class FirstCallsTest {

  @Test
  void make_getsAnAnswerToEachCall() throws IOException {
    assertThat(FirstCalls.make()).isPositive();
  }
}
