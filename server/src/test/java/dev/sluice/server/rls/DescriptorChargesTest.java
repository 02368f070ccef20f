// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.UInt64Value;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.net.HostPort;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Descriptors for which the book has a rule. */
final class DescriptorChargesTest {

  private static final String NAMES =
      """
      names:
        - {number: 201, name: PerIp, id: ipAddress}
        - {number: 202, name: Tokens, id: string}
        - {number: 203, name: PerRange, id: ipv6RangeCIDR}
        - {number: 204, name: Both, id: string}
      """;
  private static final String LIMITS =
      """
      PerIp: {burst: 10, count: 10, period: 1m}
      Tokens: {burst: 1000, count: 1000, period: 1h, debt: 10}
      PerRange: {burst: 1000, count: 1000, period: 1h}
      Both: {quotas: [100 per 1h, 10 per 1m], debt: 1}
      """;
  private static final String RULES =
      """
      rules:
        - entries: [remote_address: 192.0.2.1]
          unlimited: true
        - entries: [remote_address: 192.0.2.66]
          deny: true
        - entries: [remote_address]
          limits:
            - {limit: PerIp, id: "{remote_address}"}
            - {limit: Tokens, id: all, cost: 5, shadow: true}
        - entries: [vip]
          replaces: [PerIp]
          limit: Tokens
          id: "{vip}"
        - {entries: [range], replaces: [PerIp], limit: PerRange, id: "{range/48}"}
        - entries: [generic_key: used, user]
          limits: [{limit: Tokens, id: "{user}", excess: debt}]
        - entries: [generic_key: drained, user]
          limits: [{limit: Tokens, id: "{user}", excess: drain}]
        - entries: [generic_key: used, both]
          limits: [{limit: Both, id: "{both}", excess: debt}]
        - entries: [generic_key: drained, both]
          limits: [{limit: Both, id: "{both}", excess: drain}]
        - entries: [priced]
          limits: [{limit: Tokens, id: "{priced}", cost: 5}]
        - entries: [user, remote_address]
          limits:
            - {limit: Tokens, id: "{user}"}
            - {limit: PerIp, id: "{remote_address}"}
        - entries: [user]
          limit: Tokens
          id: "{user}"
        - entries: [tried, remote_address]
          limits:
            - {limit: PerIp, id: "{remote_address}", shadow: true}
            - {limit: Tokens, id: "{tried}"}
        - entries: [tried]
          limits: [{limit: Tokens, id: "{tried}", shadow: true}]
      """;

  private static final RateLimitOverride HUNDRED_AN_HOUR =
      RateLimitOverride.newBuilder().setRequestsPerUnit(100).setUnit(RateLimitUnit.HOUR).build();

  @TempDir private Path folder;

  private Limits limits() throws IOException {
    return LimitFiles.builder()
        .names(Files.writeString(folder.resolve("names.yml"), NAMES))
        .defaults(Files.writeString(folder.resolve("limits.yml"), LIMITS))
        .companion(Files.writeString(folder.resolve("rules.yml"), RULES), RuleBook.reader())
        .build()
        .load();
  }

  /** An IPv4 client skips the range: then nothing would be charged in the place of PerIp. */
  @Test
  void ruleWhoseLimitsAreAllSkipped_replacesNothing() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      for (String[] row : new String[][] {{"192.0.2.7", "9"}, {"2001:db8::1", "0"}}) {
        assertThat(
                server
                    .ask(descriptor("range", row[0]), descriptor("PerIp", row[0]))
                    .getStatuses(1)
                    .getLimitRemaining())
            .as(row[0])
            .isEqualTo(Integer.parseInt(row[1]));
      }
    }
  }

  @Test
  void rule_saysWhatIsCharged() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(
              descriptor("remote_address", "192.0.2.1"),
              descriptor("remote_address", "192.0.2.7"),
              descriptor("PerIp", "192.0.2.7"));

      assertThat(response.getOverallCode()).isEqualTo(Code.OK);
      assertThat(response.getStatusesList().stream().map(DescriptorStatus::getLimitRemaining))
          .containsExactly(-1, 8, 8);

      UInt64Value used = UInt64Value.of(1_200);
      RateLimitResponse late =
          server.ask(descriptor("generic_key", "used", "user", "ann").setHitsAddend(used));
      assertThat(late.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      DescriptorStatus owed =
          server
              .ask(
                  descriptor("generic_key", "used", "user", "ann").setHitsAddend(UInt64Value.of(0)))
              .getStatuses(0);
      assertThat(owed.getDurationUntilReset().getSeconds())
          .as("201 tokens at 3.6 s each")
          .isEqualTo(724);
    }
  }

  @Test
  void emptyValue_isTheIdOfAll_andAStarAnother_byARuleAsByTheNameOfTheLimit() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(
              descriptor("generic_key", "used", "user", ""),
              descriptor("user", ""),
              descriptor("Tokens", ""),
              descriptor("generic_key", "Tokens"),
              descriptor("user", "*"),
              descriptor("Tokens", "*"),
              descriptor("Tokens", "**"));

      assertThat(response.getOverallCode()).isEqualTo(Code.OK);
      assertThat(response.getStatusesList())
          .extracting(DescriptorStatus::getLimitRemaining)
          .containsExactly(996, 996, 996, 996, 998, 998, 999);
    }
  }

  @Test
  void ruleThatDenies_refusesTheRequest_andNothingElseIsCharged() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(
              descriptor("remote_address", "192.0.2.66"),
              descriptor("remote_address", "192.0.2.7"));

      assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      DescriptorStatus denied = response.getStatuses(0);
      assertThat(denied.getCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(denied.hasCurrentLimit()).isTrue(); // Envoy skips a status without one
      assertThat(denied.hasDurationUntilReset()).isFalse();
      assertThat(response.getRawBody().toStringUtf8()).contains("a rule denies this descriptor");
      assertThat(response.getResponseHeadersToAddList())
          .extracting(HeaderValue::getKey)
          .doesNotContain("retry-after");
      assertThat(response.getStatuses(1).getCode()).isEqualTo(Code.OK);
      assertThat(server.ask(descriptor("PerIp", "192.0.2.7")).getStatuses(0).getLimitRemaining())
          .isEqualTo(9);
    }
  }

  @Test
  void limitThatAnotherDescriptorReplaces_isNotCharged() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(
              descriptor("remote_address", "192.0.2.7"),
              descriptor("PerIp", "192.0.2.7"),
              descriptor("vip", "ann"));

      assertThat(response.getOverallCode()).isEqualTo(Code.OK);
      assertThat(response.getStatuses(0).getCurrentLimit().getName()).isEqualTo("Tokens");
      assertThat(response.getStatuses(1).hasCurrentLimit()).isFalse();
      assertThat(response.getStatuses(2).getLimitRemaining()).isEqualTo(999);
      assertThat(server.ask(descriptor("PerIp", "192.0.2.7")).getStatuses(0).getLimitRemaining())
          .as("nothing was charged before")
          .isEqualTo(9);
    }
  }

  @Test
  void limitThatACallerBrings_doesNotOpenARuleThatDenies() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(descriptor("remote_address", "192.0.2.66").setLimit(HUNDRED_AN_HOUR));
      assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "used, 1836", // 51 tokens of 36 s
    "drained, 36"
  })
  void limitThatACallerBrings_leavesTheExcessOfTheRule(String key, long waitSeconds)
      throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse late =
          server.ask(
              descriptor("generic_key", key, "user", "ann")
                  .setLimit(HUNDRED_AN_HOUR)
                  .setHitsAddend(UInt64Value.of(150)));
      assertThat(late.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      RateLimitResponse look =
          server.ask(
              descriptor("generic_key", key, "user", "ann")
                  .setLimit(HUNDRED_AN_HOUR)
                  .setHitsAddend(UInt64Value.of(0)));
      assertThat(waitSeconds(look)).isEqualTo(waitSeconds);
    }
  }

  @Test
  void limitThatACallerBrings_leavesTheCostOfTheRule() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      assertThat(
              server
                  .ask(descriptor("priced", "ann").setLimit(HUNDRED_AN_HOUR))
                  .getStatuses(0)
                  .getLimitRemaining())
          .isEqualTo(95);
    }
  }

  @ParameterizedTest
  @CsvSource({"100, OK, 8", "0, OVER_LIMIT, 9"})
  void limitThatACallerBrings_leavesTheOtherLimitsOfTheRule(
      int requests, Code code, int leftForTheIp) throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse response =
          server.ask(
              descriptor("user", "ann", "remote_address", "192.0.2.7")
                  .setLimit(HUNDRED_AN_HOUR.toBuilder().setRequestsPerUnit(requests)));
      assertThat(response.getOverallCode()).isEqualTo(code);
      assertThat(server.ask(descriptor("PerIp", "192.0.2.7")).getStatuses(0).getLimitRemaining())
          .isEqualTo(leftForTheIp);
    }
  }

  @Test
  void limitThatACallerBrings_isNotOnTrial() throws Exception {
    RateLimitOverride one = HUNDRED_AN_HOUR.toBuilder().setRequestsPerUnit(1).build();
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      var all = descriptor("tried", "ann").setHitsAddend(UInt64Value.of(1_000));
      assertThat(server.ask(all).getOverallCode()).isEqualTo(Code.OK);
      assertThat(server.ask(all).getOverallCode()).as("on trial").isEqualTo(Code.OK);

      assertThat(server.ask(descriptor("tried", "ann").setLimit(one)).getOverallCode())
          .as("in force, on the bucket of the limit itself")
          .isEqualTo(Code.OK);
      RateLimitResponse over = server.ask(descriptor("tried", "ann").setLimit(one));

      assertThat(over.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(over.getStatuses(0).getCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(over.getStatuses(0).getCurrentLimit().getRequestsPerUnit()).isEqualTo(1);
      assertThat(over.getRawBody().toStringUtf8()).contains("\"violated-policies\":[\"Tokens\"]");
    }
  }

  /** The client is held to the other limit alone, and Envoy tells it the status's number. */
  @Test
  void limitOnTrial_doesNotHideTheOneInForce_inTheStatus() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      var ten =
          descriptor("tried", "ann", "remote_address", "192.0.2.7")
              .setHitsAddend(UInt64Value.of(10)); // all that the trial has
      for (int left : List.of(990, 980)) {
        RateLimitResponse response = server.ask(ten);
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getStatuses(0).getCurrentLimit().getName()).isEqualTo("Tokens");
        assertThat(response.getStatuses(0).getLimitRemaining()).isEqualTo(left);
      }
      DescriptorStatus alone =
          server.ask(descriptor("tried", "bob").setHitsAddend(UInt64Value.of(4))).getStatuses(0);
      assertThat(alone.getCurrentLimit().getName()).as("there is no other").isEqualTo("Tokens");
      assertThat(alone.getLimitRemaining()).isEqualTo(996);
    }
  }

  /** A debt is charged as a whole; a cost that drains takes what is left of the bucket then. */
  @ParameterizedTest
  @CsvSource({
    "used, 900, drained, 300, 4", // 1000 of 1000: one token takes 3.6 s
    "drained, 300, used, 900, 4",
    "used, 1100, drained, 300, 364", // 100 are owed
    "drained, 300, used, 1100, 364"
  })
  void descriptorsOfOneBucket_areChargedByTheirOwnPolicies(
      String one, long cost, String other, long otherCost, long waitSeconds) throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitResponse late =
          server.ask(
              descriptor("generic_key", one, "user", "ann").setHitsAddend(UInt64Value.of(cost)),
              descriptor("generic_key", other, "user", "ann")
                  .setHitsAddend(UInt64Value.of(otherCost)));
      assertThat(late.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      DescriptorStatus left =
          server
              .ask(
                  descriptor("generic_key", "used", "user", "ann").setHitsAddend(UInt64Value.of(0)))
              .getStatuses(0);
      assertThat(left.getDurationUntilReset().getSeconds()).isEqualTo(waitSeconds);
    }
  }

  /** The limit's other users forgive a debt once, unless they know that it is meant. */
  @Test
  void debtOfARule_isForgivenByNoOtherDoorRuleOrServer() throws Exception {
    UInt64Value look = UInt64Value.of(0);
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store);
        TestRlsServer other = new TestRlsServer(limits(), store)) {
      RateLimitResponse charged =
          server.ask(
              descriptor("generic_key", "used", "user", "ann")
                  .setHitsAddend(UInt64Value.of(11_000)));
      assertThat(charged.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(waitSeconds(server.ask(descriptor("user", "ann").setHitsAddend(look))))
          .as("10,001 tokens at 3.6 s each")
          .isEqualTo(36_004);

      for (TestRlsServer one : List.of(server, other)) {
        assertThat(waitSeconds(one.ask(descriptor("user", "ann")))).isEqualTo(36_004);
        assertThat(waitSeconds(one.ask(descriptor("generic_key", "used", "user", "ann"))))
            .isEqualTo(36_004);
        assertThat(spentOverHttp(one, "ann")).isEqualTo(429);
      }
      assertThat(waitSeconds(server.ask(descriptor("user", "ann").setHitsAddend(look))))
          .isEqualTo(36_004);
    }
  }

  private static RateLimitDescriptor.Builder both(String key, long hits) {
    return descriptor("generic_key", key, "both", "ann").setHitsAddend(UInt64Value.of(hits));
  }

  private static List<Long> remaining(BucketStore store, Limits limits) {
    return Limiter.of(limits, store).check("Both", "ann", 0).quotas().stream()
        .map(Decision::remaining)
        .toList();
  }

  @Test
  void debtOfSeveralQuotas_isOwedAndGivenBackInEachBucket() throws Exception {
    ManualTime time = new ManualTime();
    Limits limits = limits();
    try (BucketStore store = BucketStore.inMemory(time);
        TestRlsServer server = new TestRlsServer(limits, store)) {
      assertThat(server.ask(both("used", 15)).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(remaining(store, limits)).containsExactly(85L, 0L);
      assertThat(waitSeconds(server.ask(both("used", 1))))
          .as("5 are owed, one is owed now, and one must be there, at 6 s each")
          .isEqualTo(36);

      DescriptorStatus refunded =
          server.ask(RateLimitServiceTest.negative(both("used", 10))).getStatuses(0);
      assertThat(refunded.getLimitRemaining()).isEqualTo(4);
      assertThat(refunded.getCurrentLimit().getRequestsPerUnit()).isEqualTo(10);
      assertThat(refunded.getCurrentLimit().getUnit()).isEqualTo(RateLimit.Unit.MINUTE);
      assertThat(remaining(store, limits)).containsExactly(94L, 4L);
    }
  }

  @Test
  void debtOfSeveralQuotas_isOwedByEachBucketUpToItsOwnDepth_andGivenBackWhole() throws Exception {
    Limits limits = limits();
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits, store)) {
      assertThat(server.ask(both("used", 50)).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(remaining(store, limits)).containsExactly(50L, 0L);
      assertThat(waitSeconds(server.ask(both("used", 0))))
          .as("10 are owed and one must be there, at 6 s each")
          .isEqualTo(66);
      assertThat(server.ask(both("used", 10)).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(remaining(store, limits)).as("a bucket in debt").containsExactly(40L, 0L);

      DescriptorStatus refunded =
          server.ask(RateLimitServiceTest.negative(both("used", 45))).getStatuses(0);
      assertThat(refunded.getLimitRemaining()).isEqualTo(10);
      assertThat(refunded.getCurrentLimit().getUnit()).isEqualTo(RateLimit.Unit.MINUTE);
      assertThat(remaining(store, limits)).containsExactly(85L, 10L);
    }
  }

  @Test
  void drainOfSeveralQuotas_takesWhatEachBucketHas() throws Exception {
    Limits limits = limits();
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits, store)) {
      assertThat(server.ask(both("drained", 50)).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(remaining(store, limits)).containsExactly(50L, 0L);
      assertThat(waitSeconds(server.ask(both("drained", 60)))).isZero();
      assertThat(remaining(store, limits)).containsExactly(0L, 0L);
      assertThat(waitSeconds(server.ask(both("used", 0)))).as("nothing is owed").isEqualTo(36);
    }
  }

  @Test
  void probeOfSeveralQuotas_resetsWhenTheQuotaThatItDescribesDoes() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      assertThat(server.ask(both("used", 3)).getOverallCode()).isEqualTo(Code.OK);
      DescriptorStatus probe = server.ask(both("used", 0)).getStatuses(0);
      assertThat(probe.getCurrentLimit().getUnit()).isEqualTo(RateLimit.Unit.MINUTE);
      assertThat(probe.getLimitRemaining()).isEqualTo(7);
      assertThat(probe.getDurationUntilReset().getSeconds()).isEqualTo(18);
    }
  }

  /** Another caller takes a token of one bucket between the denial and the drain. */
  @Test
  void drainOfSeveralQuotas_thatMeetsAnotherCaller_chargesNoBucketTwice() throws Exception {
    Limits limits = limits();
    BucketStore memory = BucketStore.inMemory(new ManualTime());
    Limiter another = Limiter.of(limits, memory);
    Quota perMinute = Quota.per(10, Duration.ofMinutes(1));
    Charge others =
        new Charge(
            "204/1m:ann",
            Effect.of(Effect.Op.SPEND, perMinute.incrementNanos(1), perMinute.offsetNanos()));
    assertThat(another.spend("Both", "ann", 4).allowed()).isTrue();
    BucketStore raced =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            boolean drains =
                charges.stream().anyMatch(one -> one.effect().op() == Effect.Op.SPEND_UP_TO);
            if (drains) {
              var unused = memory.charge(List.of(others));
            }
            return memory.charge(charges);
          }
        };
    try (memory;
        raced;
        TestRlsServer server = new TestRlsServer(limits, raced)) {
      assertThat(server.ask(both("drained", 9)).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(remaining(memory, limits))
          .as("4 were spent, 9 are drained once")
          .containsExactly(87L, 0L);
    }
  }

  private static long waitSeconds(RateLimitResponse response) {
    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    return response.getStatuses(0).getDurationUntilReset().getSeconds();
  }

  private static int spentOverHttp(TestRlsServer server, String id) throws Exception {
    HttpRequest spend =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(server.address()) + "/v1/spend?status=429"))
            .header("Content-Type", "application/json")
            .POST(
                BodyPublishers.ofString(
                    "{\"transactions\":[{\"limit\":\"Tokens\",\"id\":\"%s\"}]}".formatted(id)))
            .build();
    return HttpClient.newHttpClient().send(spend, BodyHandlers.discarding()).statusCode();
  }
}
