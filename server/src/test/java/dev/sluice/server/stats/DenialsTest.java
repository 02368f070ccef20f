// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The ids that are charged most. */
class DenialsTest {

  private static final int SPENDS = 600; // a sample of 1/16 misses all of them once in 10^16 runs

  private static final Limits LIMITS =
      Limits.builder(Catalogue.samples())
          .limit("ApiCallsPerKey", Quota.per(100_000, Duration.ofHours(1)))
          .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofHours(1)))
          .limit("SignUpsPerIPAddress", Quota.per(10, Duration.ofHours(1)))
          .build();

  private static Set<String> charged(Denials denials) {
    Set<String> charged = new TreeSet<>();
    denials.forEachCharged((limit, id) -> charged.add(limit + " " + id));
    return charged;
  }

  @Test
  void idThatIsChargedOften_isKept_oneByOneAndInARun() {
    Denials denials = Denials.to(null, true);
    try (BucketStore store = BucketStore.inMemory(() -> 0)) {
      Limiter limiter = Limiter.builder(LIMITS, store).observer(denials).build();
      for (int i = 0; i < SPENDS; i++) {
        assertThat(limiter.spend("SignUpsPerIPAddress", "192.0.2." + i % 200, 0).allowed())
            .isTrue();
        var unused = limiter.spend("ApiCallsPerKey", "ann" + i % 10);
        unused = limiter.spend("LoginsPerIPAddress", "192.0.2.9", 11 > i ? 1 : 10);
      }
      assertThat(charged(denials)).isSubsetOf(expected()).anyMatch(one -> one.contains(" ann"));
      assertThat(limiter.limit("ApiCallsPerKey").trySpendEach(Collections.nCopies(SPENDS, "bob")))
          .contains(true);
      assertThat(charged(denials)).contains("ApiCallsPerKey bob");
    }
  }

  private static Set<String> expected() {
    Set<String> expected = new TreeSet<>(Set.of("LoginsPerIPAddress 192.0.2.9"));
    for (int i = 0; i < 10; i++) {
      expected.add("ApiCallsPerKey ann" + i);
    }
    return expected;
  }

  @Test
  void costsAreAddedUp_butNotThoseOfTrialsInShadow() {
    Denials denials = Denials.to(null, true);
    try (BucketStore store = BucketStore.inMemory(() -> 0)) {
      Limiter limiter = Limiter.builder(LIMITS, store).observer(denials).build();
      for (int i = 0; i < SPENDS; i++) {
        var unused = limiter.spend("ApiCallsPerKey", "dear", 50);
        unused = limiter.spend("ApiCallsPerKey", "often");
        unused = limiter.spend("ApiCallsPerKey", "often");
        unused =
            limiter.spend(limiter.transaction("ApiCallsPerKey", "trial").withCost(100).inShadow());
      }
      List<String> charged = new ArrayList<>();
      denials.forEachCharged((limit, id) -> charged.add(id));
      assertThat(charged).containsExactly("dear", "often");
    }
  }

  @Test
  void nothingIsKept_withoutTopDenied() {
    Denials denials = Denials.none();
    try (BucketStore store = BucketStore.inMemory()) {
      Limiter limiter = Limiter.builder(LIMITS, store).observer(denials).build();
      for (int i = 0; i < SPENDS; i++) {
        var unused = limiter.spend("ApiCallsPerKey", "ann");
      }
      assertThat(charged(denials)).isEmpty();
    }
  }
}
