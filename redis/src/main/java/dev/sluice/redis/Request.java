// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One caller's batch for one lane, on its way: completed once, by the answer or the deadline.
 * Thread-safe.
 */
class Request extends CompletableFuture<List<Reading>> {

  final List<Charge> charges;
  final List<byte[]> keys;
  final long deadline;
  private final long until;
  private final AtomicBoolean left = new AtomicBoolean();

  /** Racy, benign: where it is not seen, the call is sent although nobody waits for it. */
  private @Nullable SharedCall call;

  private final Sleeper caller = new Sleeper();

  /**
   * A request.
   *
   * @param keys of the charges, as they stand in Redis
   * @param deadline until when the server has to answer, a {@link Timing#nanoTime}
   * @param until when its caller leaves, at the latest then; the same unless the caller has asked
   *     before
   */
  Request(List<Charge> charges, List<byte[]> keys, long deadline, long until) {
    this.charges = charges;
    this.keys = keys;
    this.deadline = deadline;
    this.until = until;
  }

  /** Completes the request with the readings of the store; its caller is woken by {@link #wake}. */
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

  /** It is on its way with a call. */
  final void goesWith(SharedCall shared) {
    call = shared;
  }

  /** Blocks its one caller until it is done, at most for the given time. */
  final void sleep(long nanos) throws InterruptedException {
    caller.sleep(this, nanos);
  }

  /**
   * Wakes its caller, if it is done.
   *
   * @param others whom the caller wakes in its turn, null for nobody
   * @return whether there was one to wake
   */
  @CanIgnoreReturnValue
  final boolean wake(@Nullable WakeUp others) {
    return isDone() && caller.wake(others);
  }

  /** Wakes its caller, if it is done and the caller is a virtual thread. */
  final void wakeIfVirtual() {
    if (isDone()) {
      caller.wakeIfVirtual();
    }
  }

  /** Takes it out of the queue, to send it or because nobody wants it any more; true once. */
  final boolean leave() {
    return left.compareAndSet(false, true);
  }

  /** Cancels it where it still waits for its turn. Returns whether it never left. */
  @CanIgnoreReturnValue
  final boolean withdraw() {
    boolean neverLeft = leave();
    if (neverLeft) {
      super.cancel(false);
      wake(null);
    }
    return neverLeft;
  }

  /** Whether it may leave more in a bucket than it found. */
  final boolean loosens() {
    for (Charge charge : charges) {
      if (charge.op().loosens()) {
        return true;
      }
    }
    return false;
  }

  /** Whether it must not arrive before a request that was sent earlier: on one bucket, that is. */
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

  /** Whether nobody waits for an answer that comes at a time. */
  final boolean isLeftBy(long nanoTime) {
    return nanoTime - until >= 0;
  }

  final boolean overdue(long nanoTime) {
    return nanoTime - deadline >= 0;
  }
}
