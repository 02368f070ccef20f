package dev.sluice.limit;

/**
 * The limits that hold now: one reference, replaced as a whole by a reload.
 *
 * <p>Thread-safe; neither method blocks. A reader sees either all of the old limits or all of the
 * new ones.
 */
public final class CurrentLimits {

  private volatile Limits limits;

  /**
   * Starts with the given limits.
   *
   * @param limits the limits that hold until they are replaced
   */
  public CurrentLimits(Limits limits) {
    this.limits = limits;
  }

  /**
   * The limits that hold now.
   *
   * @return the limits
   */
  public Limits get() {
    return limits;
  }

  /**
   * Replaces all limits; the next request is decided by the new ones.
   *
   * @param replacement the limits that hold from now on
   */
  public void replace(Limits replacement) {
    this.limits = replacement;
  }
}
