package dev.sluice;

import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * The reservations of a limiter that can still give something back, by bucket: what lowers a TAT
 * must tell them, or a token would be given back twice (see the essay in {@link Reservation}).
 *
 * <p>Bounded: one that was never closed is swept out when its tokens have come back by themselves,
 * by a call that finds twice as many as were left by the sweep before. Thread-safe; blocks for a
 * few instructions only.
 */
final class Outstanding {

  private static final int FIRST_SWEEP = 1024;

  private final ConcurrentHashMap<String, Set<Stretch>> byKey = new ConcurrentHashMap<>();
  private final AtomicInteger count = new AtomicInteger();
  private volatile int sweepAtCount = FIRST_SWEEP;

  /** To be called before the spend, so that nothing that lowers the TAT after it is missed. */
  List<Stretch> open(List<Charge> charges) {
    List<Stretch> opened = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      Stretch stretch = new Stretch(charge.key());
      opened.add(stretch);
      byKey.compute(
          charge.key(),
          (key, live) -> {
            Set<Stretch> with = live == null ? new HashSet<>(2) : live;
            with.add(stretch);
            return with;
          });
    }
    count.addAndGet(charges.size());
    return opened;
  }

  /**
   * Forgets stretches that will give nothing back, whatever happens. Not an error to call twice.
   */
  void close(List<Stretch> stretches) {
    stretches.forEach(this::close);
  }

  void close(Stretch stretch) {
    byKey.computeIfPresent(
        stretch.key,
        (key, live) -> {
          if (live.remove(stretch)) {
            count.decrementAndGet();
          }
          return live.isEmpty() ? null : live;
        });
  }

  /** Before a reset: what is outstanding gives nothing back, even if it is cancelled meanwhile. */
  void lapse(List<Charge> charges) {
    charges.forEach(charge -> each(charge.key(), Stretch::lapse));
  }

  /** After the store has refunded or reset. */
  void lowered(List<Charge> charges, List<Reading> readings) {
    if (byKey.isEmpty()) {
      return;
    }
    for (int i = 0; i < charges.size(); i++) {
      Reading reading = readings.get(i);
      long afterNanos = charges.get(i).tatAfterNanos(reading.nowNanos(), reading.tatNanos(), true);
      if (afterNanos != reading.tatNanos()) {
        Lowering lowering = new Lowering(reading, afterNanos, charges.get(i).untilNanos());
        each(charges.get(i).key(), stretch -> stretch.lowered(lowering));
      }
    }
  }

  private void each(String key, Consumer<Stretch> act) {
    byKey.computeIfPresent(
        key,
        (k, live) -> {
          live.forEach(act);
          return live;
        });
  }

  /** Says where on the time line the tokens of an opened stretch were taken. */
  void place(Stretch stretch, long nowNanos, long tatAfterNanos) {
    stretch.place(nowNanos, tatAfterNanos);
    if (count.get() > sweepAtCount) {
      sweep(nowNanos);
    }
  }

  private void sweep(long nowNanos) {
    byKey.forEach((key, live) -> over(key, nowNanos).forEach(this::close));
    sweepAtCount = Math.max(FIRST_SWEEP, 2 * count.get());
  }

  private List<Stretch> over(String key, long nowNanos) {
    List<Stretch> over = new ArrayList<>();
    each(
        key,
        stretch -> {
          if (stretch.isOver(nowNanos)) {
            over.add(stretch);
          }
        });
    return over;
  }

  int size() {
    return count.get();
  }

  /** What a reservation took from one bucket, as a stretch of the time line up to an instant. */
  static final class Stretch {
    private final String key;
    private boolean placed;
    private long spentAtNanos;
    private volatile long untilNanos; // written under the lock, read by who hands out leases
    private List<Lowering> early = List.of();

    private Stretch(String key) {
      this.key = key;
    }

    /** The instant, unsigned, from which there is nothing left to give back. */
    long untilNanos() {
      return untilNanos;
    }

    private synchronized boolean isOver(long nowNanos) {
      return placed && Long.compareUnsigned(untilNanos, nowNanos) <= 0;
    }

    private synchronized void lapse() {
      untilNanos = Gcra.NO_TAT;
    }

    private synchronized void place(long nowNanos, long tatAfterNanos) {
      placed = true;
      spentAtNanos = nowNanos;
      untilNanos = tatAfterNanos;
      early.forEach(this::apply);
      early = List.of();
    }

    private synchronized void lowered(Lowering lowering) {
      if (placed) {
        apply(lowering);
      } else {
        List<Lowering> more = new ArrayList<>(early);
        more.add(lowering);
        early = more;
      }
    }

    private void apply(Lowering lowering) {
      // What lowered the TAT before the spend found it lower than the spend left it.
      boolean afterTheSpend =
          lowering.reading.nowNanos() > spentAtNanos
              || Long.compareUnsigned(lowering.reading.tatNanos(), untilNanos) >= 0;
      if (!afterTheSpend) {
        return;
      }
      if (lowering.isBelow(untilNanos)) {
        long byNanos = lowering.reading.tatNanos() - lowering.afterNanos;
        untilNanos =
            Long.compareUnsigned(untilNanos, byNanos) > 0 ? untilNanos - byNanos : Gcra.NO_TAT;
      }
      if (Long.compareUnsigned(lowering.afterNanos, untilNanos) < 0) {
        untilNanos = lowering.afterNanos;
      }
    }
  }

  /**
   * A refund or a reset.
   *
   * @param reading what the store found
   * @param afterNanos the TAT that it left behind
   * @param endNanos where the stretch ended that was given back; {@link Charge#NO_END} if nobody
   *     knows, which counts as the oldest
   */
  private record Lowering(Reading reading, long afterNanos, long endNanos) {

    boolean isBelow(long untilNanos) {
      return endNanos == Charge.NO_END || Long.compareUnsigned(endNanos, untilNanos) <= 0;
    }
  }
}
