// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A request that can be read in several ways is charged what the rules for all of them say. */
class RequestReadingsTest {

  @TempDir Path folder;

  private List<String> charged(String book, PlainRequest.Builder request) {
    Limits limits = RuleBookFixture.limits(folder, book);
    return RuleBook.of(limits)
        .match(request.peer("192.0.2.7").build(), ClientAddress.direct())
        .map(match -> match.enforced(limits, 1).stream().map(Transaction::id).toList())
        .orElse(List.of());
  }

  private static final String LOGIN =
      """
      rules:
        - {path: /login, methods: [POST], limit: PerIp, id: "{ip}"}
      """;

  @ParameterizedTest
  @ValueSource(strings = {"post", "pOST", "Post", "POST"})
  void method_isComparedWithoutCase(String method) {
    assertThat(charged(LOGIN, WebRequest.builder(method, "/login"))).containsExactly("192.0.2.7");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"//x/login", "///x/login", "/\\x/login", "//x:80/login", "http://h/login"})
  void pathBehindAHost_isCharged(String target) {
    assertThat(charged(LOGIN, WebRequest.builder("POST", target))).containsExactly("192.0.2.7");
  }

  @Test
  void partsOfAnId_areChargedInEachCombination_andEachLimitForItself() {
    String book =
        """
        rules:
          - path: /**
            limits:
              - {limit: PerKey, id: "{cookie:s}:{query:u}"}
              - {limit: Free, id: "{query:u}"}
        """;
    PlainRequest.Builder request = WebRequest.builder("GET", "/?u=x&U=y").header("Cookie", "s=%61");
    assertThat(charged(book, request))
        .containsExactlyInAnyOrder("%2561:x", "a:x", "%2561:y", "a:y", "x", "y");
  }

  @Test
  void headerThatAProxyHasJoined_isMatchedByItsFirstLineToo() {
    String book =
        """
        rules:
          - {path: /**, headers: {X-Plan: free}, limit: Free, id: "{header:X-Api-Key}"}
          - {path: /**, headers: {X-Plan: "*"}, limit: PerKey, id: "{header:X-Api-Key}"}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/").header("X-Plan", "free, x").header("X-Api-Key", "k");
    assertThat(charged(book, request)).containsExactly("k");
    request = WebRequest.builder("GET", "/").header("X-Plan", "x, free").header("X-Api-Key", "k,r");
    assertThat(charged(book, request)).containsExactly("k,r", "k");
  }

  /** An auth proxy writes a list such as {@code users,admins} in one line. */
  @ParameterizedTest
  @ValueSource(strings = {"users,admins", "admins,users", "users, admins", "admins"})
  void listInAHeader_isMatchedAsAWhole(String groups) {
    String book =
        """
        rules:
          - {path: /**, headers: {Remote-Groups: "*admins*"}, %s}
          - {path: /admin/**, deny: true}
          - {path: /**, limit: PerIp, id: "{ip}"}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/admin/x").header("Remote-Groups", groups);
    assertThat(charged(book.formatted("unlimited: true"), request)).isEmpty();
    assertThat(charged(book.formatted("limit: PerKey, id: admins"), request))
        .containsExactly("admins");
  }

  @Test
  void commasInManyHeaders_areNoMoreReadings() {
    String book =
        """
        rules:
          - {path: /x, headers: {X-A: "1", X-B: "1", X-C: "1", X-D: "1", X-E: "1"}, limit: PerKey, id: x}
          - {path: /x, headers: {Authorization: "Basic *"}, limit: PerKey, id: basic}
          - {path: /**, limit: PerIp, id: "{ip}"}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/y").header("Authorization", "Basic a=b");
    List.of("X-A", "X-B", "X-C", "X-D", "X-E").forEach(header -> request.header(header, "1, 2"));
    assertThat(charged(book, request)).containsExactly("192.0.2.7");
    request.path("/x");
    assertThat(charged(book, request)).containsExactly("x");
  }

  @Test
  void pathBelowAScript_isChargedAsItsRuleSays_andByTheRuleOfTheScript() {
    String book =
        """
        rules:
          - {path: /theme/**, unlimited: true}
          - {path: /remote.php/**, unlimited: true}
          - {path: /wp-login.php, limit: PerKey, id: login}
          - {path: "/api/**", limit: PerKey, id: api}
          - {path: /**, limit: PerIp, id: "{ip}"}
        """;
    assertThat(charged(book, WebRequest.builder("GET", "/theme/image.php/boost/x"))).isEmpty();
    assertThat(charged(book, WebRequest.builder("GET", "/remote.php/dav/x"))).isEmpty();
    assertThat(charged(book, WebRequest.builder("GET", "/api/files/src%2FFoo.php/raw")))
        .containsExactly("api");
    assertThat(charged(book, WebRequest.builder("POST", "/wp-login.php/x")))
        .containsExactly("192.0.2.7", "login");
  }

  @Test
  void methodThatARequestAsksFor_isChargedTooUnlessTheRuleSaysOtherwise() {
    String book =
        """
        rules:
          - {path: "/users/{u}", methods: DELETE, %s limit: PerKey, id: "{path:u}:{method}"}
          - {path: /**, methods: POST, limit: PerIp, id: "{ip}"}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("POST", "/users/7").header("X-HTTP-Method-Override", "delete");
    assertThat(charged(book.formatted(""), request)).containsExactly("192.0.2.7", "7:DELETE");
    assertThat(charged(book.formatted("methodOverride: false,"), request))
        .containsExactly("192.0.2.7");
    assertThat(charged("methodOverride: false\n" + book.formatted(""), request))
        .containsExactly("192.0.2.7");
    assertThat(
            charged(
                "methodOverride: false\n" + book.formatted("methodOverride: true,"),
                WebRequest.builder("POST", "/users/7?_method=DELETE")))
        .containsExactly("192.0.2.7", "7:DELETE");
  }

  @ParameterizedTest
  @CsvSource({
    "'', x, false",
    "'methods: POST,', x, true",
    "'', {method}, true",
    "'methods: POST, methodOverride: false,', {method}, false"
  })
  void methodsThatARequestAsksFor_areReadOnlyIfARuleUsesThem(
      String fields, String id, boolean areRead) {
    RuleBook book =
        RuleBook.of(
            RuleBookFixture.limits(
                folder,
                "rules:\n  - {path: /**, %s limit: PerKey, id: \"%s\"}\n".formatted(fields, id)));
    PlainRequest.Builder request = WebRequest.builder("POST", "/").peer("192.0.2.7");
    for (char c = 'A'; c < 'A' + 16; c++) {
      request.header("X-HTTP-Method", "VERB-" + c);
    }
    ThrowingCallable match = () -> book.match(request.build(), ClientAddress.direct());
    if (!areRead) {
      assertThatCode(match).doesNotThrowAnyException();
      assertThat(book.readings(request.build(), ClientAddress.direct())).hasSize(1);
    } else {
      assertThatThrownBy(match).isInstanceOf(UnusableRequestException.class);
    }
  }

  @Test
  void ruleThatDeniesOneReading_refusesTheRequest() {
    Limits limits =
        RuleBookFixture.limits(
            folder,
            """
            rules:
              - {path: /**, methods: DELETE, deny: true}
              - {path: /**, limit: PerIp, id: "{ip}"}
            """);
    PlainRequest request =
        WebRequest.builder("POST", "/")
            .header("X-Method-Override", "DELETE")
            .peer("192.0.2.7")
            .build();
    RuleMatch match = RuleBook.of(limits).match(request, ClientAddress.direct()).orElseThrow();
    assertThat(match.verdict()).isEqualTo(Verdict.DENIES);
    assertThat(match.charges()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "'',                 '',                  /LOGIN, false",
    "ignoreCase: true,   '',                  /LOGIN, true",
    "ignoreCase: true,   '',                  /LoG%49n/, true",
    "'',                 'ignoreCase: true,', /loGIN, true",
    "ignoreCase: true,   'ignoreCase: false,', /loGIN, false",
    "ignoreCase: false,  'ignoreCase: true,', /loGIN, true"
  })
  void caseOfAPath_countsUnlessTheRuleOrTheBookSaysOtherwise(
      String ofBook, String ofRule, String path, boolean found) {
    String book =
        ofBook + "\nrules:\n  - {path: /Login, " + ofRule + " limit: PerKey, id: \"{path}\"}\n";
    assertThat(charged(book, WebRequest.builder("GET", path)))
        .isEqualTo(found ? List.of("/login") : List.of());
    assertThat(charged(book, WebRequest.builder("GET", "/Login"))).hasSize(1);
  }

  @Test
  void ruleThatIgnoresCase_isFoundAmongMany_andItsVariablesAreInLowerCase() {
    String book =
        """
        rules:
          - {path: /A/b, limit: PerKey, id: exact}
          - {path: "/a/{X}", ignoreCase: true, limit: PerKey, id: "{path:X}"}
          - {path: /A/**, limit: PerKey, id: rest}
        """;
    assertThat(charged(book, WebRequest.builder("GET", "/A/b"))).containsExactly("exact");
    assertThat(charged(book, WebRequest.builder("GET", "/A/B\u212A"))).containsExactly("bk");
    assertThat(charged(book, WebRequest.builder("GET", "/A/b/c"))).containsExactly("rest");
  }

  @Test
  void cookie_isChargedAsItWasSent_andDecoded() {
    String book = "rules:\n  - {path: /, limit: PerKey, id: \"{cookie:s}\"}\n";
    assertThat(charged(book, WebRequest.builder("GET", "/").header("Cookie", "s=%651")))
        .containsExactly("%651", "e1");
    assertThat(charged(book, WebRequest.builder("GET", "/").header("Cookie", "s=\"\\1451\"")))
        .containsExactly("\\1451", "e1");
  }

  @Test
  void authorization_isComparedBySchemeWithoutCase() {
    String book =
        """
        rules:
          - {path: /, headers: {Authorization: "bearer t*"}, limit: PerKey, id: "{header:Authorization}"}
        """;
    for (String value : List.of("Bearer t1", "bearer  t1", "BEARER t1")) {
      assertThat(charged(book, WebRequest.builder("GET", "/").header("Authorization", value)))
          .containsExactly("Bearer t1");
    }
    assertThat(charged(book, WebRequest.builder("GET", "/").header("Authorization", "Basic t1")))
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"X_Api_Key", "x-api_key", "X_Api-Key"})
  void headerOfASimilarName_choosesARuleToo(String similar) {
    String book =
        """
        rules:
          - {path: /**, headers: {X-Api-Key: "k*"}, limit: PerKey, id: "{header:X-Api-Key}"}
          - {path: /**, unlimited: true}
        """;
    assertThat(charged(book, WebRequest.builder("GET", "/x").header(similar, "k1")))
        .containsExactly("k1");
    assertThat(
            charged(
                book,
                WebRequest.builder("GET", "/x").header("X-Api-Key", "other").header(similar, "k1")))
        .containsExactly("k1", "other");
    assertThat(charged(book, WebRequest.builder("GET", "/x").header("XApi_Key", "k1"))).isEmpty();
  }

  @Test
  void twoHeadersOfSimilarNames_chooseARuleEach_andIdsAreReadInBothWays() {
    String book =
        """
        rules:
          - {path: /**, headers: {X-Plan: paid}, limit: PerKey, id: "paid:{header:X-Id}:{cookie:c}"}
          - {path: /**, headers: {X-Plan: free}, limit: PerKey, id: "free:{header:X-Id}:{cookie:c}"}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/")
            .header("X-Plan", "paid")
            .header("X_Plan", "free")
            .header("X-Id", "1")
            .header("X_Id", "2")
            .header("Cookie", "c=%41");
    assertThat(charged(book, request))
        .contains("paid:1:%2541", "paid:2:%2541", "paid:1:A")
        .contains("free:1:%2541", "free:2:%2541", "free:2:A");
  }

  @Test
  void headersOfSimilarNames_areReadInEachCombination() {
    String book =
        """
        rules:
          - {path: /**, headers: {X-A: "1", X-B: "1"}, limit: PerKey, id: both}
          - {path: /**, unlimited: true}
        """;
    PlainRequest.Builder request =
        WebRequest.builder("GET", "/")
            .header("X_A", "0")
            .header("X-A", "1")
            .header("X-B", "0")
            .header("X_B", "1");
    assertThat(charged(book, request)).containsExactly("both");
  }

  @Test
  void tooManyPairsOfHeadersWithSimilarNames_areRefused() {
    String book =
        """
        rules:
          - {path: /**, headers: {X-A: "1", X-B: "1", X-C: "1", X-D: "1", X-E: "1"}, limit: PerIp, id: "{ip}"}
        """;
    PlainRequest.Builder request = WebRequest.builder("GET", "/");
    for (String letter : List.of("A", "B", "C", "D")) {
      request.header("X-" + letter, "1").header("X_" + letter, "1");
    }
    assertThat(charged(book, request)).isEmpty();
    request.header("X-E", "1").header("X_E", "1");
    assertThatThrownBy(() -> charged(book, request)).isInstanceOf(UnusableRequestException.class);
  }

  @Test
  void headerOfASimilarName_isDeniedIfItsRuleDenies() {
    Limits limits =
        RuleBookFixture.limits(
            folder,
            """
            rules:
              - {path: /**, headers: {X-Debug: "*"}, deny: true}
              - {path: /**, limit: PerIp, id: "{ip}"}
            """);
    PlainRequest request =
        WebRequest.builder("GET", "/").header("X_Debug", "1").peer("192.0.2.7").build();
    assertThat(RuleBook.of(limits).match(request, ClientAddress.direct()).orElseThrow().verdict())
        .isEqualTo(Verdict.DENIES);
  }

  @ParameterizedTest
  @ValueSource(strings = {"api.test..", "u@api.test", "api.test:1:2"})
  void hostThatNoRuleCanMeet_isRefused(String host) {
    String book = "rules:\n  - {host: api.test, limit: PerIp, id: \"{ip}\"}\n";
    PlainRequest.Builder request = WebRequest.builder("GET", "/").header("Host", host);
    assertThatThrownBy(() -> charged(book, request))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageContaining("an invalid Host header");
  }
}
