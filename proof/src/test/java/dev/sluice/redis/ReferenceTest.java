// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.redis.Reference.Asked;
import dev.sluice.redis.Reference.Granted;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.MemoryStore;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Small histories that the reference must tell apart: what the docs allow, and nothing else. */
final class ReferenceTest {

  private static final long MILLI = 1_000_000;
  private static final long TOKEN = 40 * MILLI; // of W, whose burst is 3
  private static final long MOST_NANOS = 10 * MILLI; // an answer is on its way

  private final World world = new World(false);
  private final Conditions conditions =
      new Conditions(
          false, false, false, false, false, false, false, 0, 0, 0, 2, 500_000_000, false, false);
  private final Reference reference = new Reference(world, conditions, MOST_NANOS);
  private final SimulatedClock clock = new SimulatedClock(world, Fleet.START_NANOS, 0);
  private final SimulatedServer server =
      new SimulatedServer("s0", world, clock, reference, new Dice(1));
  private final Transaction one =
      Limiter.of(SimulatedLimits.of(0), MemoryStore.builder().build()).transaction("W", "s0");
  private final String key = one.bucketKey();
  private long tatNanos = Gcra.NO_TAT;

  private void advance(long nanos) {
    world.runUntil(() -> false, world.now() + nanos);
  }

  private void decided(int process, Op op, long cost, boolean isAbandoned) {
    long now = clock.nanos();
    long nanos = op == Op.RESET ? 0 : cost * TOKEN;
    Charge charge = new Charge(key, op, nanos, op == Op.RESET ? 0 : 30 * TOKEN, Effect.NO_END);
    long before = tatNanos;
    tatNanos = charge.tatAfterNanos(now, before, charge.passes(now, before));
    reference.decided(new Asked(server, process, isAbandoned, true), charge, now, before, tatNanos);
  }

  private void spend(int process, long cost) {
    decided(process, Op.SPEND, cost, false);
  }

  private Granted told(int process, long cost) {
    Granted granted =
        reference.granted("a caller", process, key, cost * TOKEN, clock.nanos(), tatNanos);
    assertThat(granted).isNotNull();
    return granted;
  }

  // A caller that passes early

  /** A caller of p0 waits; p1 resets the bucket and spends; another caller of p0 waits behind. */
  private Granted waitsBehindWhatIsGone() {
    spend(0, 3);
    decided(1, Op.RESET, 0, false);
    spend(1, 3);
    var unused = told(1, 3);
    spend(0, 1);
    return told(0, 1);
  }

  /** It passes at once, as if the place before it were free: a token too early. */
  private void passes(Granted granted) {
    reference.passed("the caller behind", Map.of(one, granted), true);
  }

  @Test
  void caller_behindWhatIsGone_passesTooEarly() {
    passes(waitsBehindWhatIsGone());
    assertThat(world.violation()).contains("before its tokens were refilled");
  }

  // A refund that its process does not know of

  private boolean wasLoosenedUnknownTo(int process) {
    return reference.wasLoosened(key, process, world.now() - Conditions.DENIALS_NANOS);
  }

  @Test
  void ownRefund_isKnown() {
    spend(0, 3);
    decided(0, Op.REFUND, 1, false);
    assertThat(wasLoosenedUnknownTo(0)).isFalse();
    assertThat(wasLoosenedUnknownTo(1)).isTrue();
  }

  @Test
  void ownRefund_nobodyWaitsForItsAnswer_isUnknownForDenials() {
    spend(0, 3);
    decided(0, Op.REFUND, 1, true);
    assertThat(wasLoosenedUnknownTo(0)).isTrue();
    advance(Conditions.DENIALS_NANOS + 1);
    assertThat(wasLoosenedUnknownTo(0)).isFalse();
  }

  @Test
  void ownRefund_longAfterOneThatFailed_isKnown() {
    spend(0, 3);
    reference.lostSight(0, key);
    decided(0, Op.REFUND, 1, false);
    assertThat(wasLoosenedUnknownTo(0)).as("it may be the one that failed").isTrue();
    advance(Conditions.DENIALS_NANOS + 1);
    decided(0, Op.REFUND, 1, false);
    assertThat(wasLoosenedUnknownTo(0)).isFalse();
  }
}
