// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ExplainRuleCommandTest {

  @TempDir Path folder;

  private String limits;
  private String rules;

  @BeforeEach
  void write() throws IOException {
    limits =
        write(
            "limits.yml",
            """
            ApiCallsPerKey: {burst: 10, count: 5, period: 1m, debt: 10}
            LoginsPerIPAddress: {burst: 3, count: 3, period: 1h}
            """);
    rules =
        write(
            "rules.yml",
            """
            rules:
              - {entries: [user: "svc-*"], unlimited: true}
              - {entries: [user], limit: ApiCallsPerKey, id: "{user}", excess: debt}
              - path: /login
                methods: POST
                limits:
                  - {limit: LoginsPerIPAddress, id: "{ip}"}
                  - {limit: ApiCallsPerKey, id: logins, cost: 2, shadow: true}
              - {path: /api/**, limit: ApiCallsPerKey, id: "{header:X-Api-Key}"}
              - {path: /old/**, deny: true}
              - {entries: [vip], replaces: [ApiCallsPerKey], unlimited: true}
              - {path: /paid, limit: ApiCallsPerKey, id: paid, cost: {header: X-Cost}}
              - path: /tried
                limit: ApiCallsPerKey
                id: tried
                cost: {header: X-Cost}
                shadow: true
              - path: /both
                limits:
                  - {limit: LoginsPerIPAddress, id: "{header:X-Address}", shadow: true}
                  - {limit: ApiCallsPerKey, id: both}
              - entries: [both]
                limits:
                  - {limit: LoginsPerIPAddress, id: "{both}", shadow: true}
                  - {limit: ApiCallsPerKey, id: both}
              - {entries: [request_id, key], limit: ApiCallsPerKey, id: "{key}", by: "{request_id}"}
              - entries: [used, request_id, key]
                limits: [{settles: ApiCallsPerKey, id: "{key}", by: "{request_id}"}]
            """);
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }

  /** One rule for each way to read a path with an escaped slash. */
  private String rulesForPaths() throws IOException {
    return write(
        "paths.yml",
        """
        rules:
          - {path: "/projects/{name}", limit: ApiCallsPerKey, id: "{path:name}"}
          - {path: /projects/**, limit: LoginsPerIPAddress, id: "{ip}"}
        """);
  }

  private Cli explain(String... arguments) {
    List<String> all =
        new ArrayList<>(List.of("explain-rule", "--limits", limits, "--rules", rules));
    all.addAll(List.of(arguments));
    return Cli.run(all.toArray(String[]::new));
  }

  @Test
  void descriptorThatNamesALimit_isChargedWithoutARule() {
    Cli run = explain("--domain", "edge", "--entry", "ApiCallsPerKey=bob", "--hits", "3");
    assertThat(run.code()).isZero();
    assertThat(run.out())
        .contains("no rule matches; the descriptor contains a limit\n  ApiCallsPerKey bob (bucket ")
        .contains("cost 3: burst 10");
  }

  @Test
  void descriptorOfADomainOfRulesOnly_isNotChargedByItsName() throws IOException {
    rules =
        write(
            "only.yml",
            """
            rulesOnly: [edge]
            rules: [{entries: [user], limit: ApiCallsPerKey, id: "{user}"}]
            """);
    Cli run = explain("--domain", "edge", "--entry", "ApiCallsPerKey=bob");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(run.out())
        .endsWith("no rule matches, and rulesOnly contains the domain edge: nothing is charged\n");
    assertThat(explain("--domain", "other", "--entry", "ApiCallsPerKey=bob").code())
        .isEqualTo(Exit.DONE);
  }

  @Test
  void request_isExplainedRuleByRule() {
    Cli run = explain("POST", "/login?next=/", "--client", "192.0.2.7");
    assertThat(run.out().replace(rules, "rules.yml"))
        .isEqualTo(
            """
            rules.yml:2: not this rule: the rule is for descriptors, not requests
            rules.yml:3: not this rule: the rule is for descriptors, not requests
            rules.yml:4: this rule
              LoginsPerIPAddress 192.0.2.7 (bucket 101:192.0.2.7), cost 1: burst 3, then 3 per 1h
              ApiCallsPerKey logins (bucket shadow-104:logins), cost 2, in shadow: burst 10, then 5 per 1m
            """);
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void pathWithAnEscapedSlash_isExplainedByBothReadings() throws IOException {
    rules = rulesForPaths();
    Cli run = explain("GET", "/projects/group%2Fname?x=%2F", "--client", "192.0.2.7");
    assertThat(run.out().replace(rules, "rules.yml"))
        .isEqualTo(
            """
            the path can be interpreted in 2 ways: the rules for all interpretations are charged
            read as /projects/group%2Fname:
            rules.yml:2: this rule
              ApiCallsPerKey group%2Fname (bucket 104:group%2Fname), cost 1: burst 10, then 5 per 1m
            read as /projects/group/name:
            rules.yml:2: not this rule: the rule is for the path /projects/{name}, not "/projects/group/name"
            rules.yml:3: this rule
              LoginsPerIPAddress 192.0.2.7 (bucket 101:192.0.2.7), cost 1: burst 3, then 3 per 1h
            """);
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void pathWithAnEscapedSlash_thatOneReadingCannotBeChargedFor_isRefused() throws IOException {
    rules = rulesForPaths();
    Cli run = explain("GET", "/projects/group%2Fname");
    assertThat(run.out()).contains(":3: cannot be charged: ");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(explain("GET", "/projects/%2F/../%5C").out())
        .startsWith("cannot be charged: the path");
  }

  @Test
  void methodThatARequestAsksFor_isExplainedToo() throws IOException {
    rules = rulesForPaths();
    String[] put = {"post", "//x/y", "--client", "192.0.2.7", "--header", "X-HTTP-Method: put"};
    assertThat(explain(put).out())
        .as("no rule uses the method")
        .startsWith("the path can be interpreted in 2 ways: ");
    Files.writeString(Path.of(rules), "rules:\n  - {path: /x, methods: PUT, unlimited: true}\n");
    Cli run = explain(put);
    assertThat(run.out())
        .startsWith("the request can be interpreted in 4 ways: ")
        .contains("read as POST /x/y:\n", "read as PUT /x/y:\n", "read as PUT /y:\n");
    assertThat(explain("GET", "/projects/a#b").out())
        .isEqualTo("cannot be charged: the path has a \"#\" or a space; send %23 or %20 instead\n");
  }

  @Test
  void headersOfSimilarNames_areNamedWithTheirValues() throws IOException {
    rules =
        write(
            "plans.yml",
            """
            rules:
              - {path: /**, headers: {X-Plan: paid}, limit: ApiCallsPerKey, id: paid}
              - {path: /**, headers: {X-Plan: "*"}, unlimited: true}
            """);
    String[] both = {"GET", "/x", "--header", "X-Plan: free", "--header", "X_Plan: paid"};
    assertThat(explain(both).out().replace(rules, "rules.yml"))
        .isEqualTo(
            """
            the header X-Plan can be interpreted in 2 ways: the rules for all interpretations are charged
            read as /x with X-Plan: free:
            rules.yml:2: not this rule: the rule needs the header x-plan: paid
            rules.yml:3: this rule: unlimited
            read as /x with X-Plan: paid:
            rules.yml:2: this rule
              ApiCallsPerKey paid (bucket 104:paid), cost 1: burst 10, then 5 per 1m
            """);
    assertThat(explain("GET", "/x", "--header", "X_Plan: paid").out())
        .startsWith("the header X-Plan can be interpreted in 2 ways: ")
        .contains("read as /x without X-Plan:\n", "read as /x with X-Plan: paid:\n");
    assertThat(explain("GET", "//a/b", "--header", "X_Plan: paid").out())
        .startsWith("the request can be interpreted in 4 ways: ")
        .contains("read as /a/b without X-Plan:\n", "read as /b with X-Plan: paid:\n");
  }

  @Test
  void descriptor_isExplainedRuleByRule() {
    Cli run = explain("--domain", "edge", "--entry", "user=alice", "--hits", "20");
    assertThat(run.out().replace(rules, "rules.yml"))
        .isEqualTo(
            """
            rules.yml:2: not this rule: the rule needs user = "svc-*" in entry 1, not "alice"
            rules.yml:3: this rule
              ApiCallsPerKey alice (bucket 104:alice), cost 20: burst 10, then 5 per 1m; the cost is above the burst: debt
            """);
    assertThat(explain("--domain", "edge", "--entry", "user=svc-7").out())
        .endsWith("rules.yml:2: this rule: unlimited\n");
  }

  @Test
  void ruleThatDenies_isShown() {
    Cli run = explain("GET", "/old/page");
    assertThat(run.out()).endsWith("rules.yml:10: this rule: always denied\n");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(explain("--domain", "edge", "--entry", "vip=ann").out())
        .endsWith(
            "rules.yml:11: this rule: unlimited\n  other descriptors are not charged ApiCallsPerKey\n");
  }

  @Test
  void requestOfNoRule_isANo() {
    Cli run = explain("GET", "/login");
    assertThat(run.out())
        .contains(":4: not this rule: the rule is for the method POST, not \"GET\"\n")
        .endsWith("no rule matches: nothing is charged\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @Test
  void requestThatLacksAValue_isANo() {
    Cli run = explain("GET", "/api/x");
    assertThat(run.out().replace(rules, "rules.yml"))
        .contains("rules.yml:4: not this rule: the rule is for the method POST, not \"GET\"\n")
        .endsWith(
            "rules.yml:9: cannot be charged: the request lacks the header X-Api-Key, which a limit needs\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(explain("GET", "/api/x", "--header", "X-Api-Key: k").out()).contains("104:k");
    assertThat(explain("GET", "/%zz").out()).startsWith("cannot be charged: the path has");
  }

  /** The server answers such a request with a 400. */
  @Test
  void requestWhoseHeaderCostsMoreThanTheBurst_isANo() {
    Cli run = explain("GET", "/paid", "--header", "X-Cost: 11");
    assertThat(run.out())
        .contains(": this rule\n  ApiCallsPerKey ")
        .endsWith("cannot be charged: cost 11 exceeds the burst" + " (10) of ApiCallsPerKey\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(explain("GET", "/paid", "--header", "X-Cost: 10").code()).isEqualTo(Exit.DONE);
  }

  /** The server takes no notice of such a trial: it refuses nobody, and the rest is charged. */
  @Test
  void trialThatCannotBeCharged_isShownAsLeftOut() {
    Cli tooMuch = explain("GET", "/tried", "--header", "X-Cost: 11");
    assertThat(tooMuch.out())
        .endsWith(
            ": this rule\n  ApiCallsPerKey in shadow, not charged:"
                + " cost 11 exceeds the burst (10) of ApiCallsPerKey\n");
    assertThat(tooMuch.code()).isEqualTo(Exit.DONE);
    assertThat(explain("GET", "/tried", "--header", "X-Cost: 10").out())
        .endsWith("cost 10, in shadow: burst 10, then 5 per 1m\n");

    for (Cli noId :
        List.of(
            explain("GET", "/both", "--header", "X-Address: lol"),
            explain("--domain", "edge", "--entry", "both=lol"))) {
      assertThat(noId.out())
          .contains(": this rule\n  LoginsPerIPAddress in shadow, not charged: ")
          .contains("lol")
          .endsWith("\n  ApiCallsPerKey both (bucket 104:both), cost 1: burst 10, then 5 per 1m\n");
      assertThat(noId.code()).isEqualTo(Exit.DONE);
    }
    Cli lacking = explain("GET", "/both");
    assertThat(lacking.out())
        .endsWith(
            "\n  ApiCallsPerKey both (bucket 104:both), cost 1: burst 10, then 5 per 1m\n"
                + "  LoginsPerIPAddress in shadow, not charged: the request lacks the header"
                + " X-Address, which a limit needs\n");
    assertThat(lacking.code()).isEqualTo(Exit.DONE);
    assertThat(explain("GET", "/both", "--header", "X-Address: 192.0.2.7").out())
        .contains("(bucket shadow-101:192.0.2.7), cost 1, in shadow");
  }

  @Test
  void ruleThatReservesOrSettles_saysForWhichRequest() {
    String[] call = {"--domain", "edge", "--entry", "request_id=r 1", "--entry", "key=k"};
    assertThat(explain(call).out())
        .contains(
            "ApiCallsPerKey k (bucket 104:k), cost 1: burst 10, then 5 per 1m; reserved for the request \"r 1\"\n");
    assertThat(
            explain(
                    "--domain",
                    "edge",
                    "--entry",
                    "used=1",
                    "--entry",
                    "request_id=r 1",
                    "--entry",
                    "key=k",
                    "--hits",
                    "20")
                .out())
        .contains(
            "cost 20: burst 10, then 5 per 1m; the cost is above the burst: debt; replaces the"
                + " reservation of the request \"r 1\"\n");
  }

  /** At Envoy's door it is asked about, and charged as its excess says. */
  @Test
  void trialOfADescriptor_aboveTheBurst_isShownWithItsExcess() {
    Cli run = explain("--domain", "edge", "--entry", "both=192.0.2.7", "--hits", "4");
    assertThat(run.out())
        .contains(
            "cost 4, in shadow: burst 3, then 3 per 1h; the cost is above the burst: reject\n");
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void wrongUse_saysWhatIsExpected() {
    assertThat(Cli.run("explain-rule", "GET", "/").err()).contains("--rules FILE");
    assertThat(Cli.run("explain-rule", "--rules", rules, "GET", "/").err())
        .contains("--rules requires --limits FILE");
    assertThat(explain().err()).contains("METHOD and TARGET");
    assertThat(explain("GET", "/", "--entry", "a=b").err()).contains("one or the other");
    assertThat(explain("--domain", "d", "--entry", "a").err()).contains("KEY=VALUE");
    assertThat(explain("GET", "/", "--header", "x").err()).contains("Name: value");
    Cli client = explain("GET", "/", "--client", "lol");
    assertThat(client.err()).isEqualTo("sluice: --client: found \"lol\", expected an IP address\n");
    assertThat(client.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(explain("--entry", "user=ann").err())
        .isEqualTo("sluice: --entry requires --domain: a descriptor without a domain is refused\n");
    for (String option : List.of("--hits", "--domain")) {
      Cli request = explain("POST", "/login", option, "0");
      assertThat(request.err())
          .isEqualTo(
              "sluice: %s requires --entry, since it belongs to a descriptor\n".formatted(option));
      assertThat(request.code()).isEqualTo(Exit.BROKEN_INPUT);
    }
    assertThat(explain("--domain", "", "--entry", "user=ann").code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(explain("--domain", "d", "--entry", "a=b", "--hits", "-1").code())
        .isEqualTo(Exit.BROKEN_INPUT);
  }
}
