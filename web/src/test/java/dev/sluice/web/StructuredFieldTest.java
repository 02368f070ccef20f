// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.greenbytes.http.sfv.IntegerItem;
import org.greenbytes.http.sfv.ListElement;
import org.greenbytes.http.sfv.OuterList;
import org.greenbytes.http.sfv.Parser;
import org.greenbytes.http.sfv.StringItem;
import org.junit.jupiter.api.Test;

/** The RateLimit fields, read by a structured-field parser that is not ours. */
class StructuredFieldTest {

  private static final long SEED = 20261120;

  @Test
  void fields_ofRandomDecisions_areListsOfStringsWithIntegerParameters() {
    Random random = new Random(SEED);
    for (int round = 0; round < 300; round++) {
      Bucket bucket = new Bucket(quota(random), quota(random), random.nextDouble());
      for (int i = 0; i < 10; i++) {
        bucket.nowNanos.addAndGet(random.nextLong(2_000_000_000));
        Decision decision = bucket.spendBoth(1);
        Map<String, String> headers = HeaderProfile.IETF.headers(decision);

        List<Item> policies = parse(headers.get("RateLimit-Policy"));
        List<Item> states = parse(headers.get("RateLimit"));

        assertThat(policies).as("seed %d, round %d", SEED, round).hasSize(2);
        assertThat(policies).allSatisfy(StructuredFieldTest::isPolicy);
        assertThat(states).extracting(Item::name).containsExactly("per-ip", "daily");
        for (int n = 0; n < 2; n++) {
          isState(states.get(n), decision.parts().get(n), headers.get("Retry-After"));
        }
      }
    }
  }

  private static void isPolicy(Item policy) {
    assertThat(policy.parameters().keySet()).isEqualTo(Set.of("q", "w"));
    assertThat(policy.parameters().get("q")).isPositive();
    assertThat(policy.parameters().get("w")).isPositive();
  }

  private static void isState(Item state, Decision part, String retryAfter) {
    assertThat(state.parameters().get("r")).isBetween(0L, 999_999_999_999_999L);
    if (part.allowed()) {
      assertThat(state.parameters()).containsOnlyKeys("r");
    } else {
      assertThat(state.parameters()).containsOnlyKeys("r", "t");
      // The draft: Retry-After should not be earlier than the end of the effective window.
      assertThat(state.parameters().get("t")).isBetween(1L, Long.parseLong(retryAfter));
    }
  }

  private static Quota quota(Random random) {
    long burst = random.nextInt(3) == 0 ? random.nextLong(1, 1L << 40) : random.nextLong(1, 6);
    long periodNanos =
        random.nextInt(3) == 0
            ? random.nextLong(1, Duration.ofSeconds(2).toNanos())
            : random.nextLong(1, Duration.ofDays(2).toNanos());
    long intervalNanos = Math.min(periodNanos, Long.MAX_VALUE / burst);
    return Quota.burst(burst).refill(1, Duration.ofNanos(intervalNanos));
  }

  private static List<Item> parse(String field) {
    List<Item> items = new ArrayList<>();
    OuterList list = Parser.parseList(field);
    for (ListElement<? extends Object> element : list.get()) {
      Map<String, Long> parameters = new HashMap<>();
      element
          .getParams()
          .forEach((key, value) -> parameters.put(key, ((IntegerItem) value).getAsLong()));
      items.add(new Item(((StringItem) element).get(), parameters));
    }
    return items;
  }

  private record Item(String name, Map<String, Long> parameters) {}
}
