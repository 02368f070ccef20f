// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The future of one caller's batch in one queue. The response or the deadline completes the future.
 * Thread-safe.
 */
public class Request extends CompletableFuture<List<Reading>> {

  final List<Charge> charges;
  final List<byte[]> keys;
  final long deadline;
  private final long until;
  private final AtomicBoolean left = new AtomicBoolean();

  /**
   * A racy read of this field is benign: if cancel() does not see the call, the call is sent
   * although its caller has cancelled.
   */
  private @Nullable SharedCall call;

  private final BlockingWaiter caller = new BlockingWaiter();

  /**
   * Creates a request.
   *
   * @param keys the keys of the charges in the store
   * @param deadline the {@link Timing#nanoTime} until which the server must have responded
   * @param until the time at which the caller stops waiting; earlier than the deadline if the
   *     caller's operation has already used a part of its time-out
   */
  public Request(List<Charge> charges, List<byte[]> keys, long deadline, long until) {
    this.charges = charges;
    this.keys = keys;
    this.deadline = deadline;
    this.until = until;
  }

  /**
   * Completes the request with the store's time and the TATs of its buckets, but does not wake the
   * caller as {@link #wake} does.
   */
  void answer(List<Reading> readings) {
    super.complete(readings);
  }

  @Override
  @CanIgnoreReturnValue
  public boolean complete(List<Reading> readings) {
    boolean completed = super.complete(readings);
    wake(null);
    return completed;
  }

  @Override
  @CanIgnoreReturnValue
  public boolean completeExceptionally(Throwable failure) {
    boolean completed = super.completeExceptionally(failure);
    wake(null);
    return completed;
  }

  @Override
  @CanIgnoreReturnValue
  public boolean cancel(boolean interrupt) {
    boolean cancelled = super.cancel(interrupt);
    wake(null);
    SharedCall shared = call;
    if (cancelled && shared != null) {
      shared.keepWhatIsLeft();
    }
    return cancelled;
  }

  /** Records the call that carries this request. */
  final void goesWith(SharedCall shared) {
    call = shared;
  }

  /** Blocks the caller until this request is done, at most for the given time. */
  final void sleep(long nanos) throws InterruptedException {
    caller.sleep(this, nanos);
  }

  /**
   * Wakes the caller if this request is done.
   *
   * @param others wakes further callers, on the woken caller's thread; null if the woken caller
   *     wakes no other caller
   * @return whether a caller was woken
   */
  @CanIgnoreReturnValue
  final boolean wake(@Nullable WakeUp others) {
    return isDone() && caller.wake(others);
  }

  /** Wakes the caller if this request is done and the caller is a virtual thread. */
  final void wakeIfVirtual() {
    if (isDone()) {
      caller.wakeIfVirtual();
    }
  }

  /** Claims this request for sending or dropping; only the first call returns true. */
  final boolean leave() {
    return left.compareAndSet(false, true);
  }

  /** Cancels this request if it was not sent yet. Returns whether the request was cancelled. */
  @CanIgnoreReturnValue
  final boolean withdraw() {
    boolean neverLeft = leave();
    if (neverLeft) {
      super.cancel(false);
      wake(null);
    }
    return neverLeft;
  }

  /** Returns whether this request can refund tokens to a bucket. */
  final boolean loosens() {
    for (Charge charge : charges) {
      if (charge.op().loosens()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether this request must not overtake an earlier request, since both charge the same
   * bucket.
   */
  final boolean mustFollow(Request earlier) {
    for (Charge charge : charges) {
      if (mustFollow(charge, earlier.charges)) {
        return true;
      }
    }
    return false;
  }

  private static boolean mustFollow(Charge charge, List<Charge> earlier) {
    for (Charge other : earlier) {
      if (mustFollow(charge.op(), other.op()) && charge.key().equals(other.key())) {
        return true;
      }
    }
    return false;
  }

  private static boolean mustFollow(Op op, Op earlier) {
    boolean resets = op == Op.RESET || op == Op.FORGIVE;
    return switch (earlier) {
      case WITHDRAW -> resets || op == Op.REFUND;
      case REFUND -> resets;
      default -> false;
    };
  }

  /** Returns whether the caller has stopped waiting at the given time. */
  final boolean isLeftBy(long nanoTime) {
    return nanoTime - until >= 0;
  }

  final boolean overdue(long nanoTime) {
    return nanoTime - deadline >= 0;
  }
}
