// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.protobuf.UInt64Value;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Receipt;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Caller;
import dev.sluice.server.rls.RateLimitService.RateLimitRequests;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules that reserve at the beginning of a request, and settle at its end. */
final class SettledCallsTest {

  private static final String NAMES =
      """
      names:
        - {number: 201, name: Tokens, id: string, jitter: 0}
        - {number: 202, name: Both, id: string, jitter: 0}
        - {number: 203, name: Calls, id: string, jitter: 0}
      """;
  private static final String LIMITS =
      """
      Tokens: {burst: 1000, count: 1000, period: 1h, debt: 2}
      Both: {quotas: [1000 per 1h, 500 per 1m], debt: 1}
      Calls: {burst: 2, count: 2, period: 1h}
      """;
  private static final String RULES =
      """
      rules:
        - {entries: [request_id, user], limit: Tokens, id: "{user}", by: "{request_id}"}
        - {entries: [used, request_id, user], settles: Tokens, id: "{user}", by: "{request_id}"}
        - {entries: [request_id, both], limit: Both, id: "{both}", by: "{request_id}"}
        - {entries: [used, request_id, both], settles: Both, id: "{both}", by: "{request_id}"}
        - entries: [request_id, tried]
          limits: [{limit: Tokens, id: "{tried}", by: "{request_id}", shadow: true}]
        - entries: [used, request_id, tried]
          limits: [{settles: Tokens, id: "{tried}", by: "{request_id}", shadow: true}]
        - entries: [request_id, one, two]
          limits:
            - {limit: Tokens, id: "{one}", cost: 100}
            - {limit: Tokens, id: "{two}", by: "{request_id}", cost: 500}
        - {entries: [look], limit: Tokens, id: "{look}"}
        - {entries: [look_tried], limits: [{limit: Tokens, id: "{look_tried}", shadow: true}]}
        - {entries: [call], limit: Calls, id: "{call}"}
        - {entries: [late, user], limits: [{limit: Tokens, id: "{user}", excess: debt}]}
      """;

  @RegisterExtension private final FreshSeed seed = new FreshSeed();
  @TempDir private Path folder;

  private final ManualTime time = new ManualTime();
  private final Flaky store = new Flaky(BucketStore.inMemory(time));
  private CurrentLimits limits;
  private TestRlsServer server;

  /** Can be away, lose its answers, or be slow. */
  private static final class Flaky implements BucketStore {
    private final BucketStore real;
    private volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);
    private volatile boolean isAway;
    private volatile boolean losesAnswers;

    Flaky(BucketStore real) {
      this.real = real;
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (isAway) {
        throw new UnchargedException("away");
      }
      List<Reading> readings = real.charge(charges);
      if (losesAnswers) {
        throw new StoreException("the answer was lost");
      }
      return readings;
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      if (!gate.isDone()) {
        return later(charges);
      }
      try {
        return CompletableFuture.completedFuture(charge(charges));
      } catch (StoreException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    /** Drops what is cancelled before it can be sent. */
    private CompletionStage<List<Reading>> later(List<Charge> charges) {
      CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
      var unused =
          gate.thenRun(
              () -> {
                if (!answer.isCancelled()) {
                  answer.complete(charge(charges));
                }
              });
      return answer;
    }

    @Override
    public void close() {
      real.close();
    }
  }

  private Limits limits(String text) {
    try {
      return LimitFiles.builder()
          .names(Files.writeString(folder.resolve("names.yml"), NAMES))
          .defaults(Files.writeString(folder.resolve("limits.yml"), text))
          .companion(Files.writeString(folder.resolve("rules.yml"), RULES), RuleBook.reader())
          .build()
          .load();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void start() {
    limits = new CurrentLimits(limits(LIMITS));
    server = new TestRlsServer(Limiter.builder(limits, store).time(time).build(), store);
  }

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private static RateLimitDescriptor.Builder begins(String call, String kind, String id) {
    return descriptor("request_id", call, kind, id);
  }

  private static RateLimitDescriptor.Builder ends(String call, String kind, String id) {
    return descriptor("used", "1", "request_id", call, kind, id);
  }

  private static RateLimitDescriptor.Builder with(long hits, RateLimitDescriptor.Builder one) {
    return one.setHitsAddend(UInt64Value.of(hits));
  }

  @CanIgnoreReturnValue
  private RateLimitResponse ask(RateLimitDescriptor.Builder... descriptors) {
    return server.ask(descriptors);
  }

  @CanIgnoreReturnValue
  private RateLimitResponse begin(String call, long estimate) {
    return server.ask(with(estimate, begins(call, "user", "ann")));
  }

  @CanIgnoreReturnValue
  private RateLimitResponse end(String call, long cost) {
    return server.ask(with(cost, ends(call, "user", "ann")));
  }

  private long left(String look, String id) {
    return server.ask(with(0, descriptor(look, id))).getStatuses(0).getLimitRemaining();
  }

  private long left() {
    return left("look", "ann");
  }

  private double ended(String charged) {
    var counter = server.meters.find("sluice.rls.settlements").tag("charged", charged).counter();
    return counter == null ? 0 : counter.count();
  }

  /** Envoy waits for 20 ms by default, also for the answer to a report of what is used up. */
  @ParameterizedTest
  @CsvSource({
    "late, 300, 0, 700",
    "late, 1500, 60, 500",
    "late after a refund, 300, 0, 700",
    "used, 300, 0, 700",
    "used, 1500, 60, 500"
  })
  void reportThatNobodyWaitsFor_isChargedInFull(String kind, long cost, long minutes, long left)
      throws IOException {
    start();
    RateLimitRequests requests =
        new RateLimitRequests(
            Limiter.builder(limits, store).time(time).build(),
            Settings.of(OverridePolicy.ALLOW),
            new RlsMeters(server.meters),
            AuditLog.none(),
            Denials.none(),
            new OpenCalls(server.meters));
    CompletableFuture<Void> gate = new CompletableFuture<>();
    CompletableFuture<Void> givenUp = new CompletableFuture<>();
    store.gate = gate;
    RateLimitDescriptor.Builder report =
        kind.equals("used") ? ends("r1", "user", "ann") : descriptor("late", "1", "user", "ann");
    RateLimitRequest.Builder request = TestRlsServer.request(with(cost, report));
    if (kind.equals("late after a refund")) {
      request.addDescriptors(RateLimitServiceTest.negative(with(1, descriptor("look", "bob"))));
    }
    byte[] asked = request.build().toByteArray();

    var unused =
        requests.decide(
            dev.sluice.envoy.RateLimitRequest.parseFrom(asked),
            Caller.anybody("192.0.2.7"),
            "grpc",
            givenUp);
    givenUp.complete(null);
    gate.complete(null);

    time.advance(Duration.ofMinutes(minutes));
    assertThat(left()).isEqualTo(left);
  }

  @ParameterizedTest
  @CsvSource({"120, 880", "500, 500", "800, 200", "1000, 0"})
  void endOfACall_replacesItsEstimate(long cost, long left) {
    start();
    assertThat(begin("r1", 500).getStatuses(0).getLimitRemaining()).isEqualTo(500);

    RateLimitResponse ended = end("r1", cost);

    assertThat(ended.getOverallCode()).isEqualTo(Code.OK);
    DescriptorStatus status = ended.getStatuses(0);
    assertThat(status.getLimitRemaining()).isEqualTo((int) left);
    assertThat(status.getCurrentLimit().getName()).isEqualTo("Tokens");
    assertThat(status.getDurationUntilReset().getSeconds())
        .isBetween((1000 - left) * 3, (1000 - left) * 4);
    assertThat(left()).isEqualTo(left);
    assertThat(ended("difference")).isEqualTo(1);
    assertThat(ended("all")).isZero();
  }

  @Test
  void costAboveTheBucket_isOwed_toTheDepthOfTheLimit() {
    start();
    begin("r1", 500);
    assertThat(end("r1", 2_500).getOverallCode()).as("nothing is refused").isEqualTo(Code.OK);
    assertThat(begin("r2", 1).getStatuses(0).getDurationUntilReset().getSeconds())
        .as("1501 tokens of 3.6 s")
        .isEqualTo(5404);
    time.advance(Duration.ofHours(10));
    begin("r3", 500);
    end("r3", 9_000);
    assertThat(begin("r4", 1).getStatuses(0).getDurationUntilReset().getSeconds())
        .as("two bursts are owed, and one token must be there")
        .isEqualTo(7204);
  }

  @Test
  void estimateAboveTheBurst_countsAsTheBurst() {
    start();
    assertThat(begin("r1", 5_000).getOverallCode()).isEqualTo(Code.OK);
    assertThat(left()).isZero();
    end("r1", 10);
    assertThat(left()).isEqualTo(990);
  }

  /** A proxy's limit of zero denies the whole request. */
  @Test
  void estimateAboveTheBurst_thatTakesNothing_leavesTheBurst() {
    start();
    RateLimitOverride none = RateLimitOverride.newBuilder().setUnit(RateLimitUnit.HOUR).build();
    DescriptorStatus status =
        ask(with(5_000, begins("r1", "user", "ann")), descriptor("call", "x").setLimit(none))
            .getStatuses(0);
    assertThat(status.getLimitRemaining()).isEqualTo(1_000);
    assertThat(status.getDurationUntilReset().getSeconds()).isZero();
  }

  @Test
  void endOfAnUnknownCall_isChargedInFull() {
    start();
    begin("r1", 500);
    assertThat(end("r2", 300).getStatuses(0).getLimitRemaining()).isEqualTo(200);
    assertThat(ended("all")).isEqualTo(1);
    assertThat(end("r2", 1_300).getOverallCode()).as("as excess: debt").isEqualTo(Code.OVER_LIMIT);
    end("r1", 1);
    assertThat(begin("r3", 1).getStatuses(0).getDurationUntilReset().getSeconds())
        .as("300 + 1300 + 1 of 1000 are spent: 602 tokens are missing")
        .isBetween(2160L, 2170L);
  }

  @Test
  void replayOfAnEnd_isChargedInFull() {
    start();
    begin("r1", 500);
    end("r1", 100);
    end("r1", 100);
    assertThat(left()).isEqualTo(800);
    assertThat(ended("difference")).isEqualTo(1);
    assertThat(ended("all")).isEqualTo(1);
  }

  /** Also a client that chooses the id of its requests is charged at least what they cost. */
  @Test
  void secondCallOfAnOpenId_keepsItsEstimate_andItsEndIsChargedInFull() {
    start();
    begin("same", 300);
    begin("same", 200);
    end("same", 50);
    assertThat(left()).as("the first one is settled").isEqualTo(1000 - 50 - 200);
    end("same", 60);
    assertThat(left()).isEqualTo(1000 - 50 - 200 - 60);
    begin("same", 200);
    end("same", 1);
    assertThat(left()).as("the id is free again").isEqualTo(1000 - 50 - 200 - 60 - 1);
  }

  @Test
  void idOfARequest_belongsToTheIdOfTheLimit_andTheDomain() {
    start();
    begin("r1", 500);
    ask(with(10, ends("r1", "user", "bob")));
    assertThat(left()).isEqualTo(500);
    assertThat(left("look", "bob")).as("in full").isEqualTo(990);
    var unused =
        server
            .client()
            .shouldRateLimit(
                TestRlsServer.request(with(10, ends("r1", "user", "ann")))
                    .setDomain("other")
                    .build());
    assertThat(left()).isEqualTo(490);
    end("r1", 10);
    assertThat(left()).isEqualTo(980);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " "})
  void emptyIdOfARequest_settlesNothing(String call) {
    start();
    begin(call, 500);
    end(call, 10);
    assertThat(left()).isEqualTo(490);
  }

  @Test
  void tooLongIdOfARequest_settlesNothing() {
    start();
    begin("x".repeat(300), 500);
    end("x".repeat(300), 10);
    assertThat(left()).isEqualTo(490);
  }

  @Test
  void endWithoutHits_keepsTheEstimate_andALaterEndSettles() {
    start();
    begin("r1", 500);
    assertThat(end("r1", 0).getOverallCode()).isEqualTo(Code.OK);
    assertThat(left()).isEqualTo(500);
    end("r1", 10);
    assertThat(left()).isEqualTo(990);
  }

  @Test
  void endWithoutAHitsAddend_isAnEndWithoutHits() {
    start();
    begin("r1", 500);
    assertThat(ask(ends("r1", "user", "ann")).getOverallCode()).isEqualTo(Code.OK);
    assertThat(left()).isEqualTo(500);
    var unused =
        server
            .client()
            .shouldRateLimit(
                TestRlsServer.request(ends("r1", "user", "ann")).setHitsAddend(20).build());
    assertThat(left()).as("the hits of the request").isEqualTo(980);
  }

  @Test
  void otherChargeOfTheBucket_isNotGivenBack() {
    start();
    ask(with(10, descriptor("look", "ann")), with(500, begins("r1", "user", "ann")));
    end("r1", 100);
    assertThat(left()).as("in full").isEqualTo(1000 - 10 - 500 - 100);
  }

  @Test
  void otherChargeAboveTheBurst_isNoEstimate() {
    start();
    assertThat(
            ask(with(1_500, descriptor("look", "ann")), with(1, begins("r1", "user", "ann")))
                .getOverallCode())
        .isEqualTo(Code.OVER_LIMIT);
    assertThat(left()).isEqualTo(1000);
  }

  @Test
  void reservationOfAnotherRequest_isNotGivenBack() {
    start();
    ask(with(300, begins("r1", "user", "ann")), with(200, begins("r2", "user", "ann")));
    end("r1", 10);
    assertThat(left()).as("in full").isEqualTo(1000 - 300 - 200 - 10);
  }

  @Test
  void otherLimitOfTheRule_isNotGivenBack() {
    start();
    ask(descriptor("request_id", "r1", "one", "bob", "two", "ann"));
    end("r1", 10);
    assertThat(left()).as("two buckets").isEqualTo(990);
    ask(descriptor("request_id", "r2", "one", "ann", "two", "ann"));
    end("r2", 10);
    assertThat(left()).as("one bucket, in full").isEqualTo(990 - 500 - 10);
  }

  @Test
  void negativeHits_areARefund_andSettleNothing() {
    start();
    begin("r1", 500);
    ask(
        RateLimitServiceTest.negative(with(100, ends("r1", "user", "ann"))),
        RateLimitServiceTest.negative(with(50, begins("r2", "user", "ann"))));
    assertThat(left()).isEqualTo(650);
    end("r1", 600);
    assertThat(left()).isEqualTo(550);
  }

  @Test
  void deniedCall_reservesNothing() {
    start();
    begin("r1", 900);
    assertThat(begin("r2", 200).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    end("r2", 50);
    assertThat(left()).as("in full").isEqualTo(50);
  }

  @Test
  void severalCostsOfOneCall_areAdded() {
    start();
    begin("r1", 500);
    RateLimitResponse ended =
        ask(
            with(100, ends("r1", "user", "ann")),
            with(20, ends("r1", "user", "ann")),
            with(7, ends("r2", "user", "ann")));
    assertThat(ended.getStatusesCount()).isEqualTo(3);
    assertThat(left()).isEqualTo(1000 - 120 - 7);
  }

  @Test
  void batch_isReservedAllOrNothing_andSettledLimitByLimit() {
    start();
    ask(descriptor("call", "ann"), with(500, begins("r1", "user", "ann")));
    ask(descriptor("call", "ann"), with(100, begins("r2", "user", "ann")));
    assertThat(
            ask(descriptor("call", "ann"), with(100, begins("r3", "user", "ann"))).getOverallCode())
        .isEqualTo(Code.OVER_LIMIT);
    assertThat(left()).isEqualTo(400);
    assertThat(ask(descriptor("call", "ann"), with(10, ends("r1", "user", "ann"))).getOverallCode())
        .as("another limit denies, and the end settles all the same")
        .isEqualTo(Code.OVER_LIMIT);
    assertThat(left()).isEqualTo(890);
    ask(descriptor("call", "ann"), with(10, ends("unknown", "user", "ann")));
    assertThat(left()).as("charged in full all the same").isEqualTo(880);
  }

  @Test
  void severalQuotas_areSettledTogether() {
    start();
    ask(with(400, begins("r1", "both", "ann")));
    DescriptorStatus ended = ask(with(30, ends("r1", "both", "ann"))).getStatuses(0);
    assertThat(ended.getLimitRemaining()).as("of the shorter quota").isEqualTo(470);
    assertThat(ended.getCurrentLimit().getRequestsPerUnit()).isEqualTo(500);
    assertThat(ended.getDurationUntilReset().getSeconds()).as("30 of 0.12 s").isBetween(3L, 4L);
    time.advance(Duration.ofMinutes(1));
    assertThat(ask(with(1, ends("none", "both", "ann"))).getStatuses(0).getLimitRemaining())
        .isEqualTo(499);
  }

  @Test
  void costAboveEachOfSeveralQuotas_isOwedAlike_withAReservationAndWithout() {
    start();
    ask(with(400, begins("r1", "both", "ann")));
    ask(with(1_500, ends("r1", "both", "ann")));
    ask(with(1_500, ends("none", "both", "bob")));
    for (String id : List.of("ann", "bob")) {
      DescriptorStatus next = ask(with(1, begins("next", "both", id))).getStatuses(0);
      assertThat(next.getDurationUntilReset().getSeconds())
          .as("%s: 501 tokens of the hour are missing, at 3.6 s each", id)
          .isEqualTo(1804);
    }
  }

  @Test
  void ruleInShadow_settlesTheTrial() {
    start();
    ask(with(500, begins("r1", "tried", "ann")));
    assertThat(left()).isEqualTo(1000);
    assertThat(left("look_tried", "ann")).isEqualTo(500);
    ask(with(10, ends("r1", "tried", "ann")));
    assertThat(left("look_tried", "ann")).isEqualTo(990);
    ask(with(10, ends("r1", "tried", "ann")));
    assertThat(left("look_tried", "ann")).as("the replay").isEqualTo(980);
    ask(with(5000, ends("r1", "tried", "ann")));
    assertThat(left()).isEqualTo(1000);
  }

  @Test
  void whatHasRefilled_isNotGivenBack() {
    start();
    begin("r1", 500);
    time.advance(Duration.ofMinutes(24)); // 400 tokens
    end("r1", 10);
    assertThat(left()).isEqualTo(1000);
  }

  @Test
  void reloadInBetween_settlesByTheIntervalOfTheReservation() {
    start();
    begin("r1", 500);
    limits.replace(limits(LIMITS.replace("burst: 1000, count: 1000", "burst: 2000, count: 2000")));
    assertThat(left()).isEqualTo(1000);
    DescriptorStatus ended = end("r1", 600).getStatuses(0);
    assertThat(left()).as("100 more of 3.6 s, where a token has 1.8 s").isEqualTo(800);
    assertThat(ended.getDurationUntilReset().getSeconds()).as("1200 of 1.8 s").isEqualTo(2160);
  }

  @Test
  void quotaAddedInBetween_isChargedInFull() {
    start();
    String both = "Both: {quotas: [1000 per 1h, 500 per 1m], debt: 1}";
    limits.replace(
        limits(LIMITS.replace(both, "Both: {burst: 1000, count: 1000, period: 1h, debt: 1}")));
    ask(with(400, begins("r1", "both", "ann")));
    limits.replace(limits(LIMITS));
    DescriptorStatus ended = ask(with(250, ends("r1", "both", "ann"))).getStatuses(0);
    assertThat(ended.getLimitRemaining()).as("of the new quota").isEqualTo(250);
    time.advance(Duration.ofMinutes(1));
    assertThat(ask(with(1, ends("none", "both", "ann"))).getStatuses(0).getLimitRemaining())
        .as("of the old quota, refilled by 16 or 17")
        .isBetween(1000 - 400 - 250 + 15, 1000 - 400 - 250 + 17);
    assertThat(ended("all")).isEqualTo(2);
  }

  @Test
  void quotaThatTheProxySends_mustBeTheSameAtBothEnds() {
    start();
    RateLimitOverride hundred =
        RateLimitOverride.newBuilder().setRequestsPerUnit(100).setUnit(RateLimitUnit.HOUR).build();
    ask(with(50, begins("r1", "user", "ann")).setLimit(hundred));
    end("r1", 10);
    assertThat(ended("all")).isEqualTo(1);
    ask(with(10, ends("r1", "user", "ann")).setLimit(hundred));
    assertThat(ended("difference")).isEqualTo(1);
  }

  @Test
  void restart_chargesInFull() {
    start();
    begin("r1", 500);
    server.close();
    server = new TestRlsServer(limits.get(), store);
    end("r1", 100);
    assertThat(left()).isEqualTo(400);
  }

  @Test
  void storeAway_letsTheSettlementWait() {
    start();
    begin("r1", 500);
    store.isAway = true;
    assertThat(end("r1", 100).getOverallCode()).isEqualTo(Code.OK);
    store.isAway = false;
    time.advance(Duration.ofSeconds(1));
    assertThat(left()).isEqualTo(900);
  }

  @Test
  void lostAnswer_failsTheEnd_andARepeatedEndIsChargedInFull() {
    start();
    begin("r1", 500);
    store.losesAnswers = true;
    assertThatThrownBy(() -> end("r1", 100))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageStartingWith("UNAVAILABLE");
    assertThat(ended("failed")).isEqualTo(1);
    assertThat(ended("difference")).isZero();
    assertThatThrownBy(() -> end("r2", 100)).isInstanceOf(StatusRuntimeException.class);
    assertThat(ended("failed")).isEqualTo(2);
    assertThat(ended("all")).isZero();
    store.losesAnswers = false;
    end("r1", 100);
    assertThat(ended("all")).isEqualTo(1);
    assertThat(left()).isEqualTo(700);
  }

  /** Compares the bucket with the sum of what each call must be charged. */
  @Test
  void anyOrder_ofBeginningsAndEnds_chargesTheCostOfEachEnd_andNeverLess() {
    start();
    SplittableRandom random = seed.random();
    Map<Integer, Integer> open = new HashMap<>();
    int charged = 0;
    int costs = 0;
    for (int i = 0; i < 300; i++) {
      int call = random.nextInt(6);
      int tokens = 1 + random.nextInt(3);
      if (random.nextBoolean()) {
        begin("r" + call, tokens);
        charged += tokens;
        open.putIfAbsent(call, tokens);
      } else {
        end("r" + call, tokens);
        Integer estimate = open.remove(call);
        charged += tokens - (estimate == null ? 0 : estimate);
        costs += tokens;
      }
    }
    assertThat(left()).isEqualTo(1000 - charged);
    assertThat(charged).isGreaterThanOrEqualTo(costs);
  }

  @Test
  void memory_forgetsTheOldest_andWhatHasExpired() {
    start();
    Receipt receipt = new Receipt(List.of());
    List<OpenCalls.CallKey> keys =
        List.of("a", "b", "c").stream()
            .map(id -> new OpenCalls.CallKey("edge", "201:x", List.of(), id))
            .toList();
    OpenCalls calls = new OpenCalls(time, 2 * OpenCalls.bytes(keys.get(0), receipt), server.meters);
    keys.forEach(key -> calls.add(key, receipt, Duration.ofMinutes(10)));
    assertThat(server.meters.get("sluice.rls.reservations.evicted").counter().count()).isOne();
    assertThat(calls.size()).isEqualTo(2);
    assertThat(calls.take(keys.get(0))).isNull();
    assertThat(calls.take(keys.get(1))).isNotNull();
    time.advance(Duration.ofMinutes(10));
    assertThat(calls.take(keys.get(2))).isNull();
    calls.add(keys.get(0), receipt, Duration.ofMinutes(1));
    time.advance(Duration.ofMinutes(1));
    calls.add(keys.get(0), receipt, Duration.ofMinutes(1));
    assertThat(calls.take(keys.get(0))).as("the id of an expired call is free").isNotNull();
    assertThat(calls.size()).isZero();
    calls.add(keys.get(0), receipt, Duration.ofMinutes(10));
    calls.add(keys.get(1), receipt, Duration.ofMinutes(1));
    time.advance(Duration.ofMinutes(1));
    calls.add(keys.get(2), receipt, Duration.ofMinutes(1));
    assertThat(calls.size()).as("without the one that has expired").isEqualTo(2);
    assertThat(calls.take(keys.get(0))).as("an older one that has not expired").isNotNull();
    assertThat(server.meters.get("sluice.rls.reservations.evicted").counter().count()).isOne();
  }

  @Test
  void memory_isBoundedInBytes_soLongIdsEvictMoreReservations() {
    start();
    Limiter limiter = Limiter.of(limits, store);
    List<OpenCalls.CallKey> keys = new ArrayList<>();
    List<Receipt> receipts = new ArrayList<>();
    for (String id : List.of("a", "b", "c", "x".repeat(1000))) {
      try (Reservation reservation = limiter.reserve("Tokens", id, 1)) {
        keys.add(new OpenCalls.CallKey("edge", "201:" + id, List.of(), "r"));
        receipts.add(reservation.receipt());
      }
    }
    long ofALongId = OpenCalls.bytes(keys.get(3), receipts.get(3));
    assertThat(ofALongId).as("two strings of 1,000 characters").isGreaterThan(2000);
    OpenCalls calls = new OpenCalls(time, ofALongId + 1, server.meters);

    for (int i = 0; i < keys.size(); i++) {
      calls.add(keys.get(i), receipts.get(i), Duration.ofMinutes(10));
    }

    assertThat(calls.size()).isOne();
    assertThat(calls.take(keys.get(3))).isEqualTo(receipts.get(3));
    assertThat(server.meters.get("sluice.rls.reservations.evicted").counter().count()).isEqualTo(3);
    calls.add(keys.get(3), receipts.get(3), Duration.ofMinutes(10));
    assertThat(calls.size()).as("a settled reservation makes room").isOne();
  }
}
