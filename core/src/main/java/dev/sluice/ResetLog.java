package dev.sluice;

import dev.sluice.store.Charge;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Remembers that buckets were reset, so that a reservation made before does not give back tokens
 * which the reset gave back already.
 *
 * <p>A fixed number of counters, each shared by many keys: where two keys share one, a reset of
 * either lets the reservations on both lapse. That errs on the safe side, and seldom. Thread-safe,
 * lock-free.
 */
final class ResetLog {

  private static final int COUNTERS = 1024;

  private final AtomicIntegerArray counters = new AtomicIntegerArray(COUNTERS);

  /** To be called before and after a reset: a spend between the two must not count as later. */
  void record(List<Charge> charges) {
    for (Charge charge : charges) {
      counters.incrementAndGet(counter(charge.key()));
    }
  }

  /** To be called before a spend. */
  int[] epochs(List<Charge> charges) {
    return charges.stream().mapToInt(charge -> epoch(charge.key())).toArray();
  }

  int epoch(String key) {
    return counters.get(counter(key));
  }

  private static int counter(String key) {
    int hash = key.hashCode();
    return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & (COUNTERS - 1);
  }
}
