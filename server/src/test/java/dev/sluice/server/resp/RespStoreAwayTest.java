// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.resp.RespClient.Failure;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What Redis clients are told where a failure rule answers in the store's place: a store in memory
 * that is full, whose commands are decided together, and one over a network that is away. PerUser
 * holds 2 tokens, and a process of two holds one of them.
 */
final class RespStoreAwayTest {

  private static final long SECOND = 1_000_000_000;

  private final ManualTime time = new ManualTime();
  private final Denials denials = Denials.to(null, true);

  /** A store that fails each charge. */
  private record Away(StoreException failure) implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw failure;
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  private BucketStore store(boolean full) {
    if (!full) {
      return new Away(new UnchargedException("away"));
    }
    BucketStore store = BucketStore.inMemory(time, 1);
    assertThat(Limiter.of(limits(), store).spend("PerUser", "first", 1).allowed()).isTrue();
    return store;
  }

  private static Limits limits() {
    return Limits.builder(Catalogue.of(LimitName.builder(1, "PerUser").build()))
        .limit("PerUser", Quota.per(2, Duration.ofMinutes(1)))
        .build();
  }

  private static FailureRule rule(String name) {
    return switch (name) {
      case "allow" -> FailureRule.allow();
      case "deny" -> FailureRule.deny();
      case "local" -> FailureRule.local(2);
      default -> FailureRule.fail();
    };
  }

  /** The answers to commands that were sent at once. */
  private List<@Nullable Object> answers(String rule, boolean full, String command) {
    return answers(rule, store(full), command);
  }

  private List<@Nullable Object> answers(String rule, BucketStore store, String command) {
    Limiter limiter =
        Limiter.builder(new CurrentLimits(limits()), store)
            .time(time)
            .onFailure(rule(rule))
            .observer(denials)
            .build();
    List<@Nullable Object> answers = new ArrayList<>();
    try (TestRespServer server =
            new TestRespServer(limiter, store, ConnectionBudget.usual(), denials);
        RespClient client = server.connect()) {
      client.raw((command + "\r\n").repeat(2));
      answers.add(client.reply());
      answers.add(client.reply());
    }
    return answers;
  }

  @ParameterizedTest
  @CsvSource({
    "allow, true,  1, 0, 0,  1, 0, 0",
    "allow, false, 1, 0, 0,  1, 0, 0",
    "deny,  true,  0, 1, 1,  0, 1, 1",
    "deny,  false, 0, 1, 1,  0, 1, 1",
    "local, true,  1, 60, 60, 0, 60, 60",
    "local, false, 1, 60, 60, 0, 60, 60"
  })
  void ruleAnswersASpend(
      String rule,
      boolean full,
      long first,
      long firstRetry,
      long firstReset,
      long second,
      long secondRetry,
      long secondReset) {
    assertThat(answers(rule, full, "SLUICE.SPEND PerUser ann"))
        .containsExactly(
            fields(rule, first, firstRetry, firstReset),
            fields(rule, second, secondRetry, secondReset));
  }

  @ParameterizedTest
  @CsvSource({"deny, true, 2", "deny, false, 2", "local, true, 1", "local, false, 1"})
  void denialByARule_isKept_once(String rule, boolean full, int denied) {
    var unused = answers(rule, full, "SLUICE.SPEND PerUser ann");
    assertThat(denials.last("PerUser", "ann"))
        .hasSize(denied)
        .allSatisfy(denial -> assertThat(denial.decidedBy()).isEqualTo(rule));
  }

  private static List<Object> fields(
      String rule, long allowed, long retrySeconds, long resetSeconds) {
    boolean local = rule.equals("local"); // whose share of 1 token is used up
    return Arrays.asList(
        "allowed",
        allowed,
        "limited",
        1L,
        "remaining",
        local ? 0L : null,
        "retryInNanos",
        retrySeconds * SECOND,
        "resetInNanos",
        local ? resetSeconds * SECOND : null,
        "degraded",
        1L,
        "decidedBy",
        rule);
  }

  /** Five integers have no room to say that a rule answered. */
  @ParameterizedTest
  @CsvSource({
    "allow, true,  0, -1, 0,  0, -1, 0",
    "allow, false, 0, -1, 0,  0, -1, 0",
    "deny,  true,  1, 1, 1,   1, 1, 1",
    "deny,  false, 1, 1, 1,   1, 1, 1",
    "local, true,  0, -1, 60, 1, 60, 60",
    "local, false, 0, -1, 60, 1, 60, 60"
  })
  void ruleAnswersAThrottle(
      String rule,
      boolean full,
      long first,
      long firstRetry,
      long firstReset,
      long second,
      long secondRetry,
      long secondReset) {
    assertThat(answers(rule, full, "CL.THROTTLE ann 1 2 60"))
        .containsExactly(
            List.of(first, 2L, 0L, firstRetry, firstReset),
            List.of(second, 2L, 0L, secondRetry, secondReset));
  }

  @ParameterizedTest
  @CsvSource({
    "true, SLUICE.SPEND PerUser ann",
    "false, SLUICE.SPEND PerUser ann",
    "true, CL.THROTTLE ann 1 2 60",
    "false, CL.THROTTLE ann 1 2 60"
  })
  void withoutARule_theClientIsToldThatNobodyDecided(boolean full, String command) {
    assertThat(answers("fail", full, command))
        .hasSize(2)
        .allSatisfy(
            answer ->
                assertThat(answer)
                    .isInstanceOfSatisfying(
                        Failure.class,
                        failure ->
                            assertThat(failure.text())
                                .startsWith("UNAVAILABLE ")
                                .contains("nothing was charged")));
  }

  @ParameterizedTest
  @CsvSource({
    "SLUICE.CHECK PerUser ann, nothing was charged",
    "CL.THROTTLE ann 1 2 60 5, nothing was charged",
    "SLUICE.BATCH CHECK PerUser ann 1 checkAndSpend, nothing was charged",
    "SLUICE.SPEND PerUser ann, whether anything was charged is unknown"
  })
  void chargeWhoseAnswerIsLost_isUnknown_butACheckChargedNothing(String command, String said) {
    assertThat(answers("fail", new Away(new StoreException("lost")), command))
        .allSatisfy(answer -> assertThat(String.valueOf(answer)).contains("UNAVAILABLE", said));
  }
}
