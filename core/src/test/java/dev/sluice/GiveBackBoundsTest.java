// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random histories of one bucket: the store applies the calls in any order, answers come in any
 * order, late or never. The judge knows the same history without what was cancelled, and holds the
 * bucket to the second and third promise of {@link OpenReservations}.
 */
class GiveBackBoundsTest {

  private static final long DEEP = 1_000_000;
  private static final int HISTORIES = Integer.getInteger("sluice.histories", 20_000);
  private static final int STEPS = 100;

  /** What moved the TAT, in the order of the store. */
  private static final class Event {
    private final Op op;
    private final long nanos;
    private final long nowNanos;
    private boolean cancelled;

    Event(Op op, long nanos, long nowNanos) {
      this.op = op;
      this.nanos = nanos;
      this.nowNanos = nowNanos;
    }

    long after(long tatNanos) {
      return switch (op) {
        case SPEND -> cancelled ? tatNanos : Math.max(tatNanos, nowNanos) + nanos;
        case REFUND -> Math.min(tatNanos, Math.max(tatNanos - nanos, nowNanos));
        default -> Gcra.NO_TAT;
      };
    }
  }

  /** A call that was sent. */
  private static final class Call {
    private final Charge charge;
    private @Nullable Stretch stretch; // of a reservation
    private @Nullable GiveBack giveBack;
    private @Nullable Reading found;
    private @Nullable Event event;
    private boolean isEnded; // answered or lost
    private long until = Long.MAX_VALUE; // when it can't arrive any more

    Call(Charge charge) {
      this.charge = charge;
    }

    boolean isPlain() {
      return giveBack != null && charge.untilNanos() == Effect.NO_END;
    }
  }

  private final class History {
    private final Random random;
    private final int kinds; // 8 with plain refunds and resets, 6 without
    private final boolean isOverlapping;
    private long nowNanos = 1_000_000;
    private long tatNanos = Gcra.NO_TAT; // in the store
    private final OpenReservations reservations =
        new OpenReservations(() -> nowNanos, OptionalLong::empty, 1_000, most -> {});
    private final List<Event> events = new ArrayList<>();
    private final List<Call> calls = new ArrayList<>();
    private final List<Call> held = new ArrayList<>();
    private final List<Call> underWay = new ArrayList<>(); // give-backs
    private long allowedNanos; // by overlaps that are over
    private long clusterNanos; // by the one that is not
    private long since; // when the first of those under way was sent
    private boolean overlaps;
    private boolean isPlain;
    private long takenNanos;

    History(long seed, boolean isOverlapping, boolean isPlain) {
      this.random = new Random(seed);
      this.isOverlapping = isOverlapping;
      this.kinds = isPlain ? 8 : 6;
    }

    void run() {
      for (int i = 0; i < STEPS; i++) {
        nowNanos += random.nextInt(4) == 0 ? random.nextInt(300) : random.nextInt(40);
        step();
        judge();
      }
    }

    private void step() {
      switch (random.nextInt(kinds)) {
        case 0 -> applied(new Call(charge(Op.SPEND, 1 + random.nextInt(200))));
        case 1 -> {
          Call call = new Call(charge(Op.SPEND, 1 + random.nextInt(200)));
          call.stretch = reservations.open(List.of(call.charge)).get(0);
          calls.add(call);
          if (random.nextInt(8) != 0) { // most are answered before something else happens
            applied(call);
            answered(call);
          }
        }
        case 2 -> cancel();
        case 3, 4 -> {
          if (!calls.isEmpty()) {
            goOn(calls.get(random.nextInt(calls.size())));
          }
        }
        case 5 -> {
          if (!calls.isEmpty() && random.nextInt(16) == 0) {
            lose(calls.get(random.nextInt(calls.size())));
          }
        }
        case 6 -> send(charge(Op.REFUND, 1 + random.nextInt(200)));
        default -> {
          if (random.nextInt(4) == 0) {
            send(new Charge("1:a", Effect.RESET));
          }
        }
      }
    }

    private Charge charge(Op op, long nanos) {
      return new Charge("1:a", op, nanos, DEEP, Effect.NO_END);
    }

    private void send(Charge charge) {
      if (isOverlapping || underWay.isEmpty()) {
        sent(reservations.send(List.of(charge)).get(0));
      }
    }

    private void cancel() {
      if (held.isEmpty() || (!isOverlapping && !underWay.isEmpty())) {
        return;
      }
      Call made = held.remove(random.nextInt(held.size()));
      Stretch stretch = made.stretch;
      Event event = made.event;
      if (stretch == null || event == null) {
        return;
      }
      event.cancelled = true;
      GiveBack giveBack = reservations.giveBack(stretch, made.charge.incrementNanos(), DEEP);
      if (giveBack != null) {
        sent(giveBack);
      }
    }

    private void sent(GiveBack giveBack) {
      Call call = new Call(giveBack.charge());
      call.giveBack = giveBack;
      if (underWay.isEmpty()) {
        allowedNanos += clusterNanos;
        clusterNanos = 0;
        since = nowNanos;
        overlaps = false;
        isPlain = false;
        takenNanos = 0;
      }
      underWay.add(call);
      overlaps |= underWay.size() > 1;
      isPlain |= call.isPlain();
      takenNanos += call.isPlain() ? 0 : call.charge.incrementNanos();
      calls.add(call);
    }

    private void goOn(Call call) {
      if (call.found == null) {
        applied(call);
      } else {
        answered(call);
      }
    }

    private void applied(Call call) {
      Charge charge = call.charge;
      if (nowNanos >= call.until) {
        over(call);
        calls.remove(call);
        return;
      }
      call.found = new Reading(nowNanos, tatNanos);
      tatNanos = charge.tatAfterNanos(nowNanos, tatNanos, true);
      if (charge.op() != Op.REFUND || call.isPlain()) {
        call.event = new Event(charge.op(), charge.incrementNanos(), nowNanos);
        events.add(call.event);
      }
      if (call.giveBack != null) {
        over(call);
      }
      if (call.isEnded) {
        calls.remove(call);
      }
    }

    private void over(Call call) {
      underWay.remove(call);
      clusterNanos = !overlaps ? 0 : nowNanos - since + (isPlain ? takenNanos : 0);
    }

    private void answered(Call call) {
      calls.remove(call);
      Reading found = call.found;
      if (call.giveBack != null) {
        reservations.ended(List.of(call.giveBack), false);
      } else if (call.stretch != null && found != null) {
        long afterNanos = call.charge.tatAfterNanos(found.nowNanos(), found.tatNanos(), true);
        reservations.place(call.stretch, found, afterNanos);
        held.add(call);
      }
    }

    private void lose(Call call) {
      if (call.giveBack != null && !call.isEnded) {
        call.isEnded = true;
        call.until = nowNanos + call.giveBack.lateNanos();
        reservations.ended(List.of(call.giveBack), true);
        if (call.found != null) {
          calls.remove(call);
        }
      }
    }

    private void judge() {
      long withoutNanos = Gcra.NO_TAT;
      for (Event event : events) {
        withoutNanos = event.after(withoutNanos);
      }
      long fullerNanos = Math.max(withoutNanos, nowNanos) - Math.max(tatNanos, nowNanos);
      long mostNanos = allowedNanos + clusterNanos;
      assertThat(fullerNanos)
          .as("fuller than without what was cancelled")
          .isLessThanOrEqualTo(mostNanos);
      worstNanos = Math.max(worstNanos, fullerNanos);
    }
  }

  private long worstNanos;

  private void run(boolean isOverlapping, boolean isPlain) {
    for (int seed = 0; seed < HISTORIES; seed++) {
      try {
        new History(seed, isOverlapping, isPlain).run();
      } catch (AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  @Test
  void giveBacks_oneAtATime_leaveTheBucketNoFullerThanWithoutTheReservations() {
    run(false, true);
    assertThat(worstNanos).isZero();
  }

  @Test
  void giveBacks_thatOverlap_leaveItFullerByAtMostWhatIsRefilledMeanwhile() {
    run(true, false);
    assertThat(worstNanos).as("some are not exact").isPositive();
  }

  @Test
  void giveBacks_besidePlainRefundsAndResets_leaveItFullerByAtMostWhatTheOthersTook() {
    run(true, true);
    assertThat(worstNanos).as("some are not exact").isPositive();
  }
}
