// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A check that asks at most twice a second, however many want to know: all others get the outcome
 * of the one that is under way, or the last one. Thread-safe; blocks as long as the check does.
 */
final class RecentCheck implements Runnable {

  /** How long an outcome holds. */
  static final long RECENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Runnable check;
  private final LongSupplier nanoTime;
  private final AtomicReference<@Nullable CompletableFuture<Checked>> last =
      new AtomicReference<>();

  /** When a check ended, and how; a failure or none. */
  private record Checked(long at, @Nullable RuntimeException failure) {}

  RecentCheck(Runnable check, LongSupplier nanoTime) {
    this.check = check;
    this.nanoTime = nanoTime;
  }

  @Override
  public void run() {
    CompletableFuture<Checked> known = last.get();
    if (known == null || isOld(known)) {
      CompletableFuture<Checked> mine = new CompletableFuture<>();
      CompletableFuture<Checked> now = last.compareAndExchange(known, mine);
      if (now == known) {
        mine.complete(outcome());
        known = mine;
      } else {
        known = now;
      }
    }
    RuntimeException failure = known == null ? null : known.join().failure();
    if (failure != null) {
      throw failure;
    }
  }

  private boolean isOld(CompletableFuture<Checked> known) {
    return known.isDone() && nanoTime.getAsLong() - known.join().at() >= RECENT_NANOS;
  }

  private Checked outcome() {
    try {
      check.run();
      return new Checked(nanoTime.getAsLong(), null);
    } catch (RuntimeException e) {
      return new Checked(nanoTime.getAsLong(), e);
    } catch (Error e) { // nobody may wait for ever for an outcome that does not come
      IllegalStateException failure = new IllegalStateException(e);
      return new Checked(nanoTime.getAsLong(), failure);
    }
  }
}
