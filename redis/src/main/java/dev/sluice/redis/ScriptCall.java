// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call of the script, and its answer. It knows whether the server may have seen it: what
 * certainly never left can be sent once more, and be said to have charged nothing. Thread-safe.
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

  /** A call that never began. */
  static ScriptCall failed(Throwable failure) {
    ScriptCall call = new ScriptCall(new byte[0][], new byte[0]);
    call.notSent(failure);
    return call;
  }

  /**
   * Asks on a connection.
   *
   * @param whole whether with the whole script, and not by its digest, which the server should know
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

  /** It fails, and the server has certainly not seen it. */
  void notSent(Throwable failure) {
    completeExceptionally(new NotSentException(failure));
  }

  /** What was asked for it last came to nothing, and the server has certainly not seen it. */
  synchronized void hasNotLeft() {
    last = null;
  }

  /**
   * It was abandoned: where it has not left, it completes with {@link StayedException}. What was
   * sent does not complete.
   */
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
   * Nobody waits for it any more: where it has not left yet, it never will.
   *
   * @return whether the server has certainly not seen it
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
   * Keeps it here, if it has not left yet: while its connection is being made. It completes when
   * that is made or has failed.
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

  /** There is a connection, and nobody waits any more for the call, which never left. */
  static final class StayedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    StayedException() {
      super("nobody waits for it", null, false, false);
    }
  }
}
