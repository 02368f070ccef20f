package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How many slots bear a tag, in the whole table, and how many may: the bound on live buckets.
 *
 * <p>A tagged slot holds a live bucket or one that has filled up and was not cleared yet; so the
 * count is never below the number of live buckets. It changes only where an empty slot is tagged or
 * a tag is cleared: a table in steady use does not touch it.
 *
 * <p>Thread-safe and lock-free.
 */
final class Census {

  private final long bound;
  private final AtomicLong tagged = new AtomicLong();

  Census(long bound) {
    this.bound = bound;
  }

  long bound() {
    return bound;
  }

  long tagged() {
    return tagged.get();
  }

  boolean hasRoomFor(int slots) {
    return tagged.get() <= bound - slots;
  }

  /** Counts one more, or refuses because that would be over the bound. */
  boolean tryAdd() {
    long known = tagged.get();
    while (known < bound) { // never over it for a moment: another thread would be refused its place
      if (tagged.compareAndSet(known, known + 1)) {
        return true;
      }
      known = tagged.get();
    }
    return false;
  }

  void remove(int slots) {
    tagged.addAndGet(-slots);
  }
}
