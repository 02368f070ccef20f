// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleBook.Explanation;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RuleBookTest {

  private static final ClientAddress DIRECT = ClientAddress.direct();

  @TempDir Path folder;

  private Limits limits(String rules) {
    return RuleBookFixture.limits(folder, "rules:\n" + rules.indent(2));
  }

  private static List<String> keys(Limits limits, Optional<RuleMatch> match) {
    return match.orElseThrow().enforced(limits, 1).stream().map(Transaction::bucketKey).toList();
  }

  private static DescriptorEntry entry(String key, String value) {
    return new DescriptorEntry(key, value);
  }

  private static PlainRequest get(String target) {
    return WebRequest.builder("GET", target).peer("192.0.2.7").build();
  }

  @Test
  void match_ofADescriptor_needsTheSameKeysInTheSameOrder() {
    Limits limits =
        limits(
            """
            - {entries: [remote_address], limit: PerIp, id: "{remote_address}"}
            - entries: [generic_key: checkout, user]
              limit: PerKey
              id: "{user}"
            """);
    RuleBook book = RuleBook.of(limits);
    assertThat(keys(limits, book.match("edge", List.of(entry("remote_address", "192.0.2.7")))))
        .containsExactly("201:192.0.2.7");
    DescriptorEntry checkout = entry("generic_key", "checkout");
    DescriptorEntry user = entry("user", "alice");
    assertThat(keys(limits, book.match("edge", List.of(checkout, user))))
        .containsExactly("202:alice");
    assertThat(book.match("edge", List.of(user, checkout))).isEmpty();
    assertThat(book.match("edge", List.of(checkout))).isEmpty();
    assertThat(book.match("edge", List.of(checkout, user, user))).isEmpty();
    assertThat(book.match("edge", List.of(entry("generic_key", "search"), user))).isEmpty();
    assertThat(book.match("edge", List.of())).isEmpty();
  }

  @Test
  void match_ofSeveralRules_takesTheFirstThatIsForTheDomainAndTheValue() {
    Limits limits =
        limits(
            """
            - {domain: other, entries: [path], limit: PerKey, id: other}
            - {entries: [path: /api/health], unlimited: true}
            - {entries: [path: "/api/*"], limit: PerKey, id: api}
            - {entries: [path], limit: PerKey, id: rest}
            """);
    RuleBook book = RuleBook.of(limits);
    assertThat(keys(limits, book.match("other", List.of(entry("path", "/")))))
        .containsExactly("202:other");
    RuleMatch health = book.match("edge", List.of(entry("path", "/api/health"))).orElseThrow();
    assertThat(health.verdict()).isEqualTo(RuleMatch.Verdict.UNLIMITED);
    assertThat(health.charges()).isEmpty();
    assertThat(health.line()).isEqualTo(3);
    assertThat(keys(limits, book.match("edge", List.of(entry("path", "/api/orders")))))
        .containsExactly("202:api");
    assertThat(keys(limits, book.match("edge", List.of(entry("path", "/")))))
        .containsExactly("202:rest");
  }

  /** A subscriber has 2^64 addresses, and one bucket at each door. */
  @Test
  void match_ofADescriptorWithAnAddress_groupsItAsThatOfARequest() {
    Limits limits =
        limits(
            """
            - {entries: [remote_address], limit: PerIp, id: "{remote_address}"}
            - {entries: [masked_remote_address], limit: PerIp, id: "{1}"}
            - {entries: [client], limit: PerIp, id: "{client}"}
            - {entries: [remote_address, plain], limit: PerKey, id: "{plain}:{remote_address}"}
            - {entries: [user, at], limit: PerUserAtIp, id: "{at}:{user}"}
            - {entries: [client, range], limit: PerRange, id: "{client/48}"}
            - {entries: [masked_remote_address, range], limit: PerRange, id: "{masked_remote_address}"}
            - {entries: [remote_address, alone], limit: PerKey, id: "{1/128}"}
            - {path: /cdn, limit: PerIp, id: "{header:CloudFront-Viewer-Address}"}
            - {path: /**, limit: PerIp, id: "{ip}"}
            """);
    RuleBook book = RuleBook.of(limits);
    for (String[] row :
        new String[][] {
          {"201:2001:db8:7:7::", "remote_address", "2001:DB8:7:7::5"},
          {"201:192.0.2.7", "remote_address", "192.0.2.7"},
          {"201:192.0.2.7", "remote_address", "::ffff:192.0.2.7"},
          {"201:2001:db8:7:7::", "masked_remote_address", "2001:db8:7:7::/64"},
          {"201:2001:db8:7:7::", "masked_remote_address", "2001:db8:7:7::5/128"},
          {"201:2001:db8:7::", "masked_remote_address", "2001:db8:7::/48"},
          {"201:192.0.2.7", "masked_remote_address", "192.0.2.7/32"},
          {"201:192.0.2.0", "masked_remote_address", "192.0.2.0/24"},
          {"201:2001:db8:7:7::", "client", "2001:db8:7:7:ffff::5"},
          {"202:a:2001%3Adb8%3A7%3A7%3A%3A", "remote_address", "2001:db8:7:7::5", "plain", "a"},
          // An identifier of a device looks like an address, and is none.
          {
            "202:0a%3A1%3A2%3A3%3A4%3A5%3A6%3A7:192.0.2.7",
            "remote_address",
            "192.0.2.7",
            "plain",
            "0a:1:2:3:4:5:6:7"
          },
          {"203:[2001:db8:7:7::]:ann", "user", "ann", "at", "2001:db8:7:7::5"},
          {"204:2001:db8:7::/48", "client", "2001:db8:7:7::5", "range", "x"},
          {"204:2001:db8:7::/48", "masked_remote_address", "2001:db8:7::/48", "range", "x"},
          {"202:2001:db8:7:7::5/128", "remote_address", "2001:db8:7:7::5", "alone", "x"}
        }) {
      List<DescriptorEntry> entries = new ArrayList<>();
      for (int i = 1; i < row.length; i += 2) {
        entries.add(entry(row[i], row[i + 1]));
      }
      assertThat(keys(limits, book.match("edge", entries)))
          .as(entries.toString())
          .containsExactly(row[0]);
    }
    WebRequest request = WebRequest.builder("GET", "/").peer("2001:db8:7:7::9").build();
    assertThat(keys(limits, book.match(request, DIRECT))).containsExactly("201:2001:db8:7:7::");
    WebRequest viewer =
        WebRequest.builder("GET", "/cdn")
            .header("CloudFront-Viewer-Address", "2001:db8:7:7::9:443")
            .build();
    assertThat(keys(limits, book.match(viewer, DIRECT))).containsExactly("201:2001:db8:7:7::");
    List<DescriptorEntry> v4 = List.of(entry("client", "192.0.2.7"), entry("range", "x"));
    assertThat(keys(limits, book.match("edge", v4)))
        .as("a range of IPv6 skips an IPv4 client, as {ip/48} does")
        .isEmpty();
    RuleMatch none =
        book.match("edge", List.of(entry("client", "x"), entry("range", "x"))).orElseThrow();
    assertThatThrownBy(() -> none.enforced(limits, 1)).isInstanceOf(InvalidRequestException.class);
  }

  @Test
  void doubt_ofAnIdThatNoRuleAsksFor_namesTheOneThatIsAskedFor() {
    Limits limits =
        limits(
            """
            - {path: /a, limit: PerIp, id: "{ip}"}
            - {path: /b, limit: PerRange, id: "{ip/48}"}
            - {entries: [remote_address, user], limit: PerUserAtIp, id: "{remote_address}:{user}"}
            - {path: /d, limit: PerKey, id: "all"}
            - {path: /e, limit: PerKey, id: "key:{header:X-Key|none}:{path}"}
            - {entries: [user: ann], limit: PerKey, id: "{user}"}
            - {path: /g, limit: ByHeader, id: "{header:X-Ip}"}
            """);
    RuleBook book = RuleBook.of(limits);
    for (String[] row :
        new String[][] {
          {"PerIp", "192.0.2.7", null},
          {"PerIp", "2001:db8:7:7::", null},
          {"PerIp", "2001:db8:7:7::5", "line 2 uses the id \"2001:db8:7:7::\" instead"},
          {"PerRange", "2001:db8:7::/48", null},
          {"PerUserAtIp", "192.0.2.7:a:b", null},
          {"PerUserAtIp", "[2001:db8::]:ann", null},
          {"PerUserAtIp", "[2001:db8::1]:ann", "line 4 uses the id \"[2001:db8::]:ann\" instead"},
          {"PerKey", "all", null},
          {"PerKey", "key:a%3Ab:/e", null},
          {"PerKey", "key:a:b:/e", "line 5 uses the id \"all\" instead"},
          {"PerKey", "ann", null},
          {"PerKey", "bob", "no rule uses the id \"bob\" of PerKey: the rule on line 5 uses"},
          {"Free", "2001:db8::1", null},
          {"ByHeader", "2001:db8:7:7::5", "line 8 uses the id \"2001:db8:7:7::\" instead"}
        }) {
      LimitName name = limits.catalogue().get(row[0]);
      String doubt = book.doubt(name, row[1]);
      if (row[2] == null) {
        assertThat(doubt).as(row[1]).isNull();
      } else {
        assertThat(doubt).as(row[1]).contains(row[2]);
      }
    }
  }

  @Test
  void match_ofSeveralLimits_chargesThemTogetherAndTrialsApart() {
    Limits limits =
        limits(
            """
            - entries: [user, remote_address]
              limits:
                - {limit: PerIp, id: "{remote_address}"}
                - {limit: PerUserAtIp, id: "{remote_address}:{user}", cost: 2, excess: debt}
                - {limit: PerKey, id: "{1}", shadow: true, excess: drain}
            """);
    RuleMatch match =
        RuleBook.of(limits)
            .match("edge", List.of(entry("user", "a:b"), entry("remote_address", "2001:db8::1")))
            .orElseThrow();
    assertThat(match.enforced(limits, 3))
        .extracting(Transaction::bucketKey, Transaction::cost)
        .containsExactly(tuple("201:2001:db8::", 3L), tuple("203:[2001:db8::]:a:b", 2L));
    assertThat(match.trials(limits, 3))
        .singleElement()
        .satisfies(
            trial -> {
              assertThat(trial.bucketKey()).isEqualTo("shadow-202:a:b");
              assertThat(trial.cost()).isEqualTo(3);
            });
    assertThat(match.charges())
        .extracting(RuleCharge::excess)
        .containsExactly(Excess.REJECT, Excess.DEBT, Excess.DRAIN);
    assertThat(match.enforced(limits, 0)).extracting(Transaction::cost).containsExactly(0L, 0L);
    assertThatThrownBy(() -> match.enforced(limits, 11))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("burst");
  }

  @Test
  void match_ofARuleThatReservesOrSettles_namesTheRequest() {
    RuleBook book =
        RuleBook.of(
            limits(
                """
                - entries: [request_id, user]
                  limits:
                    - {limit: PerKey, id: "{user}", by: "{request_id}", cost: 40}
                    - {limit: PerRange, id: "::/48"}
                - {entries: [used, request_id, user], settles: PerKey, id: "{user}", by: "{request_id}"}
                """));
    DescriptorEntry id = entry("request_id", "r:1");
    DescriptorEntry user = entry("user", "ann");

    assertThat(book.match("edge", List.of(id, user)).orElseThrow().charges())
        .extracting(RuleCharge::excess, RuleCharge::call)
        .containsExactly(tuple(Excess.REJECT, "r:1"), tuple(Excess.REJECT, null));
    assertThat(book.match("edge", List.of(entry("used", "1"), id, user)).orElseThrow().charges())
        .extracting(RuleCharge::limit, RuleCharge::excess, RuleCharge::call)
        .containsExactly(tuple("PerKey", Excess.SETTLE, "r:1"));
  }

  @Test
  void match_ofOneBucketTwice_chargesItOnceAtTheHigherCost() {
    Limits limits =
        limits(
            """
            - path: /**
              limits:
                - {limit: PerKey, id: all}
                - {limit: PerKey, id: "{header:X|all}", cost: 4}
                - {limit: PerKey, id: "{query:q|all}", cost: 2}
            """);
    RuleMatch match = RuleBook.of(limits).match(get("/"), DIRECT).orElseThrow();
    assertThat(match.enforced(limits, 1))
        .singleElement()
        .extracting(Transaction::cost)
        .isEqualTo(4L);
  }

  @Test
  void match_ofValuesWithSeparators_neverMakesOneIdOfTwo() {
    Limits limits =
        limits(
            """
            - {entries: [a, b], limit: PerKey, id: "{a}:{b}"}
            """);
    RuleBook book = RuleBook.of(limits);
    assertThat(keys(limits, book.match("d", List.of(entry("a", "x:y"), entry("b", "z")))))
        .containsExactly("202:x%3Ay:z");
    assertThat(keys(limits, book.match("d", List.of(entry("a", "x"), entry("b", "y:z")))))
        .containsExactly("202:x:y%3Az");
    assertThat(keys(limits, book.match("d", List.of(entry("a", "x%3Ay"), entry("b", "z")))))
        .containsExactly("202:x%253Ay:z");
  }

  @Test
  void match_ofARequest_looksAtMethodHostPathHeadersAndClient() {
    Limits limits =
        limits(
            """
            - methods: [POST, GET]
              host: ["*.example.com.", api.test]
              path: /orders/{account}/**
              headers: {X-Plan: "free*"}
              clients: [192.0.2.0/24, "2001:db8::/32"]
              limits:
                - {limit: PerKey, id: "{path:account}"}
                - {limit: PerIp, id: "{ip}"}
            """);
    RuleBook book = RuleBook.of(limits);
    assertThat(keys(limits, book.match(order("HEAD", "a.example.com:8443", "/orders/7/x"), DIRECT)))
        .containsExactly("202:7", "201:192.0.2.7");
    assertThat(book.match(order("POST", "API.test.", "//orders/%37"), DIRECT)).isPresent();
    assertThat(book.match(order("PUT", "api.test", "/orders/7"), DIRECT)).isEmpty();
    assertThat(book.match(order("POST", "example.com", "/orders/7"), DIRECT)).isEmpty();
    assertThat(book.match(order("POST", "api.test", "/orders"), DIRECT)).isEmpty();
    PlainRequest.Builder other =
        WebRequest.builder("POST", "/orders/7").header("Host", "api.test").peer("192.0.2.7");
    assertThat(book.match(other.header("X-Plan", "paid").build(), DIRECT)).isEmpty();
    PlainRequest forwarded =
        WebRequest.builder("POST", "/orders/7")
            .header("Host", "api.test")
            .header("X-Plan", "free")
            .header("X-Forwarded-For", "2001:db8::9")
            .peer("10.0.0.1")
            .build();
    assertThat(book.match(forwarded, DIRECT)).isEmpty();
    ClientAddress behind = ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "10.0.0.0/8");
    assertThat(keys(limits, book.match(forwarded, behind)))
        .containsExactly("202:7", "201:2001:db8::");
  }

  private static PlainRequest order(String method, String host, String target) {
    return WebRequest.builder(method, target)
        .header("Host", host)
        .header("X-Plan", "free-trial")
        .peer("192.0.2.7")
        .build();
  }

  @Test
  void match_ofARequestWithoutAValue_isRefusedUnlessSomethingStandsIn() {
    Limits limits =
        limits(
            """
            - {path: /a, limit: PerKey, id: "{header:X-Api-Key}"}
            - {path: /b, limit: PerKey, id: "{header:X-Api-Key|anonymous}"}
            - path: /c
              limits:
                - {limit: PerRange, id: "{ip/48}"}
                - {limit: PerKey, id: "{query:u}:{cookie:s}:{method}:{host}:{path}"}
            """);
    RuleBook book = RuleBook.of(limits);
    assertThatThrownBy(() -> book.match(get("/a"), DIRECT))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageContaining("X-Api-Key");
    assertThat(keys(limits, book.match(get("/b"), DIRECT))).containsExactly("202:anonymous");
    PlainRequest all =
        WebRequest.builder("GET", "/c?u=1%3A2")
            .header("Cookie", "s=3")
            .header("Host", "h")
            .peer("192.0.2.7")
            .build();
    assertThat(keys(limits, book.match(all, DIRECT))).containsExactly("202:1%3A2:3:GET:h:/c");
  }

  @Test
  void match_ofACostInAHeader_takesItOrRefusesIt() {
    Limits limits =
        limits(
            """
            - path: /**
              limit: PerKey
              id: all
              cost: {header: X-Cost, default: 3}
            """);
    RuleBook book = RuleBook.of(limits);
    PlainRequest five = WebRequest.builder("GET", "/").header("X-Cost", "5").build();
    assertThat(cost(limits, book.match(five, DIRECT))).isEqualTo(5);
    PlainRequest free = WebRequest.builder("GET", "/").header("X-Cost", "0").build();
    assertThat(cost(limits, book.match(free, DIRECT))).isEqualTo(1);
    assertThat(cost(limits, book.match(get("/"), DIRECT))).isEqualTo(3);
    for (String wrong : List.of("-1", "", "1.5", "many", "9999999999999999999")) {
      PlainRequest request = WebRequest.builder("GET", "/").header("X-Cost", wrong).build();
      assertThatThrownBy(() -> book.match(request, DIRECT))
          .isInstanceOf(UnusableRequestException.class)
          .hasMessageContaining("X-Cost");
    }
  }

  private static long cost(Limits limits, Optional<RuleMatch> match) {
    return match.orElseThrow().enforced(limits, 1).get(0).cost();
  }

  @Test
  void explain_ofADescriptor_saysWhyEachEarlierRuleIsNotForIt() {
    RuleBook book =
        RuleBook.of(
            limits(
                """
                - {path: /**, unlimited: true}
                - {domain: other, entries: [user], limit: PerKey, id: x}
                - {entries: [user, path], limit: PerKey, id: x}
                - {entries: [path], limit: PerKey, id: x}
                - {entries: [user: "b*"], limit: PerKey, id: x}
                - {entries: [user], limit: PerKey, id: "{user}"}
                - {entries: [late], limit: PerKey, id: x}
                """));
    Explanation why = book.explain("edge", List.of(entry("user", "alice")));
    assertThat(why.passedOver())
        .extracting(Object::toString)
        .containsExactly(
            "PassedOver[line=2, reason=the rule is for requests, not descriptors]",
            "PassedOver[line=3, reason=the rule is for the domain \"other\", not \"edge\"]",
            "PassedOver[line=4, reason=the rule needs 2 entries, the descriptor has 1 entry]",
            "PassedOver[line=5, reason=the rule needs the key \"path\" in entry 1, not \"user\"]",
            "PassedOver[line=6, reason=the rule needs user = \"b*\" in entry 1, not \"alice\"]");
    assertThat(why.match()).isEqualTo(book.match("edge", List.of(entry("user", "alice"))).get());
    assertThat(why.match().line()).isEqualTo(7);
    assertThat(book.explain("edge", List.of(entry("x", "y"))).match()).isNull();
  }

  @Test
  void explain_ofARequest_saysWhyEachEarlierRuleIsNotForIt() {
    RuleBook book =
        RuleBook.of(
            limits(
                """
                - {entries: [user], unlimited: true}
                - {methods: POST, limit: PerKey, id: x}
                - {path: /login, limit: PerKey, id: x}
                - {host: api.test, limit: PerKey, id: x}
                - {headers: {X-Plan: "*"}, limit: PerKey, id: x}
                - {clients: 10.0.0.0/8, limit: PerKey, id: x}
                - {path: "/{any}", limit: PerKey, id: "{path:any}"}
                """));
    Explanation why = book.explain(new RequestFacts(get("/search"), DIRECT));
    assertThat(why.passedOver())
        .extracting(Explanation.PassedOver::reason)
        .containsExactly(
            "the rule is for descriptors, not requests",
            "the rule is for the method POST, not \"GET\"",
            "the rule is for the path /login, not \"/search\"",
            "the rule is for the host api.test, not none",
            "the rule needs the header x-plan: *, which is absent",
            "the rule is for clients from 10.0.0.0/8, not 192.0.2.7");
    assertThat(why.match()).isEqualTo(book.match(get("/search"), DIRECT).get());
  }

  @Test
  void explain_ofARequestThatLacksAValue_saysForWhichRule() {
    RuleBook book =
        RuleBook.of(
            limits(
                """
                - {path: /login, unlimited: true}
                - {path: /search, limit: PerKey, id: "{header:X-Key}"}
                - {path: /**, clients: 10.0.0.0/8, unlimited: true}
                """));
    Explanation lacks = book.explain(new RequestFacts(get("/search"), DIRECT));
    assertThat(lacks.passedOver()).extracting(Explanation.PassedOver::line).containsExactly(2);
    assertThat(lacks.match()).isNull();
    assertThat(lacks.unusable())
        .isEqualTo(
            new Explanation.Unusable(3, "the request lacks the header X-Key, which a limit needs"));
  }

  @Test
  void limitInShadow_thatLacksAValue_isSkipped() {
    Limits limits =
        limits(
            """
            - path: /**
              limits:
                - {limit: PerIp, id: "{ip}"}
                - {limit: PerKey, id: "{header:X-Key}", shadow: true}
                - {limit: PerKey, id: costly, cost: {header: X-Cost}, shadow: true}
            """);
    RuleBook book = RuleBook.of(limits);
    PlainRequest lacking =
        WebRequest.builder("GET", "/").header("X-Cost", "many").peer("192.0.2.7").build();
    assertThat(keys(limits, book.match(lacking, DIRECT))).containsExactly("201:192.0.2.7");
    assertThat(book.charges(lacking, DIRECT, limits).trials()).isEmpty();
    PlainRequest whole =
        WebRequest.builder("GET", "/").header("X-Key", "k").peer("192.0.2.7").build();
    assertThat(book.charges(whole, DIRECT, limits).trials()).hasSize(2);
    assertThat(book.explain(new RequestFacts(lacking, DIRECT)).skipped())
        .containsExactly(
            new Explanation.Skipped(
                "PerKey", "the request lacks the header X-Key, which a limit needs"),
            new Explanation.Skipped(
                "PerKey", "send the cost in header X-Cost once, as a whole number"));
  }

  @Test
  void of_limitsWithoutABook_hasNoRules() {
    RuleBook none = RuleBook.of(Limits.builder(dev.sluice.limit.Catalogue.samples()).build());
    assertThat(none.size()).isZero();
    assertThat(none.match("edge", List.of(entry("a", "b")))).isEmpty();
    assertThat(none.match(get("/"), DIRECT)).isEmpty();
  }

  @Test
  void equals_ofTheSameFileReadTwice_isTrue_soThatNothingIsReplaced() {
    String rules = "- {path: /**, limit: PerKey, id: all}\n";
    assertThat(limits(rules)).isEqualTo(limits(rules)).hasSameHashCodeAs(limits(rules));
    assertThat(limits(rules)).isNotEqualTo(limits(rules.replace("all", "other")));
  }
}
