// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.IpAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One element of a forwarding header; the contract of filters reads whole headers. */
class ForwardedNodeTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "192.0.2.1                | 192.0.2.1",
        "192.0.2.1:4711           | 192.0.2.1",
        "192.0.2.1:_port.a-B      | 192.0.2.1",
        "2001:db8::1              | 2001:db8::1",
        "::1                      | ::1",
        "[2001:db8::1]            | 2001:db8::1",
        "[2001:db8::1]:80         | 2001:db8::1",
        "[::ffff:192.0.2.1]:80    | 192.0.2.1",
      })
  void address_withOrWithoutAPort_isRead(String text, String address) {
    assertThat(ForwardedNode.address(text)).hasToString(address);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "unknown",
        "_hidden",
        "192.0.2.1:",
        "192.0.2.1:x",
        "192.0.2.1:123456",
        "192.0.2.1:_",
        ":80",
        "[192.0.2.1]",
        "[]",
        "[",
        "]",
        "[2001:db8::1",
        "2001:db8::1]",
        "[2001:db8::1]x",
        "[2001:db8::1]:",
        "[fe80::1%eth0]",
        "192.0.2.1 ",
        "x192.0.2.1"
      })
  void address_ofAnythingElse_isNone(String text) {
    assertThat(ForwardedNode.address(text)).isNull();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "for=192.0.2.1                              | 192.0.2.1",
        "FOR=192.0.2.1;proto=https                  | 192.0.2.1",
        "proto=https; for=\"192.0.2.1:4711\"        | 192.0.2.1",
        "by=10.0.0.1;for=\"[2001:db8::1]:80\"       | 2001:db8::1",
        "host=\"a;for=6.6.6.6\";for=192.0.2.1       | 192.0.2.1",
        "for=192.0.2.1;host=\"a;for=6.6.6.6\"       | 192.0.2.1",
      })
  void forwarded_oneFor_isItsNode(String element, String address) {
    assertThat(ForwardedNode.ofForwarded(element)).hasToString(address);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "192.0.2.1",
        "proto=https",
        "xfor=192.0.2.1",
        "for=",
        "for=\"\"",
        "for=\"",
        "for=\"192.0.2.1",
        "for=192.0.2.1\"",
        "for=192.0.2.1;for=192.0.2.1",
        "for=\"192.0.2.\\1\"",
        "for=192.0.2.1;host=\"a\\\"\"",
        "for=192.0.2.1;host=\"a",
        "for=unknown"
      })
  void forwarded_ofAnythingElse_isNone(String element) {
    IpAddress address = ForwardedNode.ofForwarded(element);
    assertThat(address).isNull();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "a                 | a",
        "a, b ,c           | c;b;a",
        "a,                | ;a",
        ",                 | ;",
        "a,\"b,c\",d       | d;\"b,c\";a",
        "\"a, b            | b;\"a",
      })
  void elements_areReadFromTheRight(String line, String elements) {
    assertThat(String.join(";", all(new RightToLeft(List.of(line))))).isEqualTo(elements);
    assertThat(String.join(";", all(new RightToLeft(List.of("z", line)))))
        .isEqualTo(elements + ";z");
  }

  private static List<String> all(RightToLeft elements) {
    List<String> all = new ArrayList<>();
    for (String next = elements.next(); next != null; next = elements.next()) {
      all.add(next);
    }
    return all;
  }
}
