// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a failed call may have charged a bucket. */
public enum ChargeOutcome {
  /** The server has certainly not charged anything. */
  NOTHING("nothing was charged"),
  /** The call was sent, and its answer was lost. */
  UNKNOWN("whether anything was charged is unknown");

  private final String words;

  ChargeOutcome(String words) {
    this.words = words;
  }

  /** Returns the effect of a failed call. */
  public static ChargeOutcome by(boolean neverSent) {
    return neverSent ? NOTHING : UNKNOWN;
  }

  /** Returns the effect of charges that were sent and had no answer. */
  static ChargeOutcome ofSent(List<Charge> charges) {
    return writes(charges) ? UNKNOWN : NOTHING;
  }

  /** Whether any of the charges may change a bucket; a check never does. */
  static boolean writes(List<Charge> charges) {
    for (Charge charge : charges) {
      if (charge.op().writes()) {
        return true;
      }
    }
    return false;
  }

  /** Whether a failure says that nothing was charged. */
  static boolean isNothing(Throwable failure) {
    return failure instanceof ChargedException its && its.charged() == NOTHING;
  }

  /** Returns the failure with this effect in its message, in place of any other effect. */
  Throwable said(Throwable failure) {
    if (failure instanceof ChargedException its) {
      return its.charged() == this ? its : exception(its.what(), its);
    }
    return failure instanceof StoreException
        ? exception(String.valueOf(failure.getMessage()), failure)
        : failure;
  }

  /** Appends this effect to a message. */
  String after(String message) {
    return message + "; " + words;
  }

  public StoreException exception(String message) {
    return exception(message, null);
  }

  public StoreException exception(String message, @Nullable Throwable cause) {
    String ending = after("");
    String what = // some messages already have this ending, such as those of a failed clock
        message.endsWith(ending)
            ? message.substring(0, message.length() - ending.length())
            : message;
    return new ChargedException(what, this, cause);
  }
}
