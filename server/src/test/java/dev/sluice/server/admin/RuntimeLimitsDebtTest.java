// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the debt of a penalty leaves in its bucket. */
class RuntimeLimitsDebtTest {

  private static final LimitName CALLS = Catalogue.samples().get("ApiCallsPerKey");
  private static final Quota QUOTA = Quota.burst(10).refill(1, Duration.ofMinutes(1));
  private static final long EMPTY_NANOS = QUOTA.offsetNanos();
  private static final long TOKEN_NANOS = QUOTA.intervalNanos();
  private static final Note NO_NOTE = new Note("", "");
  private static final int MOST_CALLS = 6;

  /** After the time of this machine, so that no penalty has ended by it. */
  private final ManualTime time = new ManualTime(4_000_000_000_000_000_000L);

  private final BucketStore real = BucketStore.inMemory(time);
  private final HookedStore store = new HookedStore();
  private final CurrentLimits base =
      new CurrentLimits(Limits.builder(Catalogue.samples()).limit(CALLS.name(), QUOTA).build());

  @Test
  void debtThatIsCorrected_leavesOnlyTheNewDebt() {
    try (RuntimeLimits runtime = RuntimeLimits.inMemory(base, store)) {
      owe(1000, runtime);
      Penalty less = runtime.owe(CALLS, "k", 10, NO_NOTE);
      assertThat(aheadNanos()).isEqualTo(EMPTY_NANOS + 10 * TOKEN_NANOS);
      time.set(less.untilNanos());
      assertThat(aheadNanos()).isEqualTo(EMPTY_NANOS);

      owe(10, runtime);
      owe(20, runtime);
      assertThat(aheadNanos()).isEqualTo(EMPTY_NANOS + 20 * TOKEN_NANOS);
      assertThat(runtime.banFor(CALLS, "k", Duration.ofHours(1), NO_NOTE).owed()).isZero();
      assertThat(aheadNanos()).isEqualTo(EMPTY_NANOS);
      assertThat(runtime.acquit(CALLS, "k")).isNotNull();
      assertThat(aheadNanos()).isEqualTo(EMPTY_NANOS);
    }
  }

  @Test
  void debtThatCouldNotBeCharged_canBeSetAgain_andItsRemovalGivesNoTokens() {
    for (boolean arrives : List.of(true, false)) {
      for (int nth = 1; nth <= MOST_CALLS; nth++) {
        try (RuntimeLimits runtime = RuntimeLimits.inMemory(base, store)) {
          String when = "call %s, which arrives: %s".formatted(nth, arrives);
          spend(7);
          store.fails(nth, arrives);
          boolean failed = fails(() -> owe(30, runtime));
          store.works();
          assertThat(runtime.acquit(CALLS, "k") != null).as(when).isEqualTo(!failed || nth > 1);
          assertThat(aheadNanos()).as(when).isIn(7 * TOKEN_NANOS, EMPTY_NANOS);

          store.fails(nth, arrives);
          if (fails(() -> owe(30, runtime))) {
            owe(30, runtime);
          }
          assertThat(aheadNanos()).as(when).isEqualTo(EMPTY_NANOS + 30 * TOKEN_NANOS);
          store.works();
          reset();
        }
      }
    }
  }

  @Test
  void debtThatCouldNotBeGivenBack_staysAPenalty_untilItIs() {
    for (boolean arrives : List.of(true, false)) {
      for (int nth = 1; nth <= MOST_CALLS; nth++) {
        try (RuntimeLimits runtime = RuntimeLimits.inMemory(base, store)) {
          String when = "call %s, which arrives: %s".formatted(nth, arrives);
          owe(30, runtime);
          store.fails(nth, arrives);
          if (fails(() -> acquit(runtime))) {
            assertThat(runtime.acquit(CALLS, "k")).as(when).isNotNull();
          }
          assertThat(aheadNanos()).as(when).isEqualTo(EMPTY_NANOS);
          assertThat(runtime.limits().get().penaltyFor(CALLS, "k")).isNull();
          store.works();
          reset();
        }
      }
    }
  }

  /** A client that got no answer from one server asks the next. */
  @Test
  void twoServers_thatRemoveADebtAtOnce_giveItBackOnce(@TempDir Path folder) {
    Path file = folder.resolve("kept.yml");
    for (int nth = 1; nth <= MOST_CALLS; nth++) {
      try (RuntimeLimits a = RuntimeLimits.inFile(file, base, store);
          RuntimeLimits b = RuntimeLimits.inFile(file, base, real)) {
        owe(30, a);
        store.runs(nth, () -> acquit(b));
        acquit(a);
        assertThat(aheadNanos()).as("before call %s", nth).isEqualTo(EMPTY_NANOS);

        store.runs(nth, () -> owe(30, b));
        owe(30, a);
        assertThat(aheadNanos())
            .as("before call %s", nth)
            .isEqualTo(EMPTY_NANOS + 30 * TOKEN_NANOS);
        store.works();
        acquit(a);
        reset();
      }
    }
  }

  private static void owe(long tokens, RuntimeLimits on) {
    assertThat(on.owe(CALLS, "k", tokens, NO_NOTE).owed()).isEqualTo(tokens);
  }

  private static void acquit(RuntimeLimits on) {
    var unused = on.acquit(CALLS, "k");
  }

  private long aheadNanos() {
    BucketStore.Reading now = charge(Effect.of(Op.CHECK, 0, 1));
    return Gcra.aheadNanos(now.nowNanos(), now.tatNanos());
  }

  private void spend(int tokens) {
    assertThat(charge(Effect.of(Op.SPEND, tokens * TOKEN_NANOS, EMPTY_NANOS))).isNotNull();
  }

  private void reset() {
    assertThat(charge(Effect.RESET)).isNotNull();
  }

  private BucketStore.Reading charge(Effect effect) {
    return real.charge(List.of(new BucketStore.Charge(CALLS.bucketKey("k"), effect))).get(0);
  }

  private static boolean fails(Runnable change) {
    try {
      change.run();
      return false;
    } catch (StoreException e) {
      return true;
    }
  }

  /** The store, which does something else before or instead of one call. */
  private final class HookedStore implements BucketStore {

    private int left;
    private boolean arrives;
    private Runnable before = () -> {};

    /** Lets the nth call from now fail; its charges may arrive all the same. */
    void fails(int nth, boolean itArrives) {
      runs(
          nth,
          () -> {
            throw new StoreException("no answer");
          });
      arrives = itArrives;
    }

    void runs(int nth, Runnable first) {
      left = nth;
      before = first;
      arrives = false;
    }

    void works() {
      runs(0, () -> {});
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (left-- == 1) {
        if (arrives) {
          var unused = real.charge(charges);
        }
        before.run();
      }
      return real.charge(charges);
    }

    @Override
    public void close() {
      real.close();
    }
  }
}
