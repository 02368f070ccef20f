// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call of the script, and the future of its answer. It records whether the server may have
 * received it: a call that was certainly not sent can be retried, and has charged nothing.
 * Thread-safe.
 */
final class ScriptCall extends CompletableFuture<List<Object>> {

  private final byte[][] keys;
  private final byte[] argument;
  private boolean abandoned; // guarded by this
  private @Nullable Exchange last; // guarded by this

  ScriptCall(byte[][] keys, byte[] argument) {
    this.keys = keys;
    this.argument = argument;
  }

  /** Returns a failed call that was never sent. */
  static ScriptCall failed(Throwable failure) {
    ScriptCall call = new ScriptCall(new byte[0][], new byte[0]);
    call.notSent(failure);
    return call;
  }

  /**
   * Sends this call on a connection, unless it was abandoned.
   *
   * @param whole whether to send the text of the script instead of its digest
   */
  Exchange ask(Connection on, boolean whole) {
    Exchange exchange = on.exchange(whole, keys, argument);
    if (begin(exchange)) {
      exchange.send();
    } else {
      exchange.cancel();
    }
    return exchange;
  }

  private synchronized boolean begin(Exchange exchange) {
    if (!abandoned) {
      last = exchange;
    }
    return !abandoned;
  }

  synchronized boolean isAbandoned() {
    return abandoned;
  }

  /** Fails this call, which the server has certainly not received. */
  void notSent(Throwable failure) {
    completeExceptionally(new NotSentException(failure));
  }

  /** Records that the last attempt failed and that the server has certainly not received it. */
  synchronized void hasNotLeft() {
    last = null;
  }

  /** Completes this abandoned call with {@link StayedException}, unless it was sent. */
  void stayedHere() {
    boolean neverSent;
    synchronized (this) {
      neverSent = last == null;
    }
    if (neverSent) {
      completeExceptionally(new StayedException());
    }
  }

  /**
   * Abandons this call: if it was not sent yet, it never will be.
   *
   * @return whether the server has certainly not received it
   */
  @CanIgnoreReturnValue
  boolean abandon() {
    Exchange exchange;
    synchronized (this) {
      abandoned = true;
      exchange = last;
    }
    if (exchange != null) {
      exchange.cancel();
    }
    return exchange == null;
  }

  /**
   * Abandons this call if it was not sent yet, since its connection is still being opened. It then
   * completes when that has opened or failed.
   */
  synchronized void keepHere() {
    abandoned |= last == null;
  }

  /** The call never left this process. */
  static final class NotSentException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotSentException(Throwable cause) {
      super(cause);
    }
  }

  /** The connection is open, but nobody waits for the call any more, which was never sent. */
  static final class StayedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    StayedException() {
      super("nobody waits for it", null, false, false);
    }
  }
}
