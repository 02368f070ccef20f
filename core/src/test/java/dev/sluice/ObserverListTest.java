// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.LimitName;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each of several observers is told all, in their order. */
final class ObserverListTest {

  private final List<String> heard = new ArrayList<>();

  private LimiterObserver observer(String name) {
    return ToldObserver.of(told -> heard.add(name + " " + told));
  }

  @Test
  void all_ofOne_isThatOne() {
    LimiterObserver one = observer("a");
    assertThat(LimiterObserver.all(List.of(one))).isSameAs(one);
  }

  @Test
  void all_ofNone_isToldInVain() {
    LimiterObserver nobody = LimiterObserver.all(List.of());
    nobody.waits(LimitName.builder(1, "Calls").build());
    assertThat(heard).isEmpty();
  }

  @Test
  void all_ofTwo_areEachToldEverything() {
    LimiterObserver both = LimiterObserver.all(List.of(observer("a"), observer("b")));

    ToldObserver.everything().forEach(told -> told.accept(both));

    assertThat(heard)
        .containsExactly(
            "a decided 1",
            "b decided 1",
            "a spent 2",
            "b spent 2",
            "a stored 3",
            "b stored 3",
            "a settledEarly 4",
            "b settledEarly 4",
            "a settlementLost",
            "b settlementLost",
            "a settled 7",
            "b settled 7",
            "a waits Calls",
            "b waits Calls",
            "a waited 5",
            "b waited 5",
            "a quotaFailed java.lang.IllegalStateException: 6",
            "b quotaFailed java.lang.IllegalStateException: 6");
  }
}
