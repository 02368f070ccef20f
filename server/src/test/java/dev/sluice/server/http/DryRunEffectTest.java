// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.Caller;
import dev.sluice.server.http.ReloadResource.DryRunEffect;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The ids that new limits would deny. */
final class DryRunEffectTest {

  private static final String LIMIT = "CallsPerId";

  private static Limits limits(String idFormat, long burst) {
    IdFormat id = IdFormat.Registry.builtIn().parse(idFormat);
    return Limits.builder(Catalogue.of(LimitName.builder(LIMIT).id(id).build()))
        .limit(LIMIT, Quota.burst(burst).refill(1, Duration.ofHours(1)))
        .build();
  }

  /** A store whose calls take time. */
  private record SlowStore(BucketStore memory, ManualTime time, Duration each, List<String> keys)
      implements BucketStore {

    @Override
    public List<Reading> charge(List<Charge> charges) {
      time.advance(each);
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      time.advance(each);
      return memory.chargeAsync(charges);
    }

    @Override
    public Optional<List<String>> someKeys(int most, Duration longest) {
      time.advance(longest.plus(each));
      return Optional.of(keys);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "80, 'of [1-9][0-9]* buckets read from the store, [1-9][0-9]* deny now'",
    "900, 'of 0 buckets read from the store'",
    "2000, 'the store is slow, so no time was left to read its buckets'"
  })
  void dryRunOnASlowStore_endsBeforeTheTimeoutOfItsRequest_withAPartOfEachCount(
      int millisPerCall, String stored) {
    ManualTime time = new ManualTime();
    BucketStore memory = BucketStore.inMemory(time);
    Limits now = limits("string", 1);
    Denials denials = Denials.to(null, true);
    Limiter spends =
        Limiter.builder(new CurrentLimits(now), memory).time(time).observer(denials).build();
    for (int i = 0; i < 10_000; i++) {
      Transaction one = Transaction.of(now, LIMIT, "id" + i);
      assertThat(spends.spend(one).allowed()).isTrue();
      Decision denied = spends.spend(one);
      denials.report(denied, () -> DeniedRequest.at("http"));
    }
    List<String> keys = IntStream.range(0, 100_000).mapToObj(i -> LIMIT + ":id" + i).toList();
    BucketStore slow = new SlowStore(memory, time, Duration.ofMillis(millisPerCall), keys);
    Limiter limiter = Limiter.builder(new CurrentLimits(now), slow).time(time).build();
    DryRunEffect effect =
        new DryRunEffect(limiter, slow, denials, Caller.anybody("127.0.0.1"), time);
    long startNanos = time.nanos();
    String text = effect.of(now, limits("string", 2));

    assertThat(Duration.ofNanos(time.nanos() - startNanos))
        .isLessThan(SluiceServer.REQUEST_TIMEOUT.minusSeconds(1));
    assertThat(text)
        .containsPattern("of [1-9][0-9]* ids denied last, [1-9][0-9]* are denied now, and 0 would")
        .containsPattern("of [1-9][0-9]* ids charged most, [1-9]")
        .containsPattern(stored);
  }

  @Test
  void overrideSetAtRunTime_whoseIdDoesNotFitTheNewFormat_isLeftOut() {
    BucketStore memory = BucketStore.inMemory();
    Limits deployed = limits("string", 1);
    LimitOverride set =
        new LimitOverride(
            deployed.catalogue().get(LIMIT), "bob", Quota.per(9, Duration.ofHours(1)), "");
    Limiter limiter = Limiter.of(deployed.withOverrides(List.of(set)), memory);
    DryRunEffect effect =
        new DryRunEffect(
            limiter, memory, Denials.to(null, true), Caller.anybody("127.0.0.1"), new ManualTime());
    assertThat(effect.of(deployed, limits("ipAddress", 1))).startsWith("of 0 ids denied last");
  }

  @Test
  void idsThatBecomeOneId_areBothCounted() {
    ManualTime time = new ManualTime();
    BucketStore memory = BucketStore.inMemory(time);
    Limits now = limits("string", 1);
    Denials denials = Denials.to(null, true);
    Limiter limiter = Limiter.builder(new CurrentLimits(now), memory).time(time).build();
    for (String id : List.of("2001:db8::1", "2001:DB8::1")) {
      assertThat(limiter.spend(LIMIT, id).allowed()).isTrue();
      denials.report(limiter.spend(LIMIT, id), () -> DeniedRequest.at("http"));
    }
    DryRunEffect effect =
        new DryRunEffect(limiter, memory, denials, Caller.anybody("127.0.0.1"), time);
    assertThat(effect.of(now, limits("ipAddress", 1)))
        .startsWith("of 2 ids denied last, 2 are denied now, and 2 would be; ");
  }
}
