package dev.sluice.store;

import dev.sluice.store.Charge.Act;

/**
 * The buckets whose keys start with the same prefix: those of one limit.
 *
 * <p>For decisions on one bucket at a time that should cost nothing but themselves: what can be
 * known of the prefix is worked out once, and no {@link Charge} is made. Whatever form an id is
 * given in, the bucket is that of prefix and id as one text; bytes are UTF-8, a number is its
 * decimal digits.
 *
 * <p>Thread-safe; blocks as {@link BucketStore#charge} does, and fails as it does.
 */
public interface Buckets {

  /**
   * Decides on one bucket.
   *
   * @param <R> the answer
   * @param id the id, canonical, not empty
   * @param act what is to be done, not a reset; a refund does not expire
   * @param incrementNanos as in {@link Charge}
   * @param offsetNanos as in {@link Charge}
   * @param outcome makes the answer
   * @return the answer
   * @throws StoreException if the store could not decide
   */
  <R> R charge(CharSequence id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome);

  /**
   * Decides on one bucket.
   *
   * @param <R> the answer
   * @param id the id in UTF-8, canonical, not empty; not kept
   * @param act what is to be done, not a reset; a refund does not expire
   * @param incrementNanos as in {@link Charge}
   * @param offsetNanos as in {@link Charge}
   * @param outcome makes the answer
   * @return the answer
   * @throws StoreException if the store could not decide
   */
  <R> R charge(byte[] id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome);

  /**
   * Decides on one bucket.
   *
   * @param <R> the answer
   * @param id the id
   * @param act what is to be done, not a reset; a refund does not expire
   * @param incrementNanos as in {@link Charge}
   * @param offsetNanos as in {@link Charge}
   * @param outcome makes the answer
   * @return the answer
   * @throws StoreException if the store could not decide
   */
  <R> R charge(long id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome);
}
