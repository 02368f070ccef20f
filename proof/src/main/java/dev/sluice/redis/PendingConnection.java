// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;

/** A connection that is being made, and that tells how much waits for it. For one thread. */
final class PendingConnection<T> extends CompletableFuture<T> {

  private final List<CompletableFuture<?>> waiting; // shared with all that follow from it
  private final IntConsumer told;

  /**
   * A connection that is not made yet.
   *
   * @param told takes how many stages wait for it, whenever another one does
   */
  PendingConnection(IntConsumer told) {
    this(new ArrayList<>(), told);
  }

  private PendingConnection(List<CompletableFuture<?>> waiting, IntConsumer told) {
    this.waiting = waiting;
    this.told = told;
  }

  /** Returns how many stages wait for it: what the store makes of it, and what hangs on that. */
  int waiting() {
    waiting.removeIf(CompletableFuture::isDone);
    return waiting.size();
  }

  @Override
  public <U> CompletableFuture<U> newIncompleteFuture() {
    PendingConnection<U> next = new PendingConnection<>(waiting, told);
    waiting.add(next);
    told.accept(waiting());
    return next;
  }
}
