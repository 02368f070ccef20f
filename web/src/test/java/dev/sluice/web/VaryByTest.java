// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Where ids come from: each source on a request that has it, and on one that has not. */
class VaryByTest {

  private static final Map<String, String> VARIABLES = Map.of("user", "7");

  private static final WebRequest FULL =
      WebRequest.builder("PUT", "/a//b/?q=1")
          .header("X-Key", "k")
          .header("Cookie", "s=c")
          .peer("2001:db8:1:2:3:4:5:6")
          .user("ann")
          .build();

  private static final WebRequest EMPTY = WebRequest.builder("GET", "/").build();

  private static @Nullable String value(VaryBy source, WebRequest request) {
    return source.value(new RequestFacts(request, ClientAddress.direct()), VARIABLES);
  }

  @Test
  void value_isWhatTheRequestHas() {
    assertThat(value(VaryBy.clientAddress(), FULL)).isEqualTo("2001:db8:1:2::");
    assertThat(value(VaryBy.clientIpv6Range(48), FULL)).isEqualTo("2001:db8:1::/48");
    assertThat(value(VaryBy.clientIpv6Range(1), FULL)).isEqualTo("::/1");
    assertThat(value(VaryBy.clientIpv6Range(128), FULL)).isEqualTo("2001:db8:1:2:3:4:5:6/128");
    assertThat(value(VaryBy.header("x-key"), FULL)).isEqualTo("k");
    assertThat(value(VaryBy.cookie("s"), FULL)).isEqualTo("c");
    assertThat(value(VaryBy.queryParameter("q"), FULL)).isEqualTo("1");
    assertThat(value(VaryBy.pathVariable("user"), FULL)).isEqualTo("7");
    assertThat(value(VaryBy.principal(), FULL)).isEqualTo("ann");
    assertThat(value(VaryBy.path(), FULL)).isEqualTo("/a/b");
    assertThat(value(VaryBy.method(), FULL)).isEqualTo("PUT");
    assertThat(value(VaryBy.constant("all"), FULL)).isEqualTo("all");
    assertThat(value(VaryBy.function("the tenant", WebRequest::user), FULL)).isEqualTo("ann");
  }

  @Test
  void value_thatTheRequestLacks_isNamed() {
    Map<VaryBy, String> sources =
        Map.of(
            VaryBy.clientAddress(), "the client's address",
            VaryBy.header("X-Key"), "the header X-Key",
            VaryBy.cookie("s"), "the cookie s",
            VaryBy.queryParameter("q"), "the query parameter q",
            VaryBy.pathVariable("team"), "the path variable team",
            VaryBy.principal(), "the principal",
            VaryBy.function("the tenant", WebRequest::user), "the tenant");
    sources.forEach(
        (source, what) -> {
          assertThat(source).hasToString(what);
          assertThatThrownBy(() -> value(source, EMPTY))
              .isInstanceOfSatisfying(
                  UnusableRequestException.class,
                  e -> assertThat(e.detail()).isEqualTo(e.getMessage()))
              .hasMessage("the request lacks %s, which a limit needs", what);
          assertThat(value(source.orSkip(), EMPTY)).isNull();
          assertThat(value(source.orId("nobody"), EMPTY)).isEqualTo("nobody");
        });
  }

  @Test
  void value_thatIsEmpty_isLacking() {
    WebRequest empty =
        WebRequest.builder("GET", "/?q=").header("X-Key", "").header("Cookie", "s=\"\"").build();
    for (VaryBy source :
        List.of(VaryBy.header("X-Key"), VaryBy.cookie("s"), VaryBy.queryParameter("q"))) {
      assertThatThrownBy(() -> value(source, empty)).hasMessageContaining("the request lacks");
      assertThat(value(source.orId("nobody"), empty)).isEqualTo("nobody");
    }
  }

  /** Nobody knows which of them the application will use, so a stand-in does not help. */
  @Test
  void value_thatIsThereTwice_isRefusedWhateverElseHolds() {
    WebRequest twice =
        WebRequest.builder("GET", "/?q=1&q=1").header("X-Key", "a").header("X-Key", "b").build();
    assertThatThrownBy(() -> value(VaryBy.header("X-Key").orSkip(), twice))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage("the request has the header X-Key 2 times; send it once");
    assertThatThrownBy(() -> value(VaryBy.queryParameter("q").orId("nobody"), twice))
        .hasMessage("the request has the query parameter q 2 times; send it once");
  }

  @Test
  void ipv6Range_ofAnIpv4Address_skipsTheLimit() {
    WebRequest ipv4 = WebRequest.builder("GET", "/").peer("192.0.2.1").build();
    assertThat(value(VaryBy.clientIpv6Range(48), ipv4)).isNull();
    assertThat(value(VaryBy.clientIpv6Range(48), EMPTY)).isNull();
    assertThat(value(VaryBy.clientIpv6Range(48).orId("::/48"), ipv4)).isEqualTo("::/48");
    assertThatThrownBy(() -> VaryBy.clientIpv6Range(0))
        .hasMessage("bits: found 0, expected 1 to 128");
  }

  @Test
  void pathVariable_isTheNameThatTheSourceNeeds() {
    assertThat(VaryBy.pathVariable("user").orSkip().pathVariable()).isEqualTo("user");
    assertThat(VaryBy.pathVariable("user").orId("x").pathVariable()).isEqualTo("user");
    assertThat(VaryBy.path().pathVariable()).isNull();
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void nullArgument_isRefusedAtOnce_byItsName() {
    assertThatThrownBy(() -> VaryBy.function("the tenant", null)).hasMessage("function");
    assertThatThrownBy(() -> VaryBy.function(null, request -> "a")).hasMessage("what");
    assertThatThrownBy(() -> VaryBy.cookie(null)).hasMessage("name");
    assertThatThrownBy(() -> VaryBy.queryParameter(null)).hasMessage("name");
    assertThatThrownBy(() -> VaryBy.pathVariable(null)).hasMessage("name");
    assertThatThrownBy(() -> VaryBy.constant(null)).hasMessage("id");
    assertThatThrownBy(() -> VaryBy.principal().orId(null)).hasMessage("id");
  }
}
