package dev.sluice.server;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;

/**
 * A log that clients cannot flood: at most one line in ten seconds, without a stack trace, which
 * says how many were left out. Thread-safe; blocks as long as the logger does.
 */
final class QuietLog {

  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Logger logger;
  private final LongSupplier nanoTime;
  private final AtomicLong nextNanos;
  private final AtomicLong leftOut = new AtomicLong();

  QuietLog(Logger logger, LongSupplier nanoTime) {
    this.logger = logger;
    this.nanoTime = nanoTime;
    this.nextNanos = new AtomicLong(nanoTime.getAsLong());
  }

  void warn(Supplier<String> message) {
    long nowNanos = nanoTime.getAsLong();
    long next = nextNanos.get();
    // nanoTime may wrap around: only differences mean something.
    if (nowNanos - next < 0 || !nextNanos.compareAndSet(next, nowNanos + PAUSE_NANOS)) {
      leftOut.incrementAndGet();
      return;
    }
    long more = leftOut.getAndSet(0);
    logger.warn(
        "{}{}", message.get(), more == 0 ? "" : " (and " + more + " more since the last line)");
  }
}
