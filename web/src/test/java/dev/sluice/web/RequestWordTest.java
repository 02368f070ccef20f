// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestWordTest {

  @ParameterizedTest
  @CsvSource({
    "ip/0, ip or",
    "ip/129, ip",
    "ip/064, ip",
    "header:, header:NAME",
    "header:a b, header:NAME",
    "hedder:X, did you mean \"header:\"?",
    "pth, did you mean \"path\"?",
    ":method, did you mean \"method\"?",
    "path|, nothing follows \"|\"",
    "|nobody, found \"\"",
  })
  void parse_unknownWord_isRefused(String word, String message) {
    String part = message.startsWith("ip") ? "expected ip, ip/BITS" : message;
    assertThatThrownBy(() -> RequestWord.parse(word))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(part);
  }

  @Test
  void parse_wordWithoutAName_isNotSuggestedAgain() {
    assertThatThrownBy(() -> RequestWord.parse("header:"))
        .hasMessage(
            "found \"header:\", expected ip, ip/BITS, header:NAME, cookie:NAME, query:NAME,"
                + " path:VARIABLE, path, method or host");
  }

  @Test
  void parse_knownWords_areTaken() {
    for (String word :
        List.of(
            "ip", "ip/1", "ip/128", "header:X-Api-Key", "cookie:s", "query:q", "path:account")) {
      assertThat(RequestWord.parse(word)).as(word).isNotNull();
      assertThat(RequestWord.parse(word + "|nobody")).as(word).isNotNull();
    }
    for (String word : List.of("path", "method", "host")) {
      assertThat(RequestWord.parse(word)).as(word).isNotNull();
    }
  }

  @Test
  void parse_ofAWordAndAStandIn_isBoth() {
    RequestFacts facts =
        new RequestFacts(
            WebRequest.builder("GET", "/").header("X-Key", "k").build(), ClientAddress.direct());
    assertThat(RequestWord.parse("header:X-Key|nobody").value(facts, Map.of())).isEqualTo("k");
    assertThat(RequestWord.parse("cookie:s|no|body").value(facts, Map.of())).isEqualTo("no|body");
  }

  @Test
  void query_valuesOfAName_areDecodedInOrder() {
    assertThat(
            QueryString.values("a=1&b=2&a=%33&a&%61=x+y&ab=9", "a"::equals, "&", Escapes::ofForm))
        .containsExactly("1", "3", "", "x y");
    assertThat(QueryString.values(null, "a"::equals, "&", Escapes::ofForm)).isEmpty();
    assertThat(QueryString.values("", "a"::equals, "&", Escapes::ofForm)).isEmpty();
    assertThat(QueryString.values("%zz=1&a=2", "a"::equals, "&", Escapes::ofForm))
        .containsExactly("2");
    assertThatThrownBy(() -> QueryString.values("a=%zz", "a"::equals, "&", Escapes::ofForm))
        .isInstanceOf(UnusableRequestException.class);
  }
}
