// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.StoreContext;
import dev.sluice.store.BucketStore.Charge;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/*
 * If another transaction has locked a bucket, each call that charges this bucket would occupy a
 * connection until the database gives up, and delay other buckets. The database does not tell which
 * bucket of a call is locked.
 *
 * After a call with only one batch has failed because of a lock, the buckets of this batch are
 * suspects: a batch that contains all of the suspects is rejected for a third of the time-out, and
 * then while one batch tries again. A call that succeeds clears its buckets of suspicion.
 *
 * A bucket that two failed batches have in common is not suspected more than their other buckets:
 * each batch can have a locked bucket of its own. If a bucket is locked that many different batches
 * contain, each of these batches is therefore sent.
 */

/** The buckets that other transactions have locked, as far as calls have shown. Thread-safe. */
final class LockedBuckets {

  private final long timeoutNanos;
  private final LongSupplier nanoTime;
  private volatile List<Suspects> all = List.of(); // replaced as a whole, guarded by this

  LockedBuckets(long timeoutNanos, LongSupplier nanoTime) {
    this.timeoutNanos = timeoutNanos;
    this.nanoTime = nanoTime;
  }

  /**
   * Buckets of which at least one was locked when a call failed.
   *
   * @param failure the failure of the call that found the lock
   * @param until the end of the time in which batches with all of these buckets are rejected
   * @param trier the batch that tries the buckets again, which passes; null for none
   */
  private record Suspects(
      Set<ByteBuffer> buckets, Throwable failure, long until, @Nullable List<Charge> trier) {

    /** Returns the buckets without those that a successful call has charged. */
    Suspects without(Set<ByteBuffer> charged) {
      Set<ByteBuffer> left = new HashSet<>(buckets);
      left.removeAll(charged);
      return new Suspects(left, failure, until, trier);
    }
  }

  /**
   * Returns the failure with which a batch is rejected. If the batch is not rejected, and contains
   * all suspects, this batch tries them again.
   *
   * @param keys the keys of the batch's charges
   * @return the failure; null to send the batch
   */
  @Nullable Throwable refusal(List<byte[]> keys, List<Charge> batch) {
    return all.isEmpty() || !ChargeOutcome.writes(batch) ? null : refusal(buckets(keys), batch);
  }

  private synchronized @Nullable Throwable refusal(Set<ByteBuffer> buckets, List<Charge> batch) {
    long now = nanoTime.getAsLong();
    List<Suspects> next = new ArrayList<>();
    for (Suspects one : remembered(now)) {
      if (!buckets.containsAll(one.buckets) || one.trier == batch) {
        next.add(one);
      } else if (now - one.until < 0) {
        return one.failure;
      } else {
        next.add(new Suspects(one.buckets, one.failure, now + timeoutNanos, batch));
      }
    }
    all = next;
    return null;
  }

  /**
   * Records the failure of a call, or that a call was not sent; another batch may then try again.
   *
   * @param keys the keys of all charges
   * @param lock the failure if the call failed because of a lock; otherwise null
   */
  void failed(List<byte[]> keys, List<List<Charge>> batches, @Nullable Throwable lock) {
    Set<ByteBuffer> buckets = buckets(keys);
    // The locked bucket of several batches could be in any of the batches.
    boolean tells =
        lock != null
            && batches.stream().anyMatch(ChargeOutcome::writes)
            && (batches.size() == 1 || buckets.size() == 1);
    if (tells || !all.isEmpty()) {
      failed(buckets, batches, tells ? lock : null);
    }
  }

  private synchronized void failed(
      Set<ByteBuffer> buckets, List<List<Charge>> batches, @Nullable Throwable lock) {
    long now = nanoTime.getAsLong();
    List<Suspects> next = new ArrayList<>();
    for (Suspects one : remembered(now)) {
      if (lock != null && one.buckets.equals(buckets)) {
        continue; // added below
      }
      boolean tried = batches.stream().anyMatch(batch -> batch == one.trier);
      next.add(tried ? new Suspects(one.buckets, one.failure, now, null) : one);
    }
    if (lock != null) {
      next.add(new Suspects(buckets, lock, now + timeoutNanos / StoreContext.WAITS, null));
    }
    all = next;
  }

  /** Clears the buckets of a successful call of suspicion. */
  void succeeded(List<byte[]> keys, List<List<Charge>> batches) {
    // A call that only checks waits for no lock.
    if (!all.isEmpty() && batches.stream().anyMatch(ChargeOutcome::writes)) {
      succeeded(buckets(keys));
    }
  }

  private synchronized void succeeded(Set<ByteBuffer> charged) {
    all =
        all.stream()
            .map(one -> one.without(charged))
            .filter(one -> !one.buckets.isEmpty())
            .toList();
  }

  /**
   * Returns all suspects, except those that no batch has tried again for the length of a time-out.
   */
  private List<Suspects> remembered(long now) {
    return all.stream().filter(one -> now - one.until < timeoutNanos).toList();
  }

  private static Set<ByteBuffer> buckets(List<byte[]> keys) {
    Set<ByteBuffer> buckets = new HashSet<>();
    keys.forEach(key -> buckets.add(ByteBuffer.wrap(key)));
    return buckets;
  }
}
