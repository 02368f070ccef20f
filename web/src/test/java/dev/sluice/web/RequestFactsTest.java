// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What rules ask of a request: its cost, and the first segments of its paths. */
final class RequestFactsTest {

  private static RequestFacts facts(WebRequest request) {
    return new RequestFacts(request, ClientAddress.direct());
  }

  private static RequestFacts costing(String... values) {
    PlainRequest.Builder request = WebRequest.builder("GET", "/a");
    for (String value : values) {
      request.header("X-Cost", value);
    }
    return facts(request.build());
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1",
    "7, 7",
    "' 7 ', 7",
    "007, 7",
    "0, 1",
    "999999999999999999, 999999999999999999"
  })
  void cost_isThatOfTheHeader_atLeastOne(String header, long expected) {
    assertThat(costing(header).cost("X-Cost", 5)).isEqualTo(expected);
  }

  @Test
  void cost_withoutTheHeader_isTheOther() {
    assertThat(costing().cost("X-Cost", 5)).isEqualTo(5);
    assertThat(costing().cost("X-Cost", 0)).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "+1", "1.5", "x", "1 2", "1000000000000000000", "\u0661"})
  void cost_thatIsNoWholeNumber_isRefused(String header) {
    RequestFacts facts = costing(header);
    assertThatThrownBy(() -> facts.cost("X-Cost", 5))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage("send the cost in header X-Cost once, as a whole number");
  }

  @ParameterizedTest
  @CsvSource({"'', 500, 500", "'', 1, 5", "7, 500, 500", "500, 7, 500", "1, 0, 1"})
  void cost_isTheHighestOfHeadersWithSimilarNames(String exact, String similar, long expected) {
    PlainRequest.Builder request = WebRequest.builder("GET", "/a").header("X_Cost", similar);
    if (!exact.isEmpty()) {
      request.header("X-Cost", exact);
    }
    assertThat(facts(request.build()).cost("X-Cost", 5)).isEqualTo(expected);
    request.header("X_Cost", "1");
    assertThatThrownBy(() -> facts(request.build()).cost("X-Cost", 5))
        .isInstanceOf(UnusableRequestException.class);
  }

  @Test
  void cost_givenTwice_isRefused() {
    RequestFacts facts = costing("1", "1");
    assertThatThrownBy(() -> facts.cost("X-Cost", 5)).isInstanceOf(UnusableRequestException.class);
  }

  @Test
  void leadingSegments_areThoseOfEachPath_eachOnce() {
    assertThat(facts(WebRequest.builder("GET", "/a/b").build()).leadingSegments())
        .containsExactly("a");
    assertThat(facts(WebRequest.builder("GET", "/").build()).leadingSegments()).isEmpty();
    PlainRequest several = WebRequest.builder("GET", "/x").path("/a/b").build();
    WebRequest known = new Unlisted(List.of("/a/b", "/a/c", "/", "/d"), "");
    assertThat(several.path()).isEqualTo("/a/b");
    assertThat(facts(several).leadingSegments()).containsExactly("a");
    assertThat(facts(known).leadingSegments()).containsExactly("a", "d");
  }

  @Test
  void readings_whereHeadersCannotBeListed_haveTheMethodThatAHeaderAsksFor() {
    for (String header : List.of("X-HTTP-Method-Override", "x_http-method")) {
      assertThat(facts(new Unlisted(List.of("/a"), header)).readings())
          .extracting(RequestFacts::method)
          .containsExactly("GET", "DELETE");
    }
    assertThat(facts(new Unlisted(List.of("/a"), "X-Other")).readings()).hasSize(1);
  }

  /** Asks for DELETE in one header; its names cannot be listed. */
  private record Unlisted(List<String> paths, String header) implements WebRequest {
    @Override
    public String method() {
      return "GET";
    }

    @Override
    public String path() {
      return paths.get(0);
    }

    @Override
    public List<String> headers(String name) {
      return name.equalsIgnoreCase(header) ? List.of("DELETE") : List.of();
    }

    @Override
    public List<String> cookies(String name) {
      return List.of();
    }

    @Override
    public @Nullable String query() {
      return null;
    }

    @Override
    public @Nullable String peer() {
      return null;
    }

    @Override
    public @Nullable String user() {
      return null;
    }
  }
}
