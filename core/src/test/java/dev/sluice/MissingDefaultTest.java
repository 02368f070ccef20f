// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.logging.Logger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** No verb lets an id pass because somebody forgot a line. */
class MissingDefaultTest {

  private static final Quota QUOTA = Quota.per(5, Duration.ofMinutes(1));
  private static final String GOOD = "Good";
  private static final String MISSING = "Missing";
  private static final String OVERRIDDEN = "Overridden";
  private static final LimitName SUPPLIED = LimitName.builder(9, "Supplied").build();

  private static final Catalogue NAMES =
      Catalogue.of(
          name(1, GOOD).build(),
          name(2, MISSING).build(),
          name(3, OVERRIDDEN).build(),
          name(4, "Boulders").disabledWithoutDefault().build(),
          name(5, "Rare").overridesOnly().build());

  private final CurrentLimits limits = new CurrentLimits(limits().build());
  private final BucketStore store = BucketStore.inMemory();
  private final Limiter limiter = Limiter.of(limits, store);

  private static LimitName.Builder name(int number, String name) {
    return LimitName.builder(number, name).id(IdFormat.string()).longestWait(Duration.ofMinutes(1));
  }

  private static Limits.Builder limits() {
    return Limits.builder(NAMES).limit(GOOD, QUOTA).override(OVERRIDDEN, "vip", QUOTA);
  }

  /** The verbs that take a limit and an id, each as callers write it. */
  private static Map<String, ThrowingCallable> verbs(Limiter limiter, String limit, String id) {
    Supplier<Transaction> one = () -> limiter.transaction(limit, id);
    List<Function<Transaction, Transaction>> kinds =
        List.of(
            transaction -> transaction,
            Transaction::checkOnly,
            Transaction::spendOnly,
            Transaction::allowOnly,
            Transaction::inShadow);
    Map<String, ThrowingCallable> verbs = new LinkedHashMap<>();
    verbs.put("check", () -> limiter.check(limit, id));
    verbs.put("spend", () -> limiter.spend(limit, id));
    verbs.put("spend at a cost", () -> limiter.spend(limit, id, 0));
    verbs.put("refund", () -> limiter.refund(limit, id));
    verbs.put("reset", () -> limiter.reset(limit, id));
    verbs.put("reserve", () -> limiter.reserve(limit, id).close());
    verbs.put("acquire", () -> limiter.acquire(limit, id, Duration.ZERO));
    verbs.put("acquire that waits", () -> limiter.acquire(limit, id, Duration.ofSeconds(1)));
    for (int i = 0; i < kinds.size(); i++) {
      Function<Transaction, Transaction> as = kinds.get(i);
      Supplier<Transaction> kind = () -> as.apply(one.get());
      Supplier<List<Transaction>> batch = () -> List.of(limiter.transaction(GOOD, "x"), kind.get());
      verbs.put("check kind " + i, () -> limiter.check(kind.get()));
      verbs.put("spend kind " + i, () -> limiter.spend(kind.get()));
      verbs.put("refund kind " + i, () -> limiter.refund(kind.get()));
      verbs.put("reserve kind " + i, () -> limiter.reserve(kind.get()).close());
      verbs.put("acquire kind " + i, () -> limiter.acquire(kind.get(), Duration.ZERO));
      verbs.put("reset kind " + i, () -> limiter.reset(kind.get()));
      verbs.put("check batch " + i, () -> limiter.check(batch.get()));
      verbs.put("spend batch " + i, () -> limiter.spend(batch.get()));
      verbs.put("refund batch " + i, () -> limiter.refund(batch.get()));
      verbs.put("reserve batch " + i, () -> limiter.reserve(batch.get()).close());
      verbs.put("acquire batch " + i, () -> limiter.acquire(batch.get(), Duration.ZERO));
      verbs.put("reset batch " + i, () -> limiter.reset(batch.get()));
    }
    verbs.put("requireDefault", () -> limiter.requireDefault(one.get()));
    verbs.put("reset-only", () -> limiter.reset(one.get().resetOnly()));
    verbs.put("lease", () -> limiter.lease(limit, id, 3).close());
    verbs.put("limit, spend", () -> limiter.limit(limit).spend(id));
    verbs.put("limit, check", () -> limiter.limit(limit).check(id));
    verbs.put("limit, refund", () -> limiter.limit(limit).refund(id));
    verbs.put("limit, reset", () -> limiter.limit(limit).reset(id));
    verbs.put("limit, reserve", () -> limiter.limit(limit).reserve(id).close());
    verbs.put("limit, acquire", () -> limiter.limit(limit).acquire(id, Duration.ZERO));
    verbs.put("limit, trySpend", () -> limiter.limit(limit).trySpend(id));
    verbs.put(
        "limit, bytes",
        () -> limiter.limit(limit).trySpendUtf8(id.getBytes(StandardCharsets.UTF_8)));
    verbs.put("limit, each", () -> limiter.limit(limit).trySpendEach(List.of("vip", id)));
    verbs.put("limit, batch", () -> limiter.spend(List.of(limiter.limit(limit).transaction(id))));
    return verbs;
  }

  /** The asynchronous verbs; nothing is thrown at the caller. */
  private static Map<String, Supplier<CompletionStage<?>>> asyncVerbs(
      Limiter limiter, String limit, String id) {
    AsyncLimiter async = limiter.async();
    Transaction one = limiter.transaction(limit, id);
    List<Transaction> batch = List.of(limiter.transaction(GOOD, "x"), one);
    Map<String, Supplier<CompletionStage<?>>> verbs = new LinkedHashMap<>();
    verbs.put("check", () -> async.check(limit, id, 1));
    verbs.put("spend", () -> async.spend(limit, id));
    verbs.put("refund", () -> async.refund(limit, id, 1));
    verbs.put("reset", () -> async.reset(limit, id));
    verbs.put("reserve", () -> async.reserve(limit, id, 1));
    verbs.put("acquire", () -> async.acquire(limit, id, 1, Duration.ofSeconds(1)));
    verbs.put("check transaction", () -> async.check(one));
    verbs.put("spend transaction", () -> async.spend(one));
    verbs.put("refund transaction", () -> async.refund(one));
    verbs.put("reset transaction", () -> async.reset(one));
    verbs.put("reserve transaction", () -> async.reserve(one));
    verbs.put("acquire transaction", () -> async.acquire(one, Duration.ZERO));
    verbs.put("check batch", () -> async.check(batch));
    verbs.put("spend batch", () -> async.spend(batch));
    verbs.put("refund batch", () -> async.refund(batch));
    verbs.put("reset batch", () -> async.reset(batch));
    verbs.put("reserve batch", () -> async.reserve(batch));
    verbs.put("acquire batch", () -> async.acquire(batch, Duration.ZERO));
    return verbs;
  }

  @Test
  void everyVerb_limitWithoutADefault_refuses() {
    for (String limit : List.of(MISSING, OVERRIDDEN)) {
      verbs(limiter, limit, "k").forEach((verb, call) -> requireRefused(verb, call, limit));
      asyncVerbs(limiter, limit, "k")
          .forEach(
              (verb, call) -> {
                CompletionStage<?> stage = call.get(); // throws nothing
                assertThatThrownBy(() -> stage.toCompletableFuture().join())
                    .as("%s of %s", verb, limit)
                    .hasCauseInstanceOf(MissingDefaultException.class);
              });
    }
    assertThat(store.liveBuckets()).hasValue(0);
  }

  private static void requireRefused(String verb, ThrowingCallable call, String limit) {
    assertThatThrownBy(call)
        .as("%s of %s", verb, limit)
        .isInstanceOfSatisfying(
            MissingDefaultException.class, e -> assertThat(e.limits()).containsExactly(limit))
        .hasMessage(
            "%1$s has no default; write burst, count and period, or \"%1$s: {unlimited: true}\""
                .formatted(limit));
  }

  @Test
  void everyVerb_idWithAnOverride_isDecided() throws Throwable {
    for (ThrowingCallable call : verbs(limiter, OVERRIDDEN, "vip").values()) {
      limiter.reset(OVERRIDDEN, "vip");
      limiter.reset(GOOD, "x");
      call.call();
    }
    assertThat(limiter.limit(OVERRIDDEN).trySpend("vip")).isTrue();
    assertThatThrownBy(() -> limiter.limit(OVERRIDDEN).trySpend("k"))
        .isInstanceOf(MissingDefaultException.class);
  }

  /** The metric of missing defaults shows the operator what is refused. */
  @Test
  void refusedLimit_isCounted_andStopsNoReload() {
    assertThatThrownBy(() -> limiter.spend(limiter.transaction(MISSING, "k")))
        .isInstanceOf(MissingDefaultException.class);
    assertThat(limits.unmet(limits.get())).extracting(Requirement::limit).containsExactly(MISSING);
    limits.replace(Limits.builder(NAMES).build());
    limits.replace(limits().limit(MISSING, QUOTA).build());
    assertThat(limits.unmet(limits.get())).isEmpty();
  }

  @Test
  void batch_severalLimitsWithoutADefault_areNamedTogether() {
    List<Transaction> batch =
        List.of(
            limiter.transaction(MISSING, "k"),
            limiter.transaction(GOOD, "k"),
            limiter.transaction(MISSING, "j"),
            limiter.transaction(OVERRIDDEN, "k"));
    assertThatThrownBy(() -> limiter.spend(batch))
        .isInstanceOfSatisfying(
            MissingDefaultException.class,
            e -> assertThat(e.limits()).containsExactly(MISSING, OVERRIDDEN));
  }

  /** What was made before, and the limits that replace those that it was made under. */
  @Test
  void handle_whoseDefaultAReloadTakesAway_refusesFromThenOn() {
    Limit limit = limiter.limit(GOOD);
    try (Lease lease = limiter.lease(GOOD, "leased", 3);
        Reservation held = limiter.reserve(GOOD, "held")) {
      assertThat(lease.trySpend()).isTrue();
      assertThat(limit.trySpend("a")).isTrue();
      limits.replace(Limits.builder(NAMES).build());
      assertThatThrownBy(lease::trySpend).isInstanceOf(MissingDefaultException.class);
      assertThatThrownBy(() -> limit.trySpend("a")).isInstanceOf(MissingDefaultException.class);
      assertThatThrownBy(
              () -> limit.async().acquire("a", Duration.ZERO).toCompletableFuture().join())
          .hasCauseInstanceOf(MissingDefaultException.class);
      held.cancel(); // opens nothing
      limits.replace(limits().build());
      assertThat(lease.trySpend()).isTrue();
      assertThat(limit.trySpend("a")).isTrue();
    }
  }

  @Test
  void unlimitedInTheLimits_isOpen() throws Throwable {
    limits.replace(limits().unlimited(MISSING).unlimited(OVERRIDDEN).build());
    for (String limit : List.of(MISSING, OVERRIDDEN)) {
      for (ThrowingCallable call : verbs(limiter, limit, "k").values()) {
        limiter.reset(GOOD, "x");
        call.call();
      }
      assertThat(limiter.spend(limit, "k").transaction().coverage()).isEqualTo(Coverage.UNLIMITED);
    }
  }

  @Test
  void nameThatIsDisabledWithoutADefault_isAllowedAndStoresNothing() throws Throwable {
    for (String limit : List.of("Boulders", "Rare")) {
      Decision decision = limiter.spend(limit, "k");
      assertThat(decision.allowed()).isTrue();
      assertThat(decision.limited()).isFalse();
      assertThat(decision.transaction().coverage()).isEqualTo(Coverage.DISABLED);
      assertThat(store.liveBuckets()).hasValue(0);
      for (ThrowingCallable call :
          verbs(Limiter.of(limits, BucketStore.inMemory()), limit, "k").values()) {
        call.call();
      }
    }
    assertThat(limits.unmet(limits.get())).isEmpty();
  }

  @Test
  void missingDefault_allowed_isOpenAndCounted() throws Throwable {
    Limiter open = Limiter.builder(limits, store).missingDefault(MissingDefault.ALLOW).build();
    assertThat(open.missingDefault()).isEqualTo(MissingDefault.ALLOW);
    assertThat(warnings(() -> allVerbs(open))).isEmpty();
    assertThat(open.spend(MISSING, "k").limited()).isFalse();
    assertThat(limits.unmet(limits.get()))
        .extracting(Requirement::limit)
        .containsExactly(MISSING, OVERRIDDEN);
  }

  @Test
  void missingDefault_warned_isOpenAndLoggedOnceForALimit() throws Throwable {
    Limiter open = Limiter.builder(limits, store).missingDefault(MissingDefault.WARN).build();
    assertThat(warnings(() -> allVerbs(open)))
        .containsExactly(
            "Missing has no default, but a request requires one; write burst, count and period, or"
                + " \"Missing: {unlimited: true}\"",
            "Overridden has no default, but a request requires one; write burst, count and period,"
                + " or \"Overridden: {unlimited: true}\"");
  }

  private static void allVerbs(Limiter limiter) throws Throwable {
    for (String limit : List.of(MISSING, OVERRIDDEN)) {
      for (ThrowingCallable call : verbs(limiter, limit, "k").values()) {
        limiter.reset(GOOD, "x");
        call.call();
      }
    }
  }

  private static List<String> warnings(ThrowingCallable call) throws Throwable {
    List<String> lines = new ArrayList<>();
    Logger log = Logger.getLogger(CurrentLimits.class.getName());
    log.setFilter(line -> !lines.add(line.getMessage()));
    try {
      call.call();
    } finally {
      log.setFilter(null);
    }
    return lines;
  }

  @Test
  void quotaOfTheCaller_needsNoDefault() {
    Limiter without = Limiter.of(store);
    assertThat(without.limit(SUPPLIED, QUOTA).trySpend("k")).isTrue();
    assertThat(without.spend(Transaction.of(SUPPLIED, QUOTA, "k")).remaining()).isEqualTo(3);
    try (Lease lease = without.lease(SUPPLIED, QUOTA, "k", 2)) {
      assertThat(lease.trySpend()).isTrue();
    }
    LimitName missing = NAMES.get(MISSING);
    assertThat(limiter.limit(missing, QUOTA).trySpend("k")).isTrue();
  }
}
