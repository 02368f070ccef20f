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
 * A circuit breaker: stops calling a server that does not answer, and probes for its return.
 *
 * <p>After some failed calls in a row the server is marked down: callers fail at once instead of
 * waiting for a time-out each. From then on one probe at a time is sent, outside of callers' calls.
 * The first answered probe marks the server up. If the next call fails, the server is marked down
 * again at once. Each change is logged in one line.
 *
 * <p>A server is marked down only while a probe is scheduled or in flight. If none can be
 * scheduled, for lack of memory, the server is marked up. Thread-safe; no method blocks.
 */
public final class Breaker {

  /** Why a server is marked up without an answered probe. */
  public static final String NO_PROBE = "no probe could be set";

  private final String server;
  private final int maxFailures;
  private final long probeEveryNanos;
  private final Supplier<CompletionStage<?>> probe;
  private final Timing timing;
  private final BucketStore.Observer observer;
  private final StoreLog log;

  private final AtomicInteger failures = new AtomicInteger();
  // Null while the server is up.
  private final AtomicReference<String> downFor = new AtomicReference<>();
  private volatile long lastFailure;
  private volatile boolean onTrial; // the server answered a probe, but no call yet
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
   * Counts a call that failed.
   *
   * @param start when the call began, a {@link Timing#nanoTime}: concurrent calls that fail
   *     together, for example by one broken connection, count once
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
            ? "again, since the first call after it answered a probe failed"
            : maxFailures == 1 ? "after a failure" : "after " + maxFailures + " failures in a row";
    // Called before the log, which may be slow to write.
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
      // The store was closed in between.
    } catch (Throwable e) { // no probe was scheduled, so the server would stay down for ever
      markUp(NO_PROBE, "{0} is called again, since no probe of it could be set");
    }
  }

  private CompletionStage<?> ask() {
    try {
      return probe.get();
    } catch (Throwable e) {
      return CompletableFuture.failedFuture(e); // schedules the next probe
    }
  }

  private void probe() {
    if (downFor.get() == null) {
      return; // after() threw although its timer was set, so the server is marked up
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
