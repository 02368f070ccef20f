// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A null argument is refused at once, by its name; a null quota never means "no limit". */
class NullArgumentsTest {

  private static final LimitName NAME = LimitName.builder(1001, "A").build();
  private static final Quota QUOTA = Quota.per(1, Duration.ofMinutes(1));
  private static final Catalogue CATALOGUE = Catalogue.of(NAME);

  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
  private static <T> T none() {
    return null;
  }

  private static Arguments refuses(String argument, ThrowingCallable act) {
    return Arguments.of(argument, act);
  }

  private static Stream<Arguments> acts() {
    Limits limits = Limits.builder(CATALOGUE).limit("A", QUOTA).build();
    BucketStore store = BucketStore.inMemory();
    Limiter limiter = Limiter.of(limits, store);
    Limiter.Builder builder = Limiter.builder(new CurrentLimits(limits), BucketStore.inMemory());
    Limit limit = Limit.of(QUOTA);
    List<Transaction> holed = Arrays.asList(limiter.transaction("A", "k"), none());
    return Stream.of(
        refuses("limit", () -> limiter.limit(NullArgumentsTest.<String>none())),
        refuses("limit", () -> limiter.spend(none(), "k")),
        refuses("limit", () -> limiter.check(none(), "k")),
        refuses("limit", () -> limiter.refund(none(), "k")),
        refuses("limit", () -> limiter.reserve(none(), "k")),
        refuses("limit", () -> limiter.async().spend(none(), "k")),
        refuses("id", () -> limiter.spend("A", none())),
        refuses("id", () -> limiter.refund("A", none())),
        refuses("id", () -> limiter.reset("A", none())),
        refuses("id", () -> limiter.reserve("A", none())),
        refuses("id", () -> limiter.async().spend("A", none())),
        refuses("id", () -> limit.trySpend(NullArgumentsTest.<String>none())),
        refuses("id", () -> limit.spend(none())),
        refuses("transactions", () -> limiter.spend(NullArgumentsTest.<List<Transaction>>none())),
        refuses("transaction", () -> limiter.spend(NullArgumentsTest.<Transaction>none())),
        refuses("transaction", () -> limiter.spend(holed)),
        refuses("transaction", () -> limiter.async().spend(NullArgumentsTest.<Transaction>none())),
        refuses("utf8Id", () -> limit.trySpendUtf8(none())),
        refuses("limits", () -> Limiter.of(NullArgumentsTest.<Limits>none(), store)),
        refuses("limits", () -> Limiter.builder(NullArgumentsTest.<Limits>none(), store)),
        refuses("limits", () -> Limiter.builder(NullArgumentsTest.<CurrentLimits>none(), store)),
        refuses("store", () -> Limiter.of(none())),
        refuses("store", () -> Limiter.builder(limits, none())),
        refuses("time", () -> Limit.of(QUOTA, NullArgumentsTest.<TimeSource>none())),
        refuses("override", () -> Limits.builder(CATALOGUE).override(none())),
        refuses("id", () -> Limits.builder(CATALOGUE).override("A", none(), QUOTA)),
        refuses(
            "quota",
            () -> Limits.builder(CATALOGUE).override("A", "k", NullArgumentsTest.<Quota>none())),
        refuses("name", () -> LimitName.builder(none())),
        refuses("format", () -> LimitName.builder("A").id(none())),
        refuses("format", () -> LimitName.builder("A").overrideId(none())),
        refuses("template", () -> LimitName.builder("A").message(none())),
        refuses("link", () -> LimitName.builder("A").helpLink(none())),
        refuses("longest", () -> LimitName.builder("A").longestWait(none())),
        refuses("name", () -> Catalogue.of(none(), NAME)),
        refuses("period", () -> Quota.burst(5).refill(5, none())),
        refuses("ids", () -> limit.trySpendEach(NullArgumentsTest.<List<String>>none())),
        refuses("maxWait", () -> limit.acquire("k", none())),
        refuses("transaction", () -> limiter.refund(NullArgumentsTest.<Transaction>none())),
        refuses("limit", () -> limiter.spendUpTo(none(), "k", 1)),
        refuses("transaction", () -> limiter.spendUpTo(none(), 1)),
        refuses("id", () -> limit.spendUpTo(none(), 1)),
        refuses("quota", () -> Limit.of(NullArgumentsTest.<Quota>none())),
        refuses("quota", () -> limiter.limit(NAME, NullArgumentsTest.<Quota>none())),
        refuses("name", () -> limiter.limit(none(), QUOTA)),
        refuses("quota", () -> Transaction.of(NAME, NullArgumentsTest.<Quota>none(), "k")),
        refuses("name", () -> Transaction.of(NullArgumentsTest.<LimitName>none(), QUOTA, "k")),
        refuses("id", () -> Transaction.of(NAME, QUOTA, none())),
        refuses(
            "quota", () -> Limits.builder(CATALOGUE).limit("A", NullArgumentsTest.<Quota>none())),
        refuses("limit", () -> Limits.builder(CATALOGUE).limit(none(), QUOTA)),
        refuses("catalogue", () -> Limits.builder(none())),
        refuses("limits", () -> new CurrentLimits(none())),
        refuses("replacement", () -> new CurrentLimits(limits).replace(none())),
        refuses("costs", () -> Reservation.Costs.of(NullArgumentsTest.<Map<String, Long>>none())),
        refuses("name", () -> LimitName.builder(1, none())),
        refuses("period", () -> Quota.per(5, none())),
        refuses("rule", () -> builder.onFailure(none())),
        refuses("rule", () -> builder.onFailure("A", none())),
        refuses("observer", () -> builder.observer(none())),
        refuses("policy", () -> builder.missingDefault(none())),
        refuses("limit", () -> new Requirement(none(), "the app", MissingDefault.REFUSE)),
        refuses("by", () -> new Requirement("A", none(), MissingDefault.REFUSE)),
        refuses("onMissing", () -> new Requirement("A", "the app", none())),
        refuses("canonicalId", () -> NAME.bucketKey(none())),
        refuses("name", () -> new Penalty(none(), "k", Instant.EPOCH, 0, "")),
        refuses("id", () -> new Penalty(NAME, none(), Instant.EPOCH, 0, "")),
        refuses("until", () -> new Penalty(NAME, "k", none(), 0, "")),
        refuses("comment", () -> new Penalty(NAME, "k", Instant.EPOCH, 0, none())),
        refuses("author", () -> new Penalty(NAME, "k", Instant.EPOCH, 0, "", none())),
        refuses("time", () -> BucketStore.inMemory(none())));
  }

  @ParameterizedTest
  @MethodSource("acts")
  void nullArgument_isRefusedByItsName(String argument, ThrowingCallable act) {
    assertThatNullPointerException().isThrownBy(act).withMessageContaining(argument);
  }
}
