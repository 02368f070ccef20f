// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Random settlements on one bucket, against a model that has no overflow and no cleverness. */
final class SettleModelTest {

  private static final LimitName NAME =
      LimitName.builder(1, "Tokens").id(IdFormat.string()).build();
  private static final int SEEDS = 400;
  private static final int STEPS = 200;

  /** One bucket: its TAT, and the ends of the stretches of open reservations, by age. */
  private static final class Model {
    private BigInteger tat = BigInteger.ZERO;
    private final List<Open> open = new ArrayList<>();

    private static final class Open {
      private final long tokens;
      private final Quota quota;
      private BigInteger end;
      private final Reservation reservation;

      Open(long tokens, Quota quota, BigInteger end, Reservation reservation) {
        this.tokens = tokens;
        this.quota = quota;
        this.end = end;
        this.reservation = reservation;
      }
    }

    BigInteger ahead(long now) {
      return tat.subtract(BigInteger.valueOf(now)).max(BigInteger.ZERO);
    }

    void push(long now, BigInteger increment) {
      tat = BigInteger.valueOf(now).add(ahead(now)).add(increment);
    }

    /** Gives tokens of an open reservation back, and returns the time that was given back. */
    BigInteger giveBack(long now, Open one, long tokens, Quota quota) {
      BigInteger worth =
          BigInteger.valueOf(Math.min(one.quota.intervalNanos(), quota.intervalNanos()))
              .multiply(BigInteger.valueOf(tokens))
              .min(BigInteger.valueOf(quota.offsetNanos()))
              .min(one.end.subtract(BigInteger.valueOf(now)).max(BigInteger.ZERO));
      BigInteger before = ahead(now);
      tat = BigInteger.valueOf(now).add(before.subtract(worth).max(BigInteger.ZERO));
      for (Open other : open.subList(open.indexOf(one) + 1, open.size())) {
        other.end = other.end.subtract(worth);
      }
      return before.subtract(ahead(now));
    }
  }

  private static Limits limits(Quota quota, int debt) {
    return Limits.builder(Catalogue.of(NAME)).limit("Tokens", quota).debt("Tokens", debt).build();
  }

  @Test
  void randomSettlements_areThoseOfTheModel() {
    for (int seed = 0; seed < SEEDS; seed++) {
      run(new Random(seed), "seed " + seed);
    }
  }

  private static void run(Random dice, String seed) {
    int debt = dice.nextInt(3);
    HandClock clock = new HandClock(1_000_000_000L + dice.nextInt(1_000));
    // The quotas have one burst offset, so that no bucket has a debt that would be forgiven.
    Duration period = Duration.ofNanos(6L * (1 + dice.nextInt(150_000_000)));
    int burst = 1 + dice.nextInt(40);
    List<Quota> quotas =
        List.of(
            Quota.burst(burst).refill(1, period),
            Quota.burst(2L * burst).refill(2, period),
            Quota.burst(3L * burst).refill(3, period));
    boolean changes = dice.nextInt(3) == 0;
    Quota quota = quotas.get(dice.nextInt(quotas.size()));
    CurrentLimits limits = new CurrentLimits(limits(quota, debt));
    Limiter limiter = Limiter.builder(limits, BucketStore.inMemory(clock)).time(clock).build();
    Model model = new Model();
    for (int step = 0; step < STEPS; step++) {
      long now = clock.nanos;
      String at = seed + ", step " + step;
      switch (dice.nextInt(changes ? 8 : 7)) {
        case 0, 1 -> {
          long cost = dice.nextInt((int) quota.burst() + 1);
          Reservation reservation = limiter.reserve("Tokens", "a", cost);
          if (reservation.allowed() && cost > 0) {
            model.push(now, BigInteger.valueOf(quota.incrementNanos(cost)));
          }
          if (reservation.allowed()) {
            model.open.add(new Model.Open(cost, quota, model.tat, reservation));
          }
        }
        case 2 -> {
          if (limiter.spend("Tokens", "a").allowed()) {
            model.push(now, BigInteger.valueOf(quota.intervalNanos()));
          }
        }
        case 3 -> clock.nanos += dice.nextInt((int) Math.min(quota.offsetNanos(), 1_000_000_000));
        case 4, 5 -> {
          if (model.open.isEmpty()) {
            continue;
          }
          Model.Open one = model.open.get(dice.nextInt(model.open.size()));
          long cost = dice.nextInt(3 * (int) quota.burst());
          Settlement.Part part =
              one.reservation.settle(Costs.of("Tokens", cost).allowZero()).parts().get(0);
          long more = 0;
          long givenBack = 0;
          if (cost > one.tokens) {
            BigInteger free =
                BigInteger.valueOf(quota.offsetNanos())
                    .multiply(BigInteger.valueOf(1 + debt))
                    .subtract(model.ahead(now))
                    .max(BigInteger.ZERO);
            BigInteger interval = BigInteger.valueOf(one.quota.intervalNanos());
            more = Math.min(cost - one.tokens, free.divide(interval).longValueExact());
            model.push(now, interval.multiply(BigInteger.valueOf(more)));
          } else if (cost < one.tokens) {
            givenBack =
                model
                    .giveBack(now, one, one.tokens - cost, quota)
                    .divide(
                        BigInteger.valueOf(
                            Math.min(one.quota.intervalNanos(), quota.intervalNanos())))
                    .longValueExact();
          }
          model.open.remove(one);
          BigInteger[] owed =
              model
                  .ahead(now)
                  .subtract(BigInteger.valueOf(quota.offsetNanos()))
                  .max(BigInteger.ZERO)
                  .divideAndRemainder(BigInteger.valueOf(quota.intervalNanos()));
          assertThat(List.of(part.charged(), part.givenBack(), part.owed(), part.cut()))
              .as(at)
              .containsExactly(
                  one.tokens + more - givenBack,
                  givenBack,
                  owed[0].longValueExact() + owed[1].signum(),
                  Math.max(cost - one.tokens - more, 0));
        }
        case 6 -> {
          if (!model.open.isEmpty()) {
            Model.Open one = model.open.get(dice.nextInt(model.open.size()));
            one.reservation.cancel();
            var unused = model.giveBack(now, one, one.tokens, quota);
            model.open.remove(one);
          }
        }
        default -> {
          quota = quotas.get(dice.nextInt(quotas.size()));
          limits.replace(limits(quota, debt));
        }
      }
      Decision state = limiter.check("Tokens", "a", 0);
      long aheadNanos = model.ahead(clock.nanos).longValueExact();
      assertThat(state.resetIn()).as(at).isEqualTo(Duration.ofNanos(aheadNanos));
    }
  }
}
