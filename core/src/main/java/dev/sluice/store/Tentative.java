package dev.sluice.store;

import org.jspecify.annotations.Nullable;

/**
 * Follows what a store takes before it knows the verdict on a batch, and says how to give it back.
 *
 * <p>A store over several servers charges each server its part at once. Where one denies, the
 * others have taken tokens in vain. The amount that may be given back depends on all other refunds
 * and resets of that bucket, which the caller of the store knows and the store does not.
 * Thread-safe; never blocks.
 */
@FunctionalInterface
public interface Tentative {

  /**
   * Called before a charge leaves that may have to be given back.
   *
   * @param charge a spend of a batch over several servers
   * @return its follower, which is told how it ends: by {@link Part#kept}, or by {@link
   *     Part#giveBack} and {@link Part#gaveBack}
   */
  Part begin(Charge charge);

  /** Follows one charge. Used by one thread after the other. */
  interface Part {

    /**
     * Returns the refund of a charge that was made in vain.
     *
     * @param found what the charge found
     * @return what to charge in its stead, null where nothing may be given back; then no other
     *     method is called
     */
    @Nullable Charge giveBack(Reading found);

    /**
     * Called when the refund was answered, or failed.
     *
     * @param found what it found, null where it is unknown whether the store has made it
     */
    void gaveBack(@Nullable Reading found);

    /** Called where the charge stays as it is, or was not made. */
    void kept();
  }
}
