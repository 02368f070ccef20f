// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class Utf8Test {

  @Test
  void decode_percentAndPlus_keepsThePlus() {
    assertThat(Utf8.ofPercentEncoding("a%2Fb+c%C3%A4")).isEqualTo("a/b+cä");
  }

  @Test
  void decode_percentWithoutDigits_isRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> Utf8.ofPercentEncoding("50%"));
  }
}
