// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AddressRangeTest {

  @ParameterizedTest
  @CsvSource({
    "10.0.0.0/8, 10.1.0.0/16, true",
    "10.0.0.0/8, 10.0.0.0/8, true",
    "10.0.0.0/8, 10.255.255.255, true",
    "0.0.0.0/0, 192.0.2.7, true",
    "2001:db8::/32, 2001:db8:1::/48, true",
    "2001:DB8::/32, 2001:0db8::/32, true",
    "10.1.0.0/16, 10.0.0.0/8, false",
    "10.0.0.0/8, 11.0.0.0/16, false",
    "::/0, 10.0.0.0/8, false",
    "0.0.0.0/0, ::/0, false"
  })
  void covers_rangesThatLieInIt(String range, String other, boolean covers) {
    assertThat(AddressRange.parse(range).covers(AddressRange.parse(other))).isEqualTo(covers);
  }
}
