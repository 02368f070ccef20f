// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.StoreException;
import org.jspecify.annotations.Nullable;

/** A failure whose message ends with the outcome: whether anything was charged. */
public class ChargedException extends StoreException {

  private static final long serialVersionUID = 1;

  private final String what;
  private final ChargeOutcome charged;

  /**
   * Makes a failure.
   *
   * @param what what failed
   * @param charged whether anything was charged
   * @param cause the cause; null if there is none
   */
  public ChargedException(String what, ChargeOutcome charged, @Nullable Throwable cause) {
    super(charged.after(what));
    if (cause != null) {
      initCause(cause);
    }
    this.what = what;
    this.charged = charged;
  }

  /** Returns what failed: the message without the outcome of the charge. */
  final String what() {
    return what;
  }

  @Override
  public final boolean chargedNothing() {
    return charged == ChargeOutcome.NOTHING;
  }

  final ChargeOutcome charged() {
    return charged;
  }
}
