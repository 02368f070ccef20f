// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a failed call can have charged a bucket. */
public enum ChargeOutcome {
  /** The server certainly charged nothing. */
  NOTHING("nothing was charged"),
  /** The call was sent, but the response was lost. */
  UNKNOWN("whether anything was charged is unknown");

  private final String words;

  ChargeOutcome(String words) {
    this.words = words;
  }

  /** Returns the outcome of a failed call. */
  public static ChargeOutcome by(boolean neverSent) {
    return neverSent ? NOTHING : UNKNOWN;
  }

  /** Returns the outcome of charges that were sent but got no response. */
  static ChargeOutcome ofSent(List<Charge> charges) {
    return writes(charges) ? UNKNOWN : NOTHING;
  }

  /** Returns whether at least one of the charges is not a check, and so can change a bucket. */
  public static boolean writes(List<Charge> charges) {
    for (Charge charge : charges) {
      if (charge.op().writes()) {
        return true;
      }
    }
    return false;
  }

  static boolean isNothing(Throwable failure) {
    return failure instanceof ChargedException its && its.charged() == NOTHING;
  }

  /**
   * Returns a copy of a failure whose message reports this outcome instead of the failure's
   * outcome.
   */
  Throwable said(Throwable failure) {
    if (failure instanceof ChargedException its) {
      return its.charged() == this ? its : exception(its.what(), its);
    }
    return failure instanceof StoreException
        ? exception(String.valueOf(failure.getMessage()), failure)
        : failure;
  }

  String after(String message) {
    return message + "; " + words;
  }

  public StoreException exception(String message) {
    return exception(message, null);
  }

  public StoreException exception(String message, @Nullable Throwable cause) {
    String ending = after("");
    // Some messages already end with an outcome, for example the message about a failed clock.
    String what =
        message.endsWith(ending)
            ? message.substring(0, message.length() - ending.length())
            : message;
    return new ChargedException(what, this, cause);
  }
}
