// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The grammar of RFC 9651, as far as a List of Items goes. */
class RateLimitFieldTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"a\";r=0;t=4",
        "\t \"a\";r=0;t=4 \t",
        "\"a\";  r=0;   t=4",
        "\"a\";r=0;t=4 ,  \"b\";r=0;t=3",
        "\"a\";r=0;t=3,\"b\";r=0;t=4",
        "\"a\";r=1;t=3;r=0;t=4", // the last one of a key counts
        "\"a\";*x;r=0;t=4",
        "\"a\";a=1;z=1;k09_-.*=1;r=0;t=4",
        "\" ~\";r=0;t=4",
        "\"\\\\ and \\\"\";r=0;t=4",
        "\"\";r=0;t=4",
        ":YQ==:;r=0;t=4",
        "::;r=0;t=4",
        "?1;r=0;t=4",
        "-1.5;r=0;t=4",
        "azAZ09!#$%&'*+-.^_`|~:/;r=0;t=4",
        "\"a\";r=0;t=4;x=\"t=9;\";y=:dD05:;z=?0;w=a/b",
      })
  void field_thatKeepsTheRules_isRead(String field) {
    assertThat(RateLimitField.longestWaitSeconds(field)).isEqualTo(4);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"a\";r=0;t=4,",
        "\"a\";r=0;t=4, ",
        "\"a\";r=0;t=4,,\"b\";r=0;t=3",
        "\"a\";r=0;t=4 \"b\";r=0;t=3",
        "\"a\";r=0;t=4;",
        "\"a\";r=0;t=4; ",
        "\"a\";r=0;t=4;x=",
        "\"a\";r=0;t=4;x= 1",
        "\"a\";r=0;t=4;=1",
        "\"a\";r=0;t=4;9x=1",
        "\"a\";r=0;t=4;-x=1",
        "\"a\";r=0;t=4;X=1",
        "\"a\";r=0;t=4;x`=1",
        "\"a\";r=0;t=4;x=[",
        "\"a\" ;r=0;t=4",
        ";r=0;t=4",
        "(a;r=0;t=4",
        "(a);r=0;t=4",
        "{;r=0;t=4",
        "@a;r=0;t=4",
        "a[;r=0;t=4",
        "a?b;r=0;t=4",
        ":YQ==;r=0;t=4",
        "\"a;r=0;t=4",
        "\"a\\",
        "\"a\\n\";r=0;t=4",
        "\"a\u0001\";r=0;t=4",
        "\"a\u007f\";r=0;t=4",
        "\"\u00e9\";r=0;t=4",
        "a\u00e9;r=0;t=4",
      })
  void field_thatBreaksARule_isUnreadableAsAWhole(String field) {
    assertThat(RateLimitField.longestWaitSeconds(field)).isEqualTo(-1);
    assertThat(RateLimitField.longestWaitSeconds("\"good\";r=0;t=9, " + field)).isEqualTo(-1);
  }

  /** Readable, and it does not say that a caller has to wait. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"a\";r=0",
        "\"a\";t=4",
        "\"a\";r;t=4",
        "\"a\";r=0;t",
        "\"a\";r=x;t=4",
        "\"a\";r=\"0\";t=4",
        "\"a\";r=:0:;t=4",
        "\"a\";r=0;t=4.5",
        "\"a\";r=-0;t=4",
        "\"a\";r=0;t=1000000000000000",
      })
  void item_withoutANumberForEach_asksForNothing(String field) {
    assertThat(RateLimitField.longestWaitSeconds(field)).isZero();
    assertThat(RateLimitField.longestWaitSeconds(field + ", b;r=0;t=7")).isEqualTo(7);
  }
}
