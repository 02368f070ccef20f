// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A call to a server, and the future of the server's response. The call records whether the server
 * can have received it. A call that was certainly not sent has charged nothing and can be retried.
 * Thread-safe; no method blocks.
 *
 * @param <A> the type of the server's response
 */
public abstract class RemoteCall<A> extends CompletableFuture<A> {

  private boolean abandoned; // guarded by this
  private @Nullable Attempt last; // guarded by this

  /** An attempt to send a call. */
  public interface Attempt {

    /** Ends the attempt; if it has not sent the call yet, it never sends the call. */
    void cancel();
  }

  /** Returns a failed call that was never sent. */
  static RemoteCall<?> failed(Throwable failure) {
    RemoteCall<?> call = new Failed();
    call.notSent(failure);
    return call;
  }

  /** Sends this call and completes it with the result. */
  protected abstract void send();

  /**
   * Returns the readings (the store's time and the TATs) of one batch.
   *
   * @param first the index of the batch's first charge among all charges of the call
   * @param server the server's name, for messages
   * @throws StoreException if the server did not decide on this batch
   */
  protected abstract List<Reading> readings(A answer, int first, List<Charge> batch, String server);

  /** Returns one batch's readings (time and TATs of the store), after this call has a response. */
  final List<Reading> readings(int first, List<Charge> batch, String server) {
    return readings(join(), first, batch, server);
  }

  /**
   * Begins to send this call.
   *
   * @return false if the call was abandoned and must not be sent
   */
  protected final synchronized boolean begin(Attempt attempt) {
    if (!abandoned) {
      last = attempt;
    }
    return !abandoned;
  }

  public final synchronized boolean isAbandoned() {
    return abandoned;
  }

  /** Fails this call. Call this method only if the server certainly did not receive the call. */
  public final void notSent(Throwable failure) {
    completeExceptionally(new NotSentException(failure));
  }

  /** Records that the last attempt failed before the server could receive the call. */
  public final synchronized void hasNotLeft() {
    last = null;
  }

  /** Completes this abandoned call with {@link StayedException}, unless the call was sent. */
  public final void stayedHere() {
    boolean neverSent;
    synchronized (this) {
      neverSent = last == null;
    }
    if (neverSent) {
      completeExceptionally(new StayedException());
    }
  }

  /**
   * Abandons this call: if the call was not sent yet, it is never sent.
   *
   * @return whether the server has certainly not received the call
   */
  @CanIgnoreReturnValue
  public final boolean abandon() {
    Attempt attempt;
    synchronized (this) {
      abandoned = true;
      attempt = last;
    }
    if (attempt != null) {
      attempt.cancel();
    }
    return attempt == null;
  }

  /**
   * Abandons this call if the call was not sent yet because its connection is still being opened.
   * The abandoned call completes when the connection is open or has failed.
   */
  final synchronized void keepHere() {
    abandoned |= last == null;
  }

  /** Thrown if the call was never sent. */
  public static final class NotSentException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public NotSentException(Throwable cause) {
      super(cause);
    }
  }

  /** Thrown if the connection is open, but the call was abandoned before it was sent. */
  static final class StayedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    StayedException() {
      super("the call was abandoned before it was sent", null, false, false);
    }
  }

  /** A call that failed before it was made. */
  private static final class Failed extends RemoteCall<Void> {

    @Override
    protected void send() {}

    @Override
    protected List<Reading> readings(Void answer, int first, List<Charge> batch, String server) {
      throw new IllegalStateException("the call has failed");
    }
  }
}
