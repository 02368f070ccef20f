// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.LimiterObserver.Ending;
import dev.sluice.LimiterObserver.Spent;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each of several observers is told all, in their order. */
final class ObserverListTest {

  private static final LimitName CALLS = LimitName.builder(1, "Calls").build();

  private final List<String> heard = new ArrayList<>();

  private LimiterObserver observer(String name) {
    return (LimiterObserver)
        Proxy.newProxyInstance(
            LimiterObserver.class.getClassLoader(),
            new Class<?>[] {LimiterObserver.class},
            (proxy, method, arguments) -> {
              heard.add(name + " " + method.getName() + " " + arguments[arguments.length - 1]);
              return null;
            });
  }

  private static final Spent NOTHING =
      new Spent() {
        @Override
        public int count() {
          return 0;
        }

        @Override
        public boolean allowed(int index) {
          throw new IndexOutOfBoundsException(index);
        }

        @Override
        public Decision decision(int index) {
          throw new IndexOutOfBoundsException(index);
        }
      };

  @Test
  void all_ofOne_isThatOne() {
    LimiterObserver one = observer("a");
    assertThat(LimiterObserver.all(List.of(one))).isSameAs(one);
  }

  @Test
  void all_ofNone_isToldInVain() {
    LimiterObserver nobody = LimiterObserver.all(List.of());
    nobody.waits(CALLS);
    assertThat(heard).isEmpty();
  }

  @Test
  void all_ofTwo_areEachToldEverything() {
    LimiterObserver both = LimiterObserver.all(List.of(observer("a"), observer("b")));
    Limiter limiter = Limiter.of(BucketStore.inMemory(() -> 0));
    Decision decision =
        limiter.spend(Transaction.of(CALLS, Quota.per(1, Duration.ofSeconds(1)), "x"));

    both.decided(Act.SPEND, decision, 1);
    both.spent(CALLS, NOTHING, 2);
    both.stored(Act.SPEND, 7, null, 3);
    both.settledEarly(4);
    both.waits(CALLS);
    both.waited(CALLS, Ending.PASSED, 5);

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
            "a waits Calls",
            "b waits Calls",
            "a waited 5",
            "b waited 5");
  }
}
