// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.internal.async.Stages;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Observer.State;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A circuit breaker: stops calling a server that does not respond, and probes whether the server is
 * back.
 *
 * <p>After several failed calls in a row, the server is marked down: calls fail at once, without
 * waiting for a time-out. While the server is marked down, the breaker sends one probe at a time.
 * The first probe with a response marks the server up. If the first call after a successful probe
 * fails, the server is marked down again at once. Each change between up and down is logged in one
 * line.
 *
 * <p>A server is marked down only while a probe is scheduled or in flight. If no probe can be
 * scheduled, for lack of memory, the server is marked up. Thread-safe; no method blocks.
 */
public final class Breaker {

  /** The reason in the log if a server is marked up because no probe can be scheduled. */
  public static final String NO_PROBE = "no probe could be scheduled";

  private final String server;
  private final int maxFailures;
  private final long probeEveryNanos;
  private final Supplier<CompletionStage<?>> probe;
  private final Timing timing;
  private final BucketStore.Observer observer;
  private final StoreLog log;

  private final AtomicInteger failures = new AtomicInteger();
  // The reason why the server is marked down; null while the server is up.
  private final AtomicReference<String> downFor = new AtomicReference<>();
  private volatile long lastFailure;
  private volatile boolean onTrial; // the server responded to a probe, but not yet to a call
  private volatile boolean closed;

  public Breaker(
      String server,
      int maxFailures,
      long probeEveryNanos,
      Supplier<CompletionStage<?>> probe,
      Timing timing,
      BucketStore.Observer observer,
      StoreLog log) {
    this.server = server;
    this.maxFailures = maxFailures;
    this.probeEveryNanos = probeEveryNanos;
    this.probe = probe;
    this.timing = timing;
    this.observer = observer;
    this.log = log;
  }

  /** Returns the server's name. */
  public String server() {
    return server;
  }

  /** Throws if the server is marked down. */
  public void requireUp() {
    String reason = downFor.get();
    if (reason != null) {
      throw ChargeOutcome.NOTHING.exception(
          server + " is marked down and was not called (" + reason + ")");
    }
  }

  public void answered() {
    if (failures.get() != 0 || onTrial) {
      failures.set(0);
      onTrial = false;
    }
  }

  /**
   * Counts a failed call.
   *
   * @param start the {@link Timing#nanoTime} at which the call began; concurrent calls that fail
   *     together, for example because one connection broke, are counted as one failure
   */
  public void failed(String reason, long start) {
    long last = lastFailure;
    if (failures.get() > 0 && start - last < 0) {
      return;
    }
    lastFailure = timing.nanoTime();
    if (failures.incrementAndGet() >= maxFailures && downFor.compareAndSet(null, reason)) {
      try {
        tellDown(reason);
      } finally {
        probeLater();
      }
    }
  }

  private void tellDown(String reason) {
    String when =
        onTrial
            ? "again, since the first call after the successful probe failed"
            : maxFailures == 1 ? "after a failure" : "after " + maxFailures + " failures in a row";
    // The observer is called before the log, since logging can be slow.
    observer.changed(server, State.DOWN, reason);
    log(Level.WARNING, "marked {0} down {1}: {2}", server, when, reason);
  }

  private void log(Level level, String line, Object... parameters) {
    if (timing.tellsLater()) {
      timing.tellLater(() -> log.log(level, line, parameters));
    } else {
      log.log(level, line, parameters);
    }
  }

  private void probeLater() {
    if (closed) {
      return;
    }
    try {
      timing.after(probeEveryNanos, this::probe);
    } catch (RejectedExecutionException e) {
      // The store was closed before the probe was scheduled.
    } catch (Throwable e) { // no probe was scheduled, so the server would stay down for ever
      markUp(NO_PROBE, "{0} is called again, since no probe could be scheduled");
    }
  }

  private CompletionStage<?> ask() {
    try {
      return probe.get();
    } catch (Throwable e) {
      return CompletableFuture.failedFuture(e); // the failed future schedules the next probe
    }
  }

  private void probe() {
    if (downFor.get() == null) {
      return; // the timer was set although after() threw, and the server is already marked up
    }
    try {
      Stages.onEnd(ask(), (answer, failure) -> probed(failure));
    } catch (Throwable e) {
      probeLater();
    }
  }

  private void probed(@Nullable Throwable failure) {
    if (failure == null) {
      onTrial = true;
      markUp("it answered a probe", "{0} answers again, and is called again");
    } else {
      probeLater();
    }
  }

  private void markUp(String why, String line) {
    failures.set(maxFailures - 1); // the next failed call opens the circuit breaker again
    if (downFor.getAndSet(null) != null) {
      observer.changed(server, State.UP, why);
      log(Level.INFO, line, server);
    }
  }

  public void close() {
    closed = true;
  }
}
