// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The keys of a store, on every arrangement of servers. */
@Tag("slow")
final class SomeKeysTest {

  private static final int KEYS = 1200;

  /** A bucket's key lasts until the bucket is full: here for longer than the test. */
  private static final long HOUR_NANOS = Duration.ofHours(1).toNanos();

  private static BucketStore open(String uri, String prefix) {
    return RedisStore.builder(uri)
        .prefix(prefix)
        .tag(HashTag.ID)
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .open();
  }

  private static void fill(BucketStore store) {
    List<Charge> step = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      step.add(new Charge("3:" + i, Effect.of(Op.SPEND, HOUR_NANOS, Long.MAX_VALUE / 2)));
      if (step.size() == 100) {
        assertThat(store.charge(step)).hasSize(100);
        step.clear();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(TopologyContractTest.Servers.class)
  void keys_ofAllServers_areReturned_butNoneWithAnotherPrefix(
      TopologyContractTest.Servers servers) {
    String prefix = "[k*]" + servers.name().toLowerCase(Locale.ROOT) + ":";
    try (BucketStore store = open(servers.uri(), prefix);
        BucketStore other = open(servers.uri(), "kk" + prefix)) {
      assertThat(store.someKeys(10, Duration.ofMinutes(10)).orElseThrow()).isEmpty();
      fill(store);
      assertThat(other.charge(List.of(new Charge("3:x", Effect.of(Op.SPEND, 1, 9))))).hasSize(1);
      assertThat(store.someKeys(100_000, Duration.ofMinutes(10)).orElseThrow())
          .hasSize(KEYS)
          .contains("3:0", "3:" + (KEYS - 1))
          .doesNotHaveDuplicates();
      assertThat(store.someKeys(700, Duration.ofMinutes(10)).orElseThrow()).hasSize(700);
      assertThat(store.someKeys(700, Duration.ZERO).orElseThrow()).isEmpty();
    }
  }

  @Test
  void memory_cannotListItsKeys() {
    try (BucketStore store = BucketStore.inMemory()) {
      assertThat(store.someKeys(10, Duration.ofMinutes(10))).isEmpty();
    }
  }
}
