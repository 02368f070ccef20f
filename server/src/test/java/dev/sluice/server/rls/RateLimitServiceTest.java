// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static dev.sluice.server.rls.TestRlsServer.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.limit.Penalty;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.http.LogLines;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.HeaderProfile;
import dev.sluice.yaml.LimitFiles;
import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What Envoy's own classes read of the answers. */
final class RateLimitServiceTest {

  private static final int UINT32_MAX = -1;
  private static final LimitName PER_IP =
      LimitName.builder(1, "PerIp").id(IdFormat.ipAddress()).jitter(0).build();
  private static final LimitName PER_USER = LimitName.builder(2, "PerUser").jitter(0).build();
  private static final LimitName FREE = LimitName.builder(3, "Free").build();
  private static final LimitName EDGE_ONLY = LimitName.builder(4, "edge.PerUser").build();
  private static final LimitName UNCONFIGURED = LimitName.builder(5, "Unconfigured").build();
  private static final LimitName PAIR =
      LimitName.builder(6, "Pair")
          .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.string()))
          .build();

  private final ManualTime time = new ManualTime();
  private final BucketStore store = BucketStore.inMemory(time);
  @TempDir private Path folder;

  private final TestRlsServer server = new TestRlsServer(limits(), store);

  private static Limits limits() {
    return limits(PER_IP, PER_USER, FREE, UNCONFIGURED, PAIR);
  }

  private static Limits limits(LimitName... names) {
    return Limits.builder(Catalogue.of(names))
        .limit("PerIp", Quota.per(10, Duration.ofSeconds(1)))
        .limit("PerUser", Quota.burst(5).refill(2, Duration.ofMinutes(1)))
        .limit("Pair", Quota.per(1, Duration.ofMinutes(1)))
        .unlimited("Free")
        .build();
  }

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private static UInt64Value hits(long hits) {
    return UInt64Value.of(hits);
  }

  private DescriptorStatus askOne(RateLimitDescriptor.Builder descriptor) {
    return server.ask(descriptor).getStatuses(0);
  }

  private static Map<String, String> headers(RateLimitResponse response) {
    return response.getResponseHeadersToAddList().stream()
        .collect(Collectors.toMap(HeaderValue::getKey, HeaderValue::getValue));
  }

  @Test
  void singleEntry_namesTheLimit_andTheId() {
    RateLimitResponse response = server.ask(descriptor("PerIp", "192.0.2.7"));

    assertThat(response.getOverallCode()).isEqualTo(Code.OK);
    DescriptorStatus status = response.getStatuses(0);
    assertThat(status.getCode()).isEqualTo(Code.OK);
    assertThat(status.getLimitRemaining()).isEqualTo(9);
    assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(10);
    assertThat(status.getCurrentLimit().getUnit()).isEqualTo(Unit.SECOND);
    assertThat(status.getCurrentLimit().getName()).isEqualTo("PerIp");
    assertThat(status.getDurationUntilReset())
        .as("100 ms, rounded up: Envoy reads the seconds alone")
        .isEqualTo(com.google.protobuf.Duration.newBuilder().setSeconds(1).build());
  }

  @ParameterizedTest
  @CsvSource({"generic_key", "limit"})
  void firstEntry_namesTheLimit_andTheOthersMakeTheId(String key) {
    assertThat(askOne(descriptor(key, "PerUser", "user", "ann")).getLimitRemaining()).isEqualTo(4);
    assertThat(askOne(descriptor("PerUser", "ann")).getLimitRemaining()).isEqualTo(3);
    assertThat(askOne(descriptor(key, "Pair", "ip", "2001:DB8::1", "user", "ann")).getCode())
        .isEqualTo(Code.OK);
    assertThat(askOne(descriptor("Pair", "[2001:db8::1]:ann")).getCode())
        .isEqualTo(Code.OVER_LIMIT);
  }

  @Test
  void addresses_ofOneSubscriber_areOneBucket() {
    assertThat(askOne(descriptor("PerIp", "2001:DB8:7:7::1")).getLimitRemaining()).isEqualTo(9);
    assertThat(askOne(descriptor("PerIp", "2001:db8:7:7:8::2")).getLimitRemaining()).isEqualTo(8);
    assertThat(
            askOne(descriptor("limit", "PerIp", "masked_remote_address", "2001:db8:7:7::/64"))
                .getLimitRemaining())
        .isEqualTo(7);
    assertThat(askOne(descriptor("PerIp", "192.0.2.7/32")).getLimitRemaining()).isEqualTo(9);
    assertThat(askOne(descriptor("PerIp", "192.0.2.7")).getLimitRemaining()).isEqualTo(8);
    assertThat(askOne(descriptor("PerIp", "2001:db8:7:7::1/64")).getCode())
        .as("neither an address nor a range")
        .isEqualTo(Code.OVER_LIMIT);
    assertThat(
            askOne(descriptor("limit", "PerUser", "remote_address", "2001:db8::1", "user", "ann"))
                .getLimitRemaining())
        .isEqualTo(4);
    assertThat(
            askOne(descriptor("limit", "PerUser", "remote_address", "2001:db8::2", "user", "ann"))
                .getLimitRemaining())
        .isEqualTo(3);
    assertThat(askOne(descriptor("PerUser", "2001:db8::2")).getLimitRemaining())
        .as("a name that looks like an address")
        .isEqualTo(4);
  }

  @Test
  void severalValues_neverMakeOneId() {
    assertThat(askOne(descriptor("limit", "PerUser", "a", "a:b", "b", "c")).getLimitRemaining())
        .isEqualTo(4);
    assertThat(askOne(descriptor("limit", "PerUser", "a", "a", "b", "b:c")).getLimitRemaining())
        .isEqualTo(4);
  }

  /** Ids stand in buckets, overrides and penalties, so it must stay so; the docs warn of it. */
  @Test
  void singleValue_staysAsItIs_andMayMeetAnIdOfSeveral() {
    assertThat(askOne(descriptor("limit", "PerUser", "user", "a:b")).getLimitRemaining())
        .isEqualTo(4);
    assertThat(askOne(descriptor("limit", "PerUser", "user", "a", "op", "b")).getLimitRemaining())
        .isEqualTo(3);
    assertThat(askOne(descriptor("PerUser", "a:b")).getLimitRemaining()).isEqualTo(2);
  }

  @Test
  void noValue_isOneBucketForAll() {
    assertThat(askOne(descriptor("generic_key", "PerUser")).getLimitRemaining()).isEqualTo(4);
    assertThat(askOne(descriptor("PerUser", "")).getLimitRemaining()).isEqualTo(3);
  }

  @Test
  void limitOfTheDomain_goesFirst() {
    Limits limits =
        Limits.builder(Catalogue.of(PER_USER, EDGE_ONLY))
            .limit("PerUser", Quota.per(5, Duration.ofMinutes(1)))
            .limit("edge.PerUser", Quota.per(7, Duration.ofMinutes(1)))
            .build();
    try (TestRlsServer own = new TestRlsServer(limits, store)) {
      assertThat(own.ask(descriptor("PerUser", "ann")).getStatuses(0).getCurrentLimit().getName())
          .isEqualTo("edge.PerUser");
      RateLimitResponse elsewhere =
          own.client()
              .shouldRateLimit(request(descriptor("PerUser", "ann")).setDomain("other").build());
      assertThat(elsewhere.getStatuses(0).getCurrentLimit().getName()).isEqualTo("PerUser");
    }
  }

  @Test
  void statuses_areInTheOrderOfDescriptors_andOneDenialDeniesAll() {
    spend("PerUser", "ann", 5);

    RateLimitResponse response =
        server.ask(
            descriptor("nobody", "knows"),
            descriptor("PerUser", "ann"),
            descriptor("PerIp", "192.0.2.7"),
            descriptor("Free", "x"));

    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(response.getStatusesList().stream().map(DescriptorStatus::getCode))
        .containsExactly(Code.OK, Code.OVER_LIMIT, Code.OK, Code.OK);
    assertThat(response.getStatuses(1).getLimitRemaining()).isZero();
    assertThat(response.getStatuses(2).getLimitRemaining()).as("nothing was charged").isEqualTo(10);
    assertThat(askOne(descriptor("PerIp", "192.0.2.7")).getLimitRemaining()).isEqualTo(9);
  }

  private void spend(String limit, String id, long cost) {
    var unused = askOne(descriptor(limit, id).setHitsAddend(hits(cost)));
  }

  @Test
  void unknownDescriptors_passWithoutACurrentLimit_andAreCountedByDomain() {
    RateLimitResponse response =
        server.ask(descriptor("nobody", "knows"), descriptor(), descriptor("generic_key", "x"));

    assertThat(response.getOverallCode()).isEqualTo(Code.OK);
    assertThat(response.getStatusesList())
        .allSatisfy(
            status -> {
              assertThat(status.getCode()).isEqualTo(Code.OK);
              assertThat(status.hasCurrentLimit()).isFalse();
            });
    assertThat(response.getResponseHeadersToAddList()).isEmpty();
    assertThat(server.meters.counter("sluice.rls.unmatched", "domain", "edge").count())
        .isEqualTo(3);
  }

  @Test
  void domains_makeAFewSeriesOnly() {
    for (int i = 0; i < 100; i++) {
      var unused =
          server
              .client()
              .shouldRateLimit(request(descriptor("nobody", "knows")).setDomain("d" + i).build());
    }
    assertThat(server.meters.find("sluice.rls.unmatched").counters())
        .hasSize(RlsMeters.MOST_DOMAINS + 1);
    assertThat(server.meters.counter("sluice.rls.unmatched", "domain", "other").count())
        .isEqualTo(100 - RlsMeters.MOST_DOMAINS);
  }

  @Test
  void unlimited_hasAllThatCanBeSaid_andNoCurrentLimit() {
    DescriptorStatus status = askOne(descriptor("Free", "x"));
    assertThat(status.getCode()).isEqualTo(Code.OK);
    assertThat(status.getLimitRemaining()).isEqualTo(UINT32_MAX);
    assertThat(status.hasCurrentLimit()).isFalse();
  }

  @Test
  void hitsOfTheRequest_holdWhereADescriptorSaysNothing_and0Is1() {
    RateLimitResponse response =
        server
            .client()
            .shouldRateLimit(
                request(
                        descriptor("PerIp", "192.0.2.1"),
                        descriptor("PerIp", "192.0.2.2").setHitsAddend(hits(3)),
                        descriptor("PerIp", "192.0.2.3").setHitsAddend(hits(0)))
                    .setHitsAddend(2)
                    .build());
    assertThat(response.getStatusesList().stream().map(DescriptorStatus::getLimitRemaining))
        .containsExactly(8, 7, 10);
    assertThat(askOne(descriptor("PerIp", "192.0.2.4")).getLimitRemaining()).isEqualTo(9);
  }

  /** A field of 32 bits without a sign, which Java reads as a signed one. */
  @ParameterizedTest
  @ValueSource(longs = {1L << 31, (1L << 31) + 1, (1L << 32) - 1})
  void hitsOfTheRequest_beyondASignedNumber_areAsMany(long hits) {
    RateLimitResponse response =
        server
            .client()
            .shouldRateLimit(
                request(descriptor("PerIp", "192.0.2.1")).setHitsAddend((int) hits).build());
    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(askOne(descriptor("PerIp", "192.0.2.1")).getLimitRemaining())
        .as("nothing was charged before")
        .isEqualTo(9);
  }

  @Test
  void zeroHits_look_andAreOverWhereNoTokenIsLeft() {
    spend("PerUser", "ann", 4);
    DescriptorStatus one = askOne(descriptor("PerUser", "ann").setHitsAddend(hits(0)));
    assertThat(one.getCode()).isEqualTo(Code.OK);
    assertThat(one.getLimitRemaining()).isEqualTo(1);
    assertThat(one.getDurationUntilReset().getSeconds()).isEqualTo(4 * 30);

    spend("PerUser", "ann", 1);
    RateLimitResponse none =
        server.ask(
            descriptor("PerUser", "ann").setHitsAddend(hits(0)), descriptor("PerIp", "192.0.2.7"));
    assertThat(none.getStatuses(0).getCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(none.getStatuses(0).getDurationUntilReset().getSeconds()).isEqualTo(30);
    assertThat(headers(none)).containsEntry("retry-after", "30");
    assertThat(askOne(descriptor("PerIp", "192.0.2.7")).getLimitRemaining()).isEqualTo(9);
  }

  @Test
  void zeroHits_haveTheFieldsOfWhatIsThere() {
    RateLimitResponse full = server.ask(descriptor("PerUser", "ann").setHitsAddend(hits(0)));
    assertThat(headers(full))
        .containsEntry("ratelimit", "\"PerUser\";r=5")
        .containsEntry("ratelimit-policy", "\"PerUser\";q=5;w=150")
        .doesNotContainKey("retry-after");

    RateLimitResponse both =
        server.ask(
            descriptor("PerUser", "ann").setHitsAddend(hits(0)), descriptor("PerIp", "192.0.2.7"));
    assertThat(headers(both))
        .containsEntry("ratelimit", "\"PerUser\";r=5, \"PerIp\";r=9")
        .containsEntry("ratelimit-policy", "\"PerUser\";q=5;w=150, \"PerIp\";q=10;w=1");

    spend("PerUser", "ann", 5);
    RateLimitResponse none =
        server.ask(
            descriptor("PerUser", "bob").setHitsAddend(hits(0)),
            descriptor("PerUser", "ann").setHitsAddend(hits(0)));
    assertThat(headers(none))
        .as("the strictest of a limit's buckets")
        .containsEntry("ratelimit", "\"PerUser\";r=0;t=30")
        .containsEntry("retry-after", "30");
  }

  @Test
  void oneBucketTwice_paysForBoth() {
    RateLimitResponse response =
        server.ask(descriptor("PerUser", "ann"), descriptor("limit", "PerUser", "user", "ann"));
    assertThat(response.getStatusesList().stream().map(DescriptorStatus::getLimitRemaining))
        .containsExactly(3, 3);
  }

  @ParameterizedTest
  @CsvSource({"6", "9223372036854775807", "-1"})
  void moreThanTheBurst_isOver_withoutATimeToComeBack(long cost) {
    RateLimitResponse response =
        server.ask(
            descriptor("PerUser", "ann").setHitsAddend(hits(cost)),
            descriptor("PerIp", "192.0.2.7"));

    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(response.getStatuses(0).getCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(response.getStatuses(0).hasDurationUntilReset()).isFalse();
    assertThat(response.getStatuses(1).getCode()).isEqualTo(Code.OK);
    assertThat(response.getStatuses(1).getLimitRemaining()).isEqualTo(10);
    assertThat(headers(response))
        .doesNotContainKey("retry-after")
        .containsEntry("ratelimit", "\"PerUser\";r=5, \"PerIp\";r=10")
        .containsEntry("ratelimit-policy", "\"PerUser\";q=5;w=150, \"PerIp\";q=10;w=1");
    assertThat(response.getRawBody().toStringUtf8())
        .contains(
            cost == 6
                ? "cost 6 exceeds the burst (5) of PerUser"
                : "the cost, 9223372036854775807 or more, exceeds the burst (5) of PerUser");
    assertThat(askOne(descriptor("PerUser", "ann")).getLimitRemaining()).isEqualTo(4);
  }

  @Test
  void currentLimit_saysTheBurst_whereThatIsNotTheRate() {
    DescriptorStatus status = askOne(descriptor("PerUser", "ann"));
    assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(5);
    assertThat(status.getCurrentLimit().getUnit()).isEqualTo(Unit.UNKNOWN);
    assertThat(status.getDurationUntilReset().getSeconds()).isEqualTo(30);
  }

  /** Otherwise Envoy would tell clients a window that the bucket does not have. */
  @ParameterizedTest
  @CsvSource({
    "1, SECOND",
    "60, MINUTE",
    "3600, HOUR",
    "86400, DAY",
    "604800, WEEK", // 7 days
    "2592000, MONTH", // 30
    "31536000, YEAR", // 365
    "90, UNKNOWN",
    "2678400, UNKNOWN", // 31 days
    "31622400, UNKNOWN" // 366
  })
  void currentLimit_saysTheUnit_whereThePeriodIsOne(long periodSeconds, Unit unit) {
    Limits limits =
        Limits.builder(Catalogue.of(PER_USER))
            .limit("PerUser", Quota.per(10, Duration.ofSeconds(periodSeconds)))
            .build();
    try (TestRlsServer own = new TestRlsServer(limits, store)) {
      DescriptorStatus status = own.ask(descriptor("PerUser", "ann")).getStatuses(0);
      assertThat(status.getCurrentLimit().getUnit()).isEqualTo(unit);
      assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(10);
      assertThat(status.getDurationUntilReset().getSeconds())
          .as("a tenth of the period, in whole seconds")
          .isEqualTo((periodSeconds + 9) / 10);
    }
  }

  @Test
  void valueThatIsNotAnId_isAProblemOfItsOwn_notAnExceededQuota() {
    RateLimitResponse denied = server.ask(descriptor("PerIp", "not an address"));
    assertThat(denied.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(headers(denied)).containsEntry("content-type", "application/problem+json");
    assertThat(denied.getRawBody().toStringUtf8())
        .contains("\"title\":\"Request denied\"", "\"status\":429")
        .doesNotContain("quota-exceeded", "violated-policies");
  }

  @Test
  void answer_hasFields_andARefusalTheTimeToComeBackAndAProblem() {
    RateLimitResponse allowed = server.ask(descriptor("PerUser", "zoe"));
    assertThat(headers(allowed))
        .containsEntry("ratelimit", "\"PerUser\";r=4")
        .containsEntry("ratelimit-policy", "\"PerUser\";q=5;w=150")
        .doesNotContainKeys("retry-after", "content-type", "cache-control");
    assertThat(allowed.getRawBody().isEmpty()).isTrue();

    spend("PerUser", "zoe", 4);
    RateLimitResponse denied = server.ask(descriptor("PerUser", "zoe"));
    assertThat(headers(denied))
        .containsEntry("ratelimit", "\"PerUser\";r=0;t=30")
        .containsEntry("retry-after", "30")
        .containsEntry("content-type", "application/problem+json")
        .as("RFC 6585: a 429 must not be stored by a cache")
        .containsEntry("cache-control", "no-store");
    assertThat(denied.getStatuses(0).getDurationUntilReset().getSeconds()).isEqualTo(30);
    assertThat(denied.getRawBody().toStringUtf8())
        .contains("#quota-exceeded", "\"violated-policies\":[\"PerUser\"]")
        .doesNotContain("zoe");
  }

  @Test
  void limitOfTheCaller_takesThePlaceOfOurs() {
    RateLimitDescriptor.Builder descriptor = descriptor("PerUser", "ann").setLimit(limit(3));
    DescriptorStatus status = askOne(descriptor);
    assertThat(status.getLimitRemaining()).isEqualTo(2);
    assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(3);
    assertThat(status.getCurrentLimit().getUnit()).isEqualTo(Unit.HOUR);
    assertThat(status.getCurrentLimit().getName()).isEqualTo("PerUser");
  }

  private static RateLimitOverride limit(int requests) {
    return RateLimitOverride.newBuilder()
        .setRequestsPerUnit(requests)
        .setUnit(RateLimitUnit.HOUR)
        .build();
  }

  @ParameterizedTest
  @CsvSource({
    "SECOND, 1",
    "MINUTE, 60",
    "HOUR, 3600",
    "DAY, 86400",
    "MONTH, 2592000", // 30 days
    "YEAR, 31536000" // 365
  })
  void limitOfTheCaller_hasEachUnitThatEnvoyKnows(RateLimitUnit unit, long periodSeconds) {
    RateLimitOverride limit =
        RateLimitOverride.newBuilder().setRequestsPerUnit(10).setUnit(unit).build();
    DescriptorStatus status = askOne(descriptor("PerUser", "ann").setLimit(limit));
    assertThat(status.getCode()).isEqualTo(Code.OK);
    assertThat(status.getLimitRemaining()).isEqualTo(9);
    assertThat(status.getCurrentLimit().getUnit().name()).isEqualTo(unit.name());
    assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(10);
    assertThat(status.getDurationUntilReset().getSeconds()).isEqualTo((periodSeconds + 9) / 10);
    DescriptorStatus all =
        askOne(descriptor("PerUser", "ann").setLimit(limit).setHitsAddend(hits(10)));
    assertThat(all.getCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(all.getDurationUntilReset().getSeconds()).isEqualTo((periodSeconds + 9) / 10);
  }

  @Test
  void limitOfTheCaller_holdsForADescriptorThatNobodyKnows() {
    assertThat(askOne(descriptor("a", "b:c").setLimit(limit(1))).getCode()).isEqualTo(Code.OK);
    RateLimitResponse denied = server.ask(descriptor("a", "b:c").setLimit(limit(1)));
    DescriptorStatus over = denied.getStatuses(0);
    assertThat(over.getCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(over.getCurrentLimit().getName()).isEmpty();
    assertThat(denied.getRawBody().toStringUtf8())
        .contains("\"detail\":\"denied: at most 1 per 1h, retry after");
    assertThat(askOne(descriptor("a", "b", "c", "").setLimit(limit(1))).getCode())
        .isEqualTo(Code.OK);
  }

  /** An error would let the request pass all the other limits too. */
  @ParameterizedTest
  @CsvSource({"1000000001", "-1"})
  void limitOfTheCaller_ofMoreThanOneANanosecond_isOneANanosecond(int requests) {
    RateLimitOverride limit =
        RateLimitOverride.newBuilder()
            .setRequestsPerUnit(requests)
            .setUnit(RateLimitUnit.SECOND)
            .build();
    DescriptorStatus status = askOne(descriptor("PerUser", "ann").setLimit(limit));
    assertThat(status.getCode()).isEqualTo(Code.OK);
    assertThat(status.getLimitRemaining()).isEqualTo(999_999_999);
    assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(1_000_000_000);
    assertThat(status.getCurrentLimit().getUnit()).isEqualTo(Unit.SECOND);
  }

  @Test
  void limitOfTheCaller_ofZero_letsNothingPass() {
    RateLimitResponse response =
        server.ask(
            descriptor("PerUser", "ann").setLimit(limit(0)), descriptor("PerIp", "192.0.2.7"));
    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(response.getStatuses(0).getCurrentLimit().getUnit()).isEqualTo(Unit.HOUR);
    assertThat(response.getStatuses(1).getLimitRemaining()).isEqualTo(10);
    assertThat(headers(response)).doesNotContainKey("retry-after");
  }

  @Test
  void limitsOfTheCaller_forOneBucket_theLowerOneHolds_whateverTheOrder() {
    RateLimitOverride perSecond = limit(10).toBuilder().setUnit(RateLimitUnit.SECOND).build();
    RateLimitDescriptor.Builder[][] pairs = {
      {descriptor("PerUser", "ann").setLimit(limit(1_000)), descriptor("PerUser", "ann")},
      {descriptor("a", "b").setLimit(perSecond), descriptor("a", "b").setLimit(limit(20))}
    };
    int[] bursts = {5, 20};
    for (int i = 0; i < pairs.length; i++) {
      RateLimitDescriptor.Builder[] pair = pairs[i];
      for (RateLimitResponse response : List.of(server.ask(pair), server.ask(pair[1], pair[0]))) {
        assertThat(response.getStatusesList())
            .extracting(status -> status.getCurrentLimit().getRequestsPerUnit())
            .containsExactly(bursts[i], bursts[i]);
      }
      assertThat(askOne(pair[1]).getLimitRemaining())
          .as("each request paid for both")
          .isEqualTo(bursts[i] - 5);
    }
  }

  @Test
  void limitOfTheCaller_doesNotPassAPenalty() {
    Instant until = Instant.ofEpochSecond(0, ManualTime.START_NANOS).plusSeconds(60);
    Penalty ban = new Penalty(PER_USER, "ann", until, 0, "");
    try (TestRlsServer banned = new TestRlsServer(limits().withPenalties(List.of(ban)), store)) {
      assertThat(banned.ask(descriptor("PerUser", "ann").setLimit(limit(100))).getOverallCode())
          .isEqualTo(Code.OVER_LIMIT);
      assertThat(banned.ask(descriptor("PerUser", "bob").setLimit(limit(100))).getOverallCode())
          .isEqualTo(Code.OK);
    }
  }

  @Test
  void limitOfTheCaller_isIgnored_whereTheServerSaysSo() {
    try (TestRlsServer strict =
        new TestRlsServer(limits(), store, Settings.of(OverridePolicy.IGNORE))) {
      RateLimitResponse response = strict.ask(descriptor("PerUser", "ann").setLimit(limit(100)));
      assertThat(response.getStatuses(0).getCurrentLimit().getRequestsPerUnit()).isEqualTo(5);
    }
  }

  /** Else a proxy with {@code failure_mode_deny: false} would let it pass all limits. */
  @Test
  void valueOfAClientThatIsNoId_isDenied_andDoesNotOpenTheOtherLimits() {
    for (String value : List.of("not-an-address", "", "x\ty", "x".repeat(1_025))) {
      RateLimitResponse response =
          server.ask(
              descriptor("PerUser", "ann"), descriptor("PerIp", value.isEmpty() ? " " : value));
      assertThat(response.getOverallCode()).as(value).isEqualTo(Code.OVER_LIMIT);
      assertThat(response.getStatusesList())
          .extracting(DescriptorStatus::getCode)
          .containsExactly(Code.OK, Code.OVER_LIMIT);
      assertThat(response.getRawBody().toStringUtf8())
          .contains("an IP address")
          .doesNotContain("rls.");
    }
    assertThat(server.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
        .as("nothing was charged")
        .isEqualTo(4);
  }

  /** Each "%" counts as five characters of the id. */
  @Test
  void valueThatIsTooLong_besideALimitOfTheCaller_doesNotOpenTheOtherLimits() {
    for (String value : List.of("x".repeat(1_100), "%".repeat(205))) {
      RateLimitResponse response =
          server.ask(
              descriptor("PerIp", "192.0.2.7"), descriptor("api_key", value).setLimit(limit(100)));
      assertThat(response.getStatusesList())
          .extracting(DescriptorStatus::getCode)
          .containsExactly(Code.OK, Code.OVER_LIMIT);
      assertThat(response.getRawBody().toStringUtf8())
          .contains("at most 1024 characters")
          .doesNotContain("rls.");
    }
    assertThat(askOne(descriptor("PerIp", "192.0.2.7")).getLimitRemaining())
        .as("nothing was charged")
        .isEqualTo(9);
  }

  /** As for a value that makes no id: an error would open the other limits. */
  @ParameterizedTest
  @CsvSource({"0", "9"})
  void unitOfTheCallerThatDoesNotExist_isDenied_andDoesNotOpenTheOtherLimits(int unit) {
    RateLimitOverride limit =
        RateLimitOverride.newBuilder().setRequestsPerUnit(100).setUnitValue(unit).build();
    RateLimitResponse response =
        server.ask(
            descriptor("PerIp", "192.0.2.7"),
            descriptor("PerUser", "ann").setLimit(limit),
            descriptor("a", "b").setLimit(limit));
    assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(response.getStatusesList())
        .extracting(DescriptorStatus::getCode)
        .containsExactly(Code.OK, Code.OVER_LIMIT, Code.OVER_LIMIT);
    assertThat(response.getRawBody().toStringUtf8())
        .contains("descriptors[1].limit.unit: found %s, expected SECOND".formatted(unit))
        .doesNotContain("rls.");
    assertThat(askOne(descriptor("PerIp", "192.0.2.7")).getLimitRemaining())
        .as("nothing was charged")
        .isEqualTo(9);
    try (TestRlsServer strict =
        new TestRlsServer(limits(), store, Settings.of(OverridePolicy.IGNORE))) {
      assertThat(strict.ask(descriptor("PerUser", "ann").setLimit(limit)).getOverallCode())
          .isEqualTo(Code.OK);
    }
  }

  @Test
  void requestsThatMustBeChanged_areInvalidArguments() {
    assertInvalid(request().build(), "the descriptors are missing");
    assertInvalid(request(descriptor("PerIp", "x")).setDomain("").build(), "the domain is missing");
    RateLimitDescriptor.Builder[] many = new RateLimitDescriptor.Builder[1001];
    java.util.Arrays.fill(many, descriptor("a", "b"));
    assertInvalid(request(many).build(), "descriptors: found 1001, expected at most 1000");
  }

  private void assertInvalid(
      io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest request, String message) {
    assertThatThrownBy(() -> server.client().shouldRateLimit(request))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> {
              assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
              assertThat(e.getStatus().getDescription()).contains(message);
            });
  }

  @Test
  void storeThatIsAway_isUnavailable_andNeverAnAnswer() {
    try (TestRlsServer lost = new TestRlsServer(limits(), new LostStore())) {
      assertThatThrownBy(() -> lost.ask(descriptor("PerUser", "ann")))
          .isInstanceOfSatisfying(
              StatusRuntimeException.class,
              e -> {
                assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
                assertThat(e.getStatus().getDescription())
                    .contains("incident")
                    .doesNotContain("redis.internal");
              });
      assertThat(lost.meters.timer("sluice.rls.requests", "result", "unavailable").count())
          .isEqualTo(1);
    }
  }

  /** With {@code failure_mode_deny: false}, Envoy lets such a request pass all limits. */
  @Test
  void requestWithoutRoomInTheBudget_isUnavailable_countedAndLogged() {
    ConnectionBudget full = new ConnectionBudget(8 << 10, 10, 10, Duration.ofSeconds(20));
    try (LogLines log = new LogLines();
        TestRlsServer busy = new TestRlsServer(limits(), store, full)) {
      assertThatThrownBy(() -> busy.ask(descriptor("PerUser", "ann")))
          .isInstanceOfSatisfying(
              StatusRuntimeException.class,
              e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
      assertThat(busy.meters.timer("sluice.rls.requests", "result", "unavailable").count())
          .isEqualTo(1);
      assertThat(log.text())
          .contains("refused: requests in flight hold 0 of 8192 bytes, those of its address 0");
    }
  }

  private static final class LostStore implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw new UnchargedException("redis.internal does not answer");
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return CompletableFuture.failedFuture(
          new UnchargedException("redis.internal does not answer"));
    }
  }

  private TestRlsServer withRule(BucketStore store, boolean shadow, Excess excess) {
    try {
      Files.writeString(
          folder.resolve("names.yml"),
          "names:\n  - {number: 2, name: PerUser, id: string, jitter: 0}\n");
      Files.writeString(
          folder.resolve("limits.yml"), "PerUser: {burst: 5, count: 2, period: 1m, debt: 10}\n");
      Files.writeString(
          folder.resolve("rules.yml"),
          """
          rules:
            - entries: [tokens]
              limits: [{limit: PerUser, id: "{tokens}", shadow: %s, excess: %s}]
          """
              .formatted(shadow, excess.name().toLowerCase(Locale.ROOT)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Limits owing =
        LimitFiles.builder()
            .names(folder.resolve("names.yml"))
            .defaults(folder.resolve("limits.yml"))
            .companion(folder.resolve("rules.yml"), RuleBook.reader())
            .build()
            .load();
    return new TestRlsServer(owing, store);
  }

  @ParameterizedTest
  @CsvSource({"REFUSE, OVER_LIMIT", "WARN, OK", "ALLOW, OK"})
  void limitWithoutADefault_isRefusedOrPasses_andIsCountedAsMissing(
      MissingDefault policy, Code code) {
    Catalogue names =
        Catalogue.of(
            LimitName.builder(1, "PerUser").id(IdFormat.string()).build(),
            LimitName.builder(2, "SignUps").id(IdFormat.string()).build(),
            LimitName.builder(3, "edge.PerUser").id(IdFormat.string()).build(),
            LimitName.builder(4, "PerPlan").id(IdFormat.string()).build());
    Quota quota = Quota.per(5, Duration.ofMinutes(1));
    CurrentLimits current =
        new CurrentLimits(
            Limits.builder(names)
                .limit("PerUser", quota)
                .override("PerPlan", "vip", quota)
                .build());
    Limiter limiter = Limiter.builder(current, store).missingDefault(policy).build();
    try (TestRlsServer own = new TestRlsServer(limiter, store)) {
      for (int i = 0; i < 2; i++) {
        RateLimitResponse all =
            own.ask(
                descriptor("generic_key", "SignUps"),
                descriptor("SignUps", "ann"),
                descriptor("PerPlan", "ann"));
        assertThat(all.getStatusesList()).extracting(one -> one.getCode()).containsOnly(code);
        assertThat(all.getOverallCode()).isEqualTo(code);
      }
      // The domain's own limit is not configured either, and the plain one is.
      assertThat(own.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
          .isEqualTo(4);
      assertThat(own.ask(descriptor("PerPlan", "vip")).getStatuses(0).getLimitRemaining())
          .isEqualTo(4);
    }
    assertThat(current.unmet(current.get()))
        .extracting(Requirement::limit)
        .containsExactly("SignUps", "PerPlan");
  }

  /** A rule whose limit lost its default is not open either; a trial refuses nobody. */
  @Test
  void limitOfARule_withoutADefault_isRefused_unlessInShadow(@TempDir Path folder)
      throws IOException {
    String text =
        """
        rules:
          - {entries: [plan], limit: PerPlan, id: x}
          - {entries: [trial], limits: [{limit: PerPlan, id: x, shadow: true}]}
        """;
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "names: [{number: 1, name: PerPlan, id: string}]\nPerPlan: {unlimited: true}\n");
    Path rules = Files.writeString(folder.resolve("rules.yml"), text);
    Limits loaded =
        LimitFiles.builder().defaults(limits).companion(rules, RuleBook.reader()).build().load();
    Limits missing =
        Limits.builder(loaded.catalogue()).build().with(RuleBook.class, RuleBook.of(loaded));
    try (TestRlsServer own = new TestRlsServer(missing, store)) {
      RateLimitResponse refused = own.ask(descriptor("plan", "ann"));
      assertThat(refused.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(refused.getRawBody().toStringUtf8()).contains("PerPlan has no default");
      assertThat(own.ask(descriptor("trial", "ann")).getOverallCode()).isEqualTo(Code.OK);
    }
  }

  @Test
  void trial_refusesNobody_andTakesNothingFromWhatIsInForce() {
    try (TestRlsServer own = withRule(store, true, Excess.REJECT)) {
      RateLimitDescriptor.Builder all = descriptor("tokens", "ann").setHitsAddend(hits(5));
      assertThat(own.ask(all).getStatuses(0).getLimitRemaining()).isZero();
      RateLimitResponse over = own.ask(all);
      assertThat(over.getOverallCode()).isEqualTo(Code.OK);
      assertThat(over.getStatuses(0).getCode()).isEqualTo(Code.OK);
      assertThat(over.getStatuses(0).getCurrentLimit().getName()).isEqualTo("PerUser");
      assertThat(own.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
          .isEqualTo(4);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "REJECT, 3, 2, 0", // as it was: two tokens are left
    "REJECT, 9, 2, 0",
    "DRAIN,  3, 0, 30",
    "DRAIN,  9, 0, 30",
    "DEBT,   3, 0, 60", // 3 spent and 3 more of 5: one is owed
    "DEBT,   9, 0, 240",
    "DEBT, 999, 0, 1530" // 11 bursts are 55 tokens: 50 are owed
  })
  void costThatDoesNotFit_isChargedAsTheRuleSays(
      Excess excess, long cost, int remaining, long waitSeconds) {
    try (TestRlsServer own = withRule(store, false, excess)) {
      assertThat(tokens(own, 3).getCode()).isEqualTo(Code.OK);

      assertThat(tokens(own, cost).getCode()).isEqualTo(Code.OVER_LIMIT);

      DescriptorStatus left = tokens(own, 0);
      assertThat(left.getLimitRemaining()).isEqualTo(remaining);
      if (waitSeconds > 0) {
        assertThat(left.getCode()).isEqualTo(Code.OVER_LIMIT);
        assertThat(left.getDurationUntilReset().getSeconds()).isEqualTo(waitSeconds);
      }
    }
  }

  /** As a newer Envoy sends it: the published classes do not know the field yet. */
  static RateLimitDescriptor.Builder negative(RateLimitDescriptor.Builder descriptor) {
    return descriptor.setUnknownFields(field(4));
  }

  private static UnknownFieldSet field(int number) {
    return UnknownFieldSet.newBuilder()
        .addField(number, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
        .build();
  }

  @Test
  void negativeHits_areGivenBack_neverBeyondFull() {
    RateLimitDescriptor.Builder ann = descriptor("PerUser", "ann");
    assertThat(askOne(ann.clone().setHitsAddend(hits(4))).getLimitRemaining()).isEqualTo(1);

    DescriptorStatus back = askOne(negative(ann.clone().setHitsAddend(hits(3))));

    assertThat(back.getCode()).isEqualTo(Code.OK);
    assertThat(back.getLimitRemaining()).isEqualTo(4);
    assertThat(back.getCurrentLimit().getName()).isEqualTo("PerUser");
    assertThat(back.getDurationUntilReset().getSeconds()).isEqualTo(30);
    assertThat(askOne(negative(ann.clone().setHitsAddend(hits(0)))).getLimitRemaining())
        .as("0 hits give nothing back")
        .isEqualTo(4);
    assertThat(askOne(negative(ann.clone())).getLimitRemaining()).as("1 hit").isEqualTo(5);
    assertThat(askOne(negative(ann.clone().setHitsAddend(hits(-1)))).getLimitRemaining())
        .as("2^64 - 1 hits on a full bucket")
        .isEqualTo(5);
    assertThat(askOne(negative(descriptor("PerUser", "new")).clone()).getLimitRemaining())
        .isEqualTo(5);
    assertThat(askOne(ann.clone().setHitsAddend(hits(5))).getCode()).isEqualTo(Code.OK);
    assertThat(askOne(ann).getCode()).isEqualTo(Code.OVER_LIMIT);
  }

  @Test
  void negativeHits_besideHitsOfTheSameBucket_areGivenBackFirst() {
    RateLimitDescriptor.Builder ann = descriptor("PerUser", "ann");
    assertThat(askOne(ann.clone().setHitsAddend(hits(5))).getLimitRemaining()).isZero();

    RateLimitResponse both =
        server.ask(
            negative(ann.clone().setHitsAddend(hits(1))),
            ann.clone().setHitsAddend(hits(2)),
            negative(ann.clone().setHitsAddend(hits(2))),
            descriptor("PerUser", "bob"));

    assertThat(both.getOverallCode()).isEqualTo(Code.OK);
    assertThat(both.getStatusesList())
        .extracting(DescriptorStatus::getLimitRemaining)
        .containsExactly(3, 1, 3, 4);
    assertThat(headers(both).get("ratelimit")).isEqualTo("\"PerUser\";r=1");

    RateLimitResponse over =
        server.ask(negative(descriptor("PerUser", "bob")), ann.clone().setHitsAddend(hits(2)));
    assertThat(over.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(over.getStatuses(0).getLimitRemaining())
        .as("a refund is due whatever else is refused")
        .isEqualTo(5);
  }

  @Test
  void negativeHits_ofADebt_areGivenBackWhole_andTrialsApart() {
    try (TestRlsServer own = withRule(store, false, Excess.DEBT)) {
      var unused = tokens(own, 23);
      DescriptorStatus back =
          own.ask(negative(descriptor("tokens", "ann").setHitsAddend(hits(20)))).getStatuses(0);
      assertThat(back.getLimitRemaining()).as("3 of 5 are still spent").isEqualTo(2);
      assertThat(tokens(own, 0).getLimitRemaining()).isEqualTo(2);
    }
    try (TestRlsServer own = withRule(store, true, Excess.REJECT)) {
      assertThat(tokens(own, 3).getLimitRemaining()).isEqualTo(2);
      var unused = own.ask(negative(descriptor("tokens", "ann")));
      assertThat(tokens(own, 0).getLimitRemaining()).as("of the trial").isEqualTo(3);
      assertThat(own.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
          .as("of the limit in force: 3 of 5 are still spent")
          .isEqualTo(1);
    }
  }

  @Test
  void unknownField_ofADescriptorIsRefused_andElsewhereIgnored() {
    RateLimitDescriptor.Builder ann = descriptor("PerUser", "ann");
    assertInvalid(
        request(ann, ann.clone().setUnknownFields(field(5))).build(),
        "descriptors[1]: found the field number 5, which this version of Sluice does not know");
    assertInvalid(
        request(
                ann.clone()
                    .setEntries(
                        0, ann.getEntries(0).toBuilder().setUnknownFields(field(3)).build()))
            .build(),
        "descriptors[0].entries[0]: found the field number 3");
    assertInvalid(
        request(
                ann.clone()
                    .setLimit(RateLimitOverride.newBuilder().setUnknownFields(field(4)).build()))
            .build(),
        "descriptors[0].limit: found the field number 4");
    assertThat(
            server
                .client()
                .shouldRateLimit(request(ann).setUnknownFields(field(4)).build())
                .getStatuses(0)
                .getLimitRemaining())
        .as("nothing was charged before")
        .isEqualTo(4);
  }

  private static DescriptorStatus tokens(TestRlsServer server, long cost) {
    return server.ask(descriptor("tokens", "ann").setHitsAddend(hits(cost))).getStatuses(0);
  }

  /**
   * A limiter forgives a debt that it finds, as one that a larger limit left; this one is meant.
   */
  @Test
  void debt_isNotForgiven() {
    try (TestRlsServer own = withRule(store, false, Excess.DEBT)) {
      var unused = tokens(own, 9);
      var ignored = tokens(own, 1);
      assertThat(tokens(own, 0).getDurationUntilReset().getSeconds())
          .as("9 + 1 of 5: five are owed, and one must be there")
          .isEqualTo(180);
      time.advance(Duration.ofMinutes(3));
      assertThat(tokens(own, 1).getCode()).isEqualTo(Code.OK);
    }
  }

  private static Map<String, String> headers(
      HeaderProfile profile, List<String> names, RateLimitDescriptor.Builder... descriptors)
      throws Exception {
    Settings settings = new Settings(OverridePolicy.ALLOW, profile, names, false, 0.8);
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store, settings)) {
      return server.ask(descriptors).getResponseHeadersToAddList().stream()
          .collect(Collectors.toMap(HeaderValue::getKey, HeaderValue::getValue));
    }
  }

  @Test
  void headers_areThoseOfTheProfile_andRetryAfterStaysOnADenial() throws Exception {
    RateLimitDescriptor.Builder one = descriptor("PerIp", "192.0.2.7");
    RateLimitDescriptor.Builder probe =
        descriptor("PerIp", "192.0.2.8").setHitsAddend(UInt64Value.of(0));
    RateLimitDescriptor.Builder over =
        descriptor("PerIp", "192.0.2.7").setHitsAddend(UInt64Value.of(1_000_000));
    assertThat(headers(HeaderProfile.NONE, List.of(), one)).isEmpty();
    assertThat(headers(HeaderProfile.NONE, List.of(), one, probe)).isEmpty();
    assertThat(headers(HeaderProfile.NONE, List.of(), over))
        .containsOnlyKeys("content-type", "cache-control");
    List<String> names = List.of("A-Limit", "A-Left", "A-Reset");
    for (RateLimitDescriptor.Builder[] asked :
        new RateLimitDescriptor.Builder[][] {{one}, {one, probe}}) {
      assertThat(headers(HeaderProfile.IETF, List.of(), asked))
          .containsOnlyKeys("ratelimit", "ratelimit-policy");
      assertThat(headers(HeaderProfile.DRAFT03, List.of(), asked))
          .containsOnlyKeys("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset");
      assertThat(headers(HeaderProfile.LEGACY, List.of(), asked))
          .containsOnlyKeys("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset");
      assertThat(headers(HeaderProfile.LEGACY, names, asked))
          .containsOnlyKeys("a-limit", "a-left", "a-reset")
          .isEqualTo(
              headers(HeaderProfile.LEGACY, List.of(), asked).entrySet().stream()
                  .collect(
                      Collectors.toMap(
                          header ->
                              header
                                  .getKey()
                                  .replace("x-ratelimit-remaining", "a-left")
                                  .replace("x-ratelimit", "a"),
                          Map.Entry::getValue)));
    }
  }

  @Test
  void shadowOfTheDoor_letsAllPass_andCounts_alsoHitsNearALimit() throws Exception {
    Settings settings =
        new Settings(OverridePolicy.ALLOW, HeaderProfile.LEGACY, List.of(), true, 0.8);
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store, settings)) {
      RateLimitOverride ten =
          RateLimitOverride.newBuilder().setRequestsPerUnit(10).setUnit(RateLimitUnit.HOUR).build();
      for (int hits : new int[] {7, 2, 5, 1}) {
        RateLimitResponse response =
            server.ask(
                descriptor("PerIp", "192.0.2.7").setLimit(ten).setHitsAddend(UInt64Value.of(hits)));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getStatuses(0).getCode())
            .isEqualTo(hits == 5 ? Code.OVER_LIMIT : Code.OK);
        assertThat(response.getResponseHeadersToAddList())
            .extracting(HeaderValue::getKey)
            .doesNotContain("retry-after", "content-type");
        assertThat(response.getRawBody().isEmpty()).isTrue();
      }
      assertThat(server.meters.get("sluice.rls.shadowed").counter().count()).isEqualTo(1);
      assertThat(server.meters.get("sluice.rls.near.limit").tag("limit", "PerIp").counter().count())
          .as("one of the first nine hits, and the tenth")
          .isEqualTo(2);
    }
  }
}
