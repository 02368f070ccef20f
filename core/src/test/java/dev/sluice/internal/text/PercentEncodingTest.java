// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class PercentEncodingTest {

  @Test
  void decode_percentAndPlus_keepsThePlus() {
    assertThat(PercentEncoding.decode("a%2Fb+c%C3%A4")).isEqualTo("a/b+cä");
  }

  @Test
  void decode_percentWithoutDigits_isRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> PercentEncoding.decode("50%"));
  }
}
