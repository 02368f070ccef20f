// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThatNoException;

import org.junit.jupiter.api.Test;

final class FirstCallTest {

  @Test
  void make_isAnswered() {
    assertThatNoException().isThrownBy(FirstCall::make);
  }
}
