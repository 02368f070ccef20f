// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static dev.sluice.server.stats.TopDenied.FORGET_EVERY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.server.stats.TopDenied.Denied;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class TopDeniedTest {

  private final AtomicLong nanos = new AtomicLong(7);
  private final TopDenied denied = new TopDenied(nanos::get);

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  @Test
  void deniedSpends_areCounted_othersAreNot() {
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("ApiCallsPerKey", Quota.per(1, Duration.ofDays(1)))
            .build();
    try (BucketStore store = BucketStore.inMemory()) {
      Limiter limiter = Limiter.builder(new CurrentLimits(limits), store).observer(denied).build();
      for (int i = 0; i < 4; i++) {
        var unused = limiter.spend("ApiCallsPerKey", "often");
      }
      var unusedCheck = limiter.check("ApiCallsPerKey", "often", 1);
      var unusedFirst = limiter.spend("ApiCallsPerKey", "once");
      var unusedSecond = limiter.spend("ApiCallsPerKey", "once");
      Transaction shadow = Transaction.of(limits, "ApiCallsPerKey", "once").inShadow();
      var unusedThird = limiter.spend(shadow);
    }

    assertThat(denied.top())
        .containsOnlyKeys("ApiCallsPerKey")
        .containsEntry(
            "ApiCallsPerKey", List.of(new Denied("often", 3, 3), new Denied("once", 1, 1)));
  }

  @Test
  void denials_areTold_forAWindowAtLeast_andTwoAtMost() {
    denied.count("Logins", "a", 1);
    pass(TopDenied.WINDOW);
    denied.count("Logins", "a", 1);
    denied.count("Logins", "b", 1);
    assertThat(denied.top().get("Logins"))
        .containsExactly(new Denied("a", 2, 2), new Denied("b", 1, 1));

    pass(TopDenied.WINDOW);
    assertThat(denied.top().get("Logins"))
        .containsExactly(new Denied("a", 1, 1), new Denied("b", 1, 1));

    pass(TopDenied.WINDOW);
    assertThat(denied.top()).isEmpty();
  }

  /** Nobody has to ask: ids are often personal data, and docs/web-page.md promises it. */
  @Test
  void idsOfTenMinutesAgo_areForgotten() {
    denied.count("Logins", "a", 1);
    Duration twoWindows = TopDenied.WINDOW.multipliedBy(2);
    for (Duration t = Duration.ZERO; t.compareTo(twoWindows) < 0; t = t.plus(FORGET_EVERY)) {
      denied.forget();
      assertThat(denied.kept()).isEqualTo(t.plus(FORGET_EVERY).equals(twoWindows) ? 0 : 1);
      assertThat(denied.top()).as("and what is kept is shown").hasSize(denied.kept());
      pass(FORGET_EVERY);
    }
    denied.count("Logins", "b", 1);
    assertThat(denied.top().get("Logins")).containsExactly(new Denied("b", 1, 1));
  }

  @Test
  void aPauseOfManyWindows_forgetsAll() {
    denied.count("Logins", "a", 1);
    pass(TopDenied.WINDOW.multipliedBy(5).plusSeconds(3));
    denied.count("Logins", "b", 1);

    assertThat(denied.top().get("Logins")).containsExactly(new Denied("b", 1, 1));
  }

  @Test
  void limitsAndIds_areBounded() {
    IntStream.range(0, TopDenied.MOST_LIMITS + 5)
        .forEach(
            limit -> IntStream.range(0, 500).forEach(id -> denied.count("L" + limit, "" + id, 1)));

    assertThat(denied.top()).hasSize(TopDenied.MOST_LIMITS);
    assertThat(denied.top().values()).allSatisfy(ids -> assertThat(ids).hasSize(TopDenied.SHOWN));
  }

  /** In the other window it may have come without a counter: the upper bound says so. */
  @Test
  void anIdWithoutACounterInOneWindow_hasARange() {
    IntStream.range(0, 2 * TopDenied.COUNTERS).forEach(id -> denied.count("Logins", "" + id, 1));
    pass(TopDenied.WINDOW);
    denied.count("Logins", "new", 1);

    assertThat(denied.top().get("Logins")).contains(new Denied("new", 1, 3));
  }

  @Test
  void costs_areAddedUp() {
    for (int i = 0; i < 3; i++) {
      denied.count("Logins", "often", 1);
    }
    denied.count("Logins", "dear", 10);
    denied.count("Logins", "dear", 5);
    assertThat(denied.top().get("Logins"))
        .containsExactly(new Denied("dear", 15, 15), new Denied("often", 3, 3));
  }
}
