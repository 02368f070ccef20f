// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each way in which an application may read a request. */
final class ReadingsTest {

  private static RequestFacts facts(PlainRequest.Builder request) {
    return new RequestFacts(request.build(), ClientAddress.direct());
  }

  private static List<String> methods(PlainRequest.Builder request) {
    return facts(request).readings().stream().map(RequestFacts::method).toList();
  }

  private static List<String> values(String word, PlainRequest.Builder request) {
    VaryBy source = RequestWord.parse(word);
    return facts(request).readings().stream()
        .flatMap(
            reading ->
                reading
                    .inEachSpelling(facts -> Objects.toString(source.value(facts, Map.of())))
                    .stream())
        .distinct()
        .toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"post", "Post", "pOST", "POST"})
  void method_countsWithoutItsCase(String method) {
    assertThat(methods(WebRequest.builder(method, "/"))).containsExactly("POST");
    assertThat(values("method", WebRequest.builder(method, "/"))).containsExactly("POST");
  }

  @ParameterizedTest
  @CsvSource({
    "X-HTTP-Method-Override, DELETE",
    "x-http-method-override, delete",
    "X-HTTP-Method,          Delete",
    "X-Method-Override,      ' DELETE '",
    "X-HTTP-Method-Override, 'DELETE, PUT'",
    "X-HTTP-Method-Override, 'POST,delete'",
    "X-HTTP-Method-Override, 'DELETE\u00a0'",
    "X-HTTP-Method-Override, '\u00a0delete\u0085,PUT'"
  })
  void methodThatAHeaderAsksFor_isAReading(String header, String value) {
    assertThat(methods(WebRequest.builder("POST", "/").header(header, value)))
        .startsWith("POST", "DELETE");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "_m%65thod",
        "%5F%6D%65thod",
        "_METHOD",
        "_Method[]",
        ".method",
        "_method[",
        "_method%00%"
      })
  void methodThatTheQueryAsksFor_isAReading_howeverItsNameIsWritten(String name) {
    assertThat(methods(WebRequest.builder("POST", "/?a=b&" + name + "=delete")))
        .containsExactly("POST", "DELETE");
  }

  @Test
  void methodThatTheQueryAsksFor_isAReading() {
    assertThat(methods(WebRequest.builder("POST", "/?a&_method=delete")))
        .containsExactly("POST", "DELETE");
    assertThat(methods(WebRequest.builder("POST", "/?%5Fmethod=delete#x")))
        .containsExactly("POST", "DELETE");
    assertThat(methods(WebRequest.builder("POST", "/?_method=PUT&_method=DELETE")))
        .containsExactly("POST", "PUT", "DELETE");
    assertThat(methods(WebRequest.builder("POST", "/?_method=&_method=1&_method=post")))
        .containsExactly("POST");
  }

  @Test
  void moreMethodsThanAnyApplicationReads_areRefused() {
    RequestFacts facts =
        facts(WebRequest.builder("POST", "//x;a").header("X-HTTP-Method-Override", "a,b,c,d,e"));
    assertThatThrownBy(facts::readings)
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage(
            "the request has too many combinations of method overrides and interpretations of its path");
  }

  @Test
  void rule_holdsForTheMethodThatARequestAsksFor_unlessItSaysOtherwise() {
    PlainRequest.Builder request =
        WebRequest.builder("post", "/users/7").header("X-HTTP-Method-Override", "delete");
    assertThat(rule(true, "DELETE").match(facts(request))).hasSize(1);
    assertThat(rule(true, "POST").match(facts(request))).hasSize(1);
    assertThat(rule(true, "PUT").match(facts(request))).isEmpty();
    assertThat(rule(false, "DELETE").match(facts(request))).isEmpty();
    assertThat(rule(false, "POST").match(facts(request))).isNotEmpty();
  }

  private static Rule rule(boolean methodOverride, String method) {
    return Rule.on("/users/{user}")
        .methods(method)
        .methodOverride(methodOverride)
        .limit("PerKey", VaryBy.method())
        .build();
  }

  @ParameterizedTest
  @CsvSource({
    "/login,            true",
    "/LOGIN,            true",
    "/lo%47in,          true",
    "/LOGIN;x/,         true",
    "/x/%2E%2E/LoGiN,   true",
    "/logi,             false",
    "/login/x,          false"
  })
  void ruleThatIgnoresCase_isForEachSpelling(String path, boolean matches) {
    Rule rule = Rule.on("/Login").ignoreCase().limit("PerKey", VaryBy.path()).build();
    assertThat(rule.match(facts(WebRequest.builder("GET", path)))).hasSize(matches ? 1 : 0);
  }

  @Test
  void pathThatIsComparedWithoutCase_isInLowerCaseInIds() {
    Rule rule = Rule.on("/A/{B}").ignoreCase().limit("PerKey", VaryBy.pathVariable("B")).build();
    List<Rule.Reading> readings =
        rule.match(facts(WebRequest.builder("GET", "/a/\u212A\u017FX\u00C9")));
    assertThat(readings).hasSize(1);
    assertThat(readings.get(0).variables()).containsExactly(Map.entry("B", "ksx\u00e9"));
    assertThat(VaryBy.path().value(readings.get(0).facts(), Map.of())).isEqualTo("/a/ksx\u00e9");
    assertThat(rule.where()).isEqualTo("/A/{B}");
  }

  @Test
  void patternWithoutCase_coversThoseOfAnyCase_andNotTheOtherWayRound() {
    PathPattern with = PathPattern.parse("/A/{x}/**");
    PathPattern without = with.ignoringCase();
    assertThat(without.covers(PathPattern.parse("/a/B/c"))).isTrue();
    assertThat(without.covers(without)).isTrue();
    assertThat(with.covers(without)).isFalse();
    assertThat(PathPattern.parse("/**").covers(without)).isTrue();
    assertThat(without.leadingSegment()).isEqualTo("a");
  }

  @ParameterizedTest
  @ValueSource(strings = {"e1", "\"e1\"", "%651", "e%31", "\"\\1451\"", "\"\\e1\"", "%65%31"})
  void cookie_countsByItsDecodedValueToo(String value) {
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=" + value)))
        .contains("e1")
        .hasSizeLessThanOrEqualTo(4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"j:\"e1\"", "j%3A%22e1%22", "j: \"\\u0065\"", "j:12", "\"j:-1\""})
  void cookieOfJson_thatIsATextOrANumber_isRefused(String value) {
    PlainRequest.Builder request = WebRequest.builder("GET", "/").header("Cookie", "s=" + value);
    assertThatThrownBy(() -> values("cookie:s", request))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageContaining("the cookie s");
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=j:{}")))
        .containsExactly("j:{}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"s=e1,2", "s=e1, a=b", "a=b,s=e1", "s=e1 ,"})
  void commaInCookies_separatesThemToo(String cookies) {
    assertThat(values("cookie:s|none", WebRequest.builder("GET", "/").header("Cookie", cookies)))
        .contains("e1");
  }

  @Test
  void cookieWithoutEscapes_isOneValue_andAMalformedEscapeStays() {
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=a; t=%20")))
        .containsExactly("a");
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=%zz%31+")))
        .containsExactly("%zz%31+", "%zz1+", "%zz1 ");
  }

  /**
   * ASP.NET ignores case, PHP has "_" for other characters, Rack decodes names, qs has brackets.
   */
  @ParameterizedTest
  @ValueSource(strings = {"S-id", "s%2Did", "s-ID", "%53-id"})
  void cookieOfANameThatApplicationsTakeForTheSame_isChargedToo(String name) {
    PlainRequest.Builder both =
        WebRequest.builder("GET", "/").header("Cookie", "s-id=a; other=c; " + name + "=b");
    assertThat(values("cookie:s-id", both)).containsExactly("a", "b");
    PlainRequest.Builder alone = WebRequest.builder("GET", "/").header("Cookie", name + "=\"b\"");
    assertThat(values("cookie:s-id|none", alone)).containsExactly("none", "b");
    assertThatThrownBy(() -> values("cookie:s-id", alone))
        .isInstanceOf(UnusableRequestException.class);
  }

  /** ASP.NET and PHP also decode such a cookie. */
  @ParameterizedTest
  @ValueSource(strings = {"%62", "\"b\"", "\"\\142\"", "%62; other=c", "%62, other=c"})
  void cookieOfASimilarName_isDecodedToo(String value) {
    assertThat(
            values(
                "cookie:s-id",
                WebRequest.builder("GET", "/").header("Cookie", "s-id=a; S-ID=" + value)))
        .contains("a", "b");
  }

  /** ASP.NET looks for a cookie after each character that it cannot read. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "s=a; @s=b",
        "s=a; x s=b",
        "s=a; y=a s=b",
        "s=a; =s=b",
        "s=a; y=\\s=b",
        "y=a S=%62;s=a",
        "s=a; y=\"a t=b\" s=b \t",
        "s=a; x s=c; x s=b; x t=d",
        "s=a; a@s=\"b\""
      })
  void cookieInAMalformedPair_isChargedToo(String cookies) {
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", cookies)))
        .contains("a", "b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "xs=b",
        "y=a/s=b",
        "y=\"s=b\"",
        "y=s=b",
        "y=a?s=b",
        "y",
        "s@=b",
        "y=\"a s=b\"",
        "y=\"a s=b\" c",
        "y=a s=",
        "y={\"a\":\"/x?s=1\",\"b\":\"/y?s=2\"}",
        "y={\"s\":\"b\",\"t\":\"s=b\"}; z=[\"s=c\"]"
      })
  void textInsideAnotherCookie_isNoCookie(String other) {
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=a; " + other)))
        .containsExactly("a");
  }

  /** Starlette reads the header as ISO 8859-1, Django as UTF-8; Python strips more than spaces. */
  @ParameterizedTest
  @ValueSource(strings = {"\u00a0", "\u0085", "\u00c2\u00a0", "\u00a0\u00a0", "\u00e2\u0080\u0083"})
  void blanksAroundACookie_areStrippedToo(String blank) {
    for (String cookies :
        List.of(
            "s=a; s%s=b",
            "s=a; %1$ss=b",
            "s=a; S%s=%%62%1$s",
            "s=b%s",
            "s=%sb%1$s",
            "s=%s\"b\"%1$s",
            "s=\"\\142\"%s")) {
      assertThat(
              values(
                  "cookie:s",
                  WebRequest.builder("GET", "/").header("Cookie", cookies.formatted(blank))))
          .as(cookies)
          .contains("b");
    }
  }

  /** Armeria has stripped the last byte of the blank already; the application still gets it. */
  @ParameterizedTest
  @ValueSource(strings = {"b\u00c2", "b\u00c2\u00a0\u00c2", "b\u00e2\u0080"})
  void halfOfABlank_isStrippedToo(String value) {
    assertThat(values("cookie:s", WebRequest.builder("GET", "/").header("Cookie", "s=" + value)))
        .contains("b");
  }

  /** Laravel trims parameters, also invisible characters, unless it is told not to. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "bob%20",
        "+bob%20%20",
        "%C2%A0bob",
        "bob%E2%80%8B",
        "%E3%85%A4bob%09",
        "%EF%BB%BFbob"
      })
  void blanksAroundAParameter_areStrippedToo(String value) {
    assertThat(values("query:user", WebRequest.builder("GET", "/?user=" + value))).contains("bob");
  }

  @Test
  void partsOfAnId_areReadIndependently() {
    List<VaryBy> parts = List.of(VaryBy.cookie("s"), VaryBy.queryParameter("user_id"));
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/?user_id=RANDOM&user.id=bob").header("Cookie", "s=%61bc");
    assertThat(ids(parts, request))
        .containsExactlyInAnyOrder("%61bc:RANDOM", "%61bc:bob", "abc:RANDOM", "abc:bob");
  }

  @Test
  void partThatIsReadOnlyInSomeReadings_isReadInEachWayThere() {
    List<VaryBy> parts = List.of(VaryBy.cookie("s").orId("none"), VaryBy.cookie("t"));
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/").header("Cookie", "S=x; T=%61; t=b; u=c");
    assertThat(ids(parts, request))
        .containsExactlyInAnyOrder("none:b", "none:%61", "none:a", "x:b", "x:%61", "x:a");
  }

  @Test
  void moreThanSixteenReadings_areRefused() {
    List<VaryBy> parts = List.of(VaryBy.cookie("s"), VaryBy.cookie("t"));
    String four = "=%61+\\b";
    PlainRequest.Builder sixteen =
        WebRequest.builder("GET", "/a").header("Cookie", "s" + four + "; t" + four);
    assertThat(ids(parts, sixteen)).hasSize(16);
    PlainRequest.Builder more =
        WebRequest.builder("GET", "/a").header("Cookie", "s" + four + "; t" + four + "; T=b");
    assertThatThrownBy(() -> ids(parts, more))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage("applications can read the request's values in more than 16 ways");
    PlainRequest.Builder withPath =
        WebRequest.builder("GET", "/a;b").header("Cookie", "s" + four + "; t" + four);
    assertThatThrownBy(() -> ids(parts, withPath)).isInstanceOf(UnusableRequestException.class);
  }

  private static List<String> ids(List<VaryBy> parts, PlainRequest.Builder request) {
    return facts(request).readings().stream()
        .flatMap(
            reading ->
                reading
                    .inEachSpelling(
                        facts ->
                            parts.stream()
                                .map(part -> Objects.toString(part.value(facts, Map.of())))
                                .collect(Collectors.joining(":")))
                    .stream())
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "USER_ID",
        "user.id",
        "+user_id",
        "user%20id",
        "user_id[]",
        "user_id[x]",
        "[user_id]",
        "]user_id",
        "[[user_id]]",
        "[][%5Duser_id",
        "user_id%00x",
        "user_id%00%",
        "user_id%00%zz",
        "user_id[",
        "user[id",
        "user%5Bid"
      })
  void parameterOfANameThatApplicationsTakeForTheSame_isChargedToo(String name) {
    assertThat(
            values("query:user_id", WebRequest.builder("GET", "/?user_id=a&user=c&" + name + "=b")))
        .contains("a", "b")
        .doesNotContain("c");
    assertThat(values("query:user_id|none", WebRequest.builder("GET", "/?" + name + "=b")))
        .containsExactly("none", "b");
  }

  @ParameterizedTest
  @ValueSource(strings = {"X_Api_Key", "x-api_KEY", "X_Api-Key"})
  void headerThatCgiCannotTellFromAnother_isChargedToo(String name) {
    PlainRequest.Builder both =
        WebRequest.builder("GET", "/").header("X-Api-Key", "a").header(name, "b");
    assertThat(values("header:X-Api-Key", both)).containsExactly("a", "b");
    assertThat(methods(WebRequest.builder("POST", "/").header("X_HTTP_Method-Override", "PUT")))
        .containsExactly("POST", "PUT");
    assertThat(methods(WebRequest.builder("POST", "/?.method=PUT"))).containsExactly("POST", "PUT");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"X_Acme_Org_Api_Key_Id", "x_acme-org-api-key_ID", "X-Acme-Org-Api-Key_Id"})
  void headerWithManyDashes_hasSimilarNamesToo(String name) {
    PlainRequest.Builder both =
        WebRequest.builder("GET", "/").header("X-Acme-Org-Api-Key-Id", "a").header(name, "b");
    assertThat(values("header:X-Acme-Org-Api-Key-Id", both)).containsExactly("a", "b");
  }

  /** Express leaves such a value as it is; most others replace the bytes. */
  @ParameterizedTest
  @CsvSource({"%E9, \uFFFD, %E9", "a+%e9%62, a \uFFFDb, a %e9%62", "%C3%28, \uFFFD(, %C3%28"})
  void parameterWhoseBytesAreNotUtf8_countsAsItWasSentToo(
      String sent, String replaced, String left) {
    assertThat(values("query:k", WebRequest.builder("GET", "/?k=" + sent)))
        .contains(replaced, left);
    assertThat(values("query:k", WebRequest.builder("GET", "/?k=%C3%A9"))).containsExactly("é");
  }

  @Test
  void plusInTheQuery_isReadAsASpaceAndAsAPlus() {
    assertThat(values("query:k", WebRequest.builder("GET", "/?k=a+b%2B")))
        .containsExactly("a b+", "a+b+");
    assertThat(values("query:k", WebRequest.builder("GET", "/?k=a%20b"))).containsExactly("a b");
    assertThat(values("query:k", WebRequest.builder("GET", "/?k=a;x=1")))
        .containsExactly("a;x=1", "a");
    PlainRequest.Builder several = WebRequest.builder("GET", "/?x=1;k=a&k=b");
    assertThatThrownBy(() -> values("query:k", several))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageContaining("2 times");
    PlainRequest.Builder fragment = WebRequest.builder("GET", "/?k=a#1");
    assertThatThrownBy(() -> values("query:k", fragment))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage("the query has a \"#\"; send %23 instead");
    assertThat(values("path", fragment)).containsExactly("/");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer t1",
        "bearer t1",
        "BEARER  t1",
        "bEARER\tt1",
        " Bearer \u00a0 t1 ",
        "Bearer t1\u00a0",
        "Bearer t1\u00c2\u00a0\u0085",
        "Bearer \u00c2\u00a0t1",
        "Bearer token=t1",
        "Bearer token=\"t1\"",
        "Bearer \"t1",
        "Bearer \"t1\" "
      })
  void authorization_isASchemeWithoutCase_andCredentials(String value) {
    assertThat(
            values(
                "header:authorization",
                WebRequest.builder("GET", "/").header("Authorization", value)))
        .containsExactly("Bearer t1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Basic dTpwPz8=",
        "basic dTpwPz8",
        "BASIC  dTpwPz8=",
        "Basic dTp.wPz8==",
        "Basic dTpwPz9=",
        "Basic dTpwPz8=A"
      })
  void credentialsOfBasic_areDecoded(String value) {
    PlainRequest.Builder request = WebRequest.builder("GET", "/").header("Authorization", value);
    if (value.endsWith("A")) {
      assertThatThrownBy(() -> values("header:Authorization", request))
          .isInstanceOf(UnusableRequestException.class);
    } else {
      assertThat(values("header:Authorization", request)).containsExactly("Basic dTpwPz8=");
    }
  }

  /** Rails reads further parameters after the token, and does not need "token=". */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Token t1",
        "token token=t1",
        "Token token=\"t1\", n=\"x\"",
        "Token token=\"t1\";x",
        "Token t1\tr2",
        "Token t1 , r2",
        "Token ,;t1\u00a0"
      })
  void credentialsOfToken_areTheTokenThatRailsReads(String value) {
    assertThat(
            values(
                "header:Authorization",
                WebRequest.builder("GET", "/").header("Authorization", value)))
        .containsExactly("Token t1");
  }

  /** PyJWT skips all characters that are not Base64, and all behind the padding. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer eyJ9.e30.-2ln-2lnaQ",
        "Bearer eyJ9.e30.-2ln-2lnaQ!!!!",
        "Bearer eyJ9.e30.-2~ln|+2ln*aQ",
        "Bearer eyJ9.e30.+2ln+2lnaQ==",
        "Bearer eyJ9.e30.-2ln-2lnaR"
      })
  void signatureOfAJsonWebToken_isDecoded(String value) {
    for (String scheme : List.of("Bearer", "Token", "Jwt")) {
      assertThat(
              values(
                  "header:Authorization",
                  WebRequest.builder("GET", "/")
                      .header("Authorization", value.replace("Bearer", scheme))))
          .containsExactly(scheme + " eyJ9.e30.-2ln-2lnaQ");
    }
  }

  @Test
  void tokenThatIsNoJsonWebToken_isAsItWasSent() {
    for (String token : List.of("acme.prod.12", "eyJ9.a~b", "a:b=c==", "x-y.z_1.~2/3+4", "1:ab")) {
      assertThat(
              values(
                  "header:Authorization",
                  WebRequest.builder("GET", "/").header("Authorization", "Bearer " + token)))
          .containsExactly("Bearer " + token);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Basic dTpw,Basic YTpi",
        "Basic dTpw Pz8=",
        "Basic dTpw Bearer t2",
        "Bearer eyJ9.e30.c2ln=r2",
        "Bearer eyJ9.e30.c2ln,r2",
        "Bearer eyJ9.e30.c2ln;r2",
        "Bearer eyJ9.e30.c2ln\tr2",
        "Bearer eyJ9.e30.c2ln r2",
        "Bearer eyJ9.e30.c2ln,Bearer r2",
        "Bearer eyJ9.e30.c2ln,eyJ9.e30.r2",
        "Jwt eyJ9.e30.c2ln,Jwt r2",
        "Jwt eyJ9.e30.c2ln,eyJ9.e30.r2",
        "Jwt eyJ9.e30.c2ln r2",
        "Bearer t1 r2",
        "Bearer t1 bearer t2",
        "Bearer t1, Bearer t2",
        "X Bearer t2",
        "X xbearereyJ9.e30.c2ln"
      })
  void credentialsThatApplicationsReadInManyWays_areRefused(String value) {
    PlainRequest.Builder request = WebRequest.builder("GET", "/").header("Authorization", value);
    assertThatThrownBy(() -> values("header:Authorization", request))
        .isInstanceOf(UnusableRequestException.class);
  }

  /** Fly.io sends several tokens in one header; Rails reads the text before the separator. */
  @ParameterizedTest
  @ValueSource(strings = {"t1,r2", "t1;r2", "t1\tr2", "t1, t2", "t1,", "t1=,r2"})
  void severalTokens_areChargedTogether_andByTheFirstToken(String tokens) {
    assertThat(
            values(
                "header:Authorization",
                WebRequest.builder("GET", "/").header("Authorization", "bearer " + tokens)))
        .containsExactly("Bearer " + tokens, "Bearer " + tokens.replaceAll("[,;\t].*", ""));
  }

  @Test
  void firstToken_isTheTokenThatRailsReads() {
    for (String sent : List.of(",;t1", "token=\"t1\", n=\"x\"", "\"t1\",r2")) {
      assertThat(
              values(
                  "header:Authorization",
                  WebRequest.builder("GET", "/").header("Authorization", "Bearer " + sent)))
          .hasSize(2)
          .contains("Bearer t1");
    }
  }

  @Test
  void headerWithAComma_keepsItsValue_ifAnotherHeaderIsReadByASimilarName() {
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/")
            .header("X-Api-Key", "k")
            .header("X_Api_Key", "other")
            .header("X-Org", "a,b");
    assertThat(facts(request).readings(List.of("X-Api-Key")))
        .hasSize(2)
        .allSatisfy(facts -> assertThat(facts.headers("X-Org")).containsExactly("a,b"));
  }

  /** Two lines that Envoy has joined, and the tokens that Fly.io's own scheme sends. */
  @ParameterizedTest
  @ValueSource(strings = {"Apikey k1,ApiKey r2", "Apikey k1 , r2", "Flyv1 k1,k2"})
  void credentialsThatAProxyHasJoined_areChargedByTheFirstToo(String value) {
    assertThat(
            values(
                "header:Authorization",
                WebRequest.builder("GET", "/").header("Authorization", value)))
        .containsExactlyInAnyOrder(value, value.substring(0, value.indexOf(' ')) + " k1");
  }

  /** Parameters of other schemes. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Digest username=\"u\", realm=\"r\"",
        "Aws4-hmac-sha256 Credential=a/b, SignedHeaders=host;x-date, Signature=12",
        "Oauth oauth_token=\"a\", oauth_nonce=\"b\""
      })
  void commaInOtherCredentials_isPartOfTheirValue(String value) {
    assertThat(
            values(
                "header:Authorization",
                WebRequest.builder("GET", "/").header("Authorization", value)))
        .containsExactly(value);
  }

  /** nginx and Envoy join the lines of a header; the application still gets each line. */
  @ParameterizedTest
  @ValueSource(strings = {"k1, r1", "k1,r1", "k1 ,\tr 2", "k1,", "k1, r1, r2", "k1, \"(=r\""})
  void headerThatAProxyHasJoined_isChargedByItsFirstLineToo(String value) {
    assertThat(
            values("header:X-Api-Key", WebRequest.builder("GET", "/").header("X-Api-Key", value)))
        .containsExactly(value, "k1");
    assertThat(
            values(
                "header:X-Api-Key",
                WebRequest.builder("GET", "/")
                    .header("X-Api-Key", "k2")
                    .header("X_Api_Key", value)))
        .containsExactly("k2", value, "k1");
  }

  @ParameterizedTest
  @CsvSource({
    "User-Agent,        'Mozilla/5.0 (X11; Linux x86_64) Gecko (KHTML, like Gecko) Chrome/140'",
    "X-Client-Subject,  'CN=alice,O=Acme,C=DE'",
    "X-User,            '{\"id\":1,\"name\":\"a\"}'",
    "X-Forwarded-For,   '192.0.2.7, 10.0.0.1'",
    "Accept,            'application/json, text/event-stream'",
    "accept-language,   'de,en'",
    "X-Api-Key,         ',k1'"
  })
  void commaInAHeaderThatIsNotJoined_isPartOfItsValue(String header, String value) {
    assertThat(values("header:" + header, WebRequest.builder("GET", "/").header(header, value)))
        .containsExactly(value);
  }

  @ParameterizedTest
  @CsvSource({
    "CloudFront-Viewer-Address, 198.51.100.10:46532,               198.51.100.10",
    "CloudFront-Viewer-Address, 198.51.100.10,                     198.51.100.10",
    "CloudFront-Viewer-Address, 2001:db8:0:0:0:0:0:1:46532,        2001:db8::1",
    "CloudFront-Viewer-Address, 2001:db8:0:0:0:0:0:1,              2001:db8:0:0:0:0:0:1",
    "cloudfront-viewer-address, 2001:db8::1:8080,                  2001:db8::1",
    "CloudFront-Viewer-Address, [2001:db8::1]:443,                 2001:db8::1",
    "X-Client,                  2001:DB8:0:0:0:0:0:1:443,          2001:db8::1",
    "X-Client,                  2001:db8::1:46532,                 2001:db8::1",
    "X-Client,                  2001:db8::1:8080,                  2001:db8::1:8080",
    "X-Client,                  [2001:db8::1],                     2001:db8::1",
    "X-Client,                  [2001:db8::1]:_a,                  2001:db8::1",
    "X-Client,                  ::ffff:192.0.2.1:80,               192.0.2.1",
    "X-Client,                  192.0.2.1:,                        192.0.2.1:",
    "X-Client,                  192.0.2.1:123456,                  192.0.2.1:123456",
    "X-Client,                  example.com:443,                   example.com:443",
    "X-Client,                  1:2,                               1:2"
  })
  void addressInAHeader_countsWithoutItsPort(String header, String value, String id) {
    assertThat(values("header:" + header, WebRequest.builder("GET", "/").header(header, value)))
        .containsExactly(id);
  }

  @Test
  void otherHeaders_areAsTheyWereSent() {
    assertThat(values("header:X", WebRequest.builder("GET", "/").header("X", " bearer  t ")))
        .containsExactly("bearer  t");
    assertThat(
            Stream.of(
                    "Bearer",
                    "",
                    "*",
                    "aPI-Key a B",
                    "token token=a*",
                    "Token token=\"a\"",
                    "bearer \"*",
                    "digest username=\"a\"")
                .map(text -> RequestFacts.comparable("Authorization", text)))
        .containsExactly(
            "Bearer",
            "",
            "*",
            "Api-key a B",
            "Token a*",
            "Token a",
            "Bearer *",
            "Digest username=\"a\"");
    assertThat(RequestFacts.comparable("X", "bearer")).isEqualTo("bearer");
  }

  @ParameterizedTest
  @CsvSource({
    "example.com,         example.com",
    "EXAMPLE.com.,        example.com",
    "example.com:80,      example.com",
    "example.com.:,       example.com",
    "[2001:DB8::1]:8080,  [2001:db8::1]",
    "a_b-c.example,       a_b-c.example"
  })
  void host_isANameWithoutItsPort(String host, String name) {
    assertThat(RequestWord.host(WebRequest.builder("GET", "/").header("Host", host).build()))
        .isEqualTo(name);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "example.com..",
        "u@example.com",
        "example.com:80:80",
        "example.com:x",
        ".example.com",
        "a..b",
        "ex%61mple.com",
        "example.com/x",
        "example.com, b",
        "[::1]]",
        "ex\u00e4mple.com",
        "."
      })
  void hostThatServersReadInDifferentWays_isRefused(String host) {
    PlainRequest request = WebRequest.builder("GET", "/").header("Host", host).build();
    assertThatThrownBy(() -> RequestWord.host(request))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageStartingWith("the request has an invalid Host header");
  }

  @Test
  void severalHosts_areRefused_andNoneIsNone() {
    PlainRequest two =
        WebRequest.builder("GET", "/").header("Host", "a.test").header("Host", "a.test").build();
    assertThatThrownBy(() -> RequestWord.host(two)).isInstanceOf(UnusableRequestException.class);
    assertThat(RequestWord.host(WebRequest.builder("GET", "/").build())).isNull();
    assertThat(RequestWord.host(WebRequest.builder("GET", "/").header("Host", "").build()))
        .isNull();
  }

  /** Sixteen methods are one too many for a rule that looks at them. */
  @Test
  void methodThatIsAskedFor_isNotLookedAt_whereNoRuleDependsOnIt() {
    String many = "M,N,O,P,Q,R,S,T,U,V,W,X,Y,Z,AA,AB";
    WebRequest asking =
        WebRequest.builder("POST", "/").header("X-HTTP-Method-Override", many).build();
    Rule.Builder byKey = Rule.on("/").limit("PerKey", VaryBy.constant("a"));
    Rule.Builder byMethod = Rule.on("/").limit("PerKey", VaryBy.method());
    List<Rule> neither = List.of(byKey.build(), byMethod.methodOverride(false).build());
    Rule reading = Rule.on("/").limit("PerKey", VaryBy.method().orSkip()).build();
    Rule restricted = Rule.on("/").methods("PUT").limit("PerKey", VaryBy.constant("a")).build();

    assertThat(match(neither, asking).transactions()).hasSize(2);
    assertThatThrownBy(() -> match(List.of(reading), asking))
        .isInstanceOf(UnusableRequestException.class);
    assertThatThrownBy(() -> match(List.of(restricted), asking))
        .isInstanceOf(UnusableRequestException.class);
  }

  private static Match match(List<Rule> rules, WebRequest request) {
    return Rules.of(rules, ClientAddress.direct()).match(request, Limiters.limits());
  }
}
