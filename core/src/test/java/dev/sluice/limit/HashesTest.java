// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Hash codes tell values apart, as far as a map needs it. Any number would be legal. */
final class HashesTest {

  private static final int VALUES = 120;
  private static final Duration SECOND = Duration.ofSeconds(1);

  private static void requireSpread(IntFunction<Object> value) {
    long hashes =
        IntStream.rangeClosed(1, VALUES).map(i -> value.apply(i).hashCode()).distinct().count();
    assertThat(hashes).as("hash codes of %s values", VALUES).isGreaterThan(VALUES * 3 / 4);
  }

  private static LimitName name(int i) {
    return LimitName.builder(i, "Name" + i).build();
  }

  @Test
  void quotasAndLimits_areSpread() {
    requireSpread(i -> Quota.burst(i).refill(1, SECOND));
    requireSpread(i -> Quota.burst(7).refill(i, SECOND));
    Catalogue one = Catalogue.of(name(1));
    requireSpread(
        i -> Limits.builder(one).limit("Name1", Quota.burst(i).refill(1, SECOND)).build());
  }

  @Test
  void namesAndCatalogues_areSpread() {
    requireSpread(HashesTest::name);
    requireSpread(i -> LimitName.builder(i, "Same").build());
    requireSpread(i -> LimitName.builder(7, "Name" + i).build());
    requireSpread(i -> Catalogue.of(name(i)));
  }

  @Test
  void addressesAndFormats_areSpread() {
    requireSpread(i -> Objects.requireNonNull(IpAddress.parse("192.0.2." + i)));
    requireSpread(i -> Objects.requireNonNull(IpAddress.parse("2001:db8::" + i)));
    requireSpread(IdFormat::ipv6Range);
    requireSpread(i -> IdFormat.joined(IdFormat.string(), IdFormat.ipv6Range(i)));
  }
}
