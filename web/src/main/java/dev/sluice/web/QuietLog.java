package dev.sluice.web;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A log that a flood of requests cannot fill: one line in ten seconds of each kind, which says how
 * many were left out. Never logs an id.
 *
 * <p>Thread-safe; blocks as long as the logger does.
 */
final class QuietLog {

  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Logger logger;
  private final LongSupplier nanoTime;
  private final Kind shadow;
  private final Kind failures;

  QuietLog(Logger logger, LongSupplier nanoTime) {
    this.logger = logger;
    this.nanoTime = nanoTime;
    this.shadow = new Kind(nanoTime.getAsLong());
    this.failures = new Kind(nanoTime.getAsLong());
  }

  void shadowDenied(Rule rule, Object limit) {
    shadow.log(
        Level.INFO, () -> "%s would have denied (shadow rule on %s)".formatted(limit, rule), null);
  }

  void failed(String what, RuntimeException failure) {
    failures.log(Level.WARNING, () -> "%s: %s".formatted(what, failure.getMessage()), failure);
  }

  private final class Kind {
    private final AtomicLong nextNanos;
    private final AtomicLong leftOut = new AtomicLong();

    Kind(long nowNanos) {
      this.nextNanos = new AtomicLong(nowNanos);
    }

    void log(Level level, Supplier<String> message, @Nullable Throwable cause) {
      long nowNanos = nanoTime.getAsLong();
      long next = nextNanos.get();
      // nanoTime may wrap around: only differences mean something.
      if (nowNanos - next < 0 || !nextNanos.compareAndSet(next, nowNanos + PAUSE_NANOS)) {
        leftOut.incrementAndGet();
        return;
      }
      long more = leftOut.getAndSet(0);
      String text =
          message.get() + (more == 0 ? "" : " (and %s more like it since)".formatted(more));
      logger.log(level, text, cause);
    }
  }
}
