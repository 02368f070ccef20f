// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/*
 * The limits are merged from two sources: the files (the base) and the table. If both sources
 * override the same id, the override of the table applies, since an operator usually changes the
 * table after the files were deployed. If a conflict of two overrides were an error, one row could
 * block every reload of the files, and one file could block every refresh from the table.
 *
 * The merge always uses the newest state of both sources, under one lock, so that a concurrent
 * refresh and reload cannot undo each other. The table's rows are kept instead of parsed overrides,
 * since a reload can change limit names or id formats.
 *
 * A table without rows never clears the overrides in force. An empty table usually means a wrong
 * database, or a table that is just being filled. To clear the overrides on purpose, disable all
 * rows.
 */
/**
 * Applies overrides from a database table to the current limits while the limiter runs.
 *
 * <p>Thread-safe. One daemon thread reads the table at an interval. After a failed read, the thread
 * retries soon, then at growing intervals. Only {@link #refreshNow} waits for the database. Limits
 * that have not changed are not replaced.
 */
public final class OverridesRefresher implements AutoCloseable {

  private static final Logger LOG = System.getLogger(OverridesRefresher.class.getName());
  private static final Duration FIRST_RETRY = Duration.ofMillis(250);
  private static final long UNTIL_MEMORY_NANOS = 100_000_000;

  private final OverridesTable table;
  private final Supplier<Limits> base;
  private final CurrentLimits target;
  private final Duration interval;
  private final RefreshListener listener;
  private final Backoff backoff;
  private final AtomicBoolean ready = new AtomicBoolean();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          task -> new DaemonThread(task, "sluice-overrides-table"));

  private final Set<Class<?>> logged = ConcurrentHashMap.newKeySet();
  private final BadRowLog badRows = new BadRowLog("overrides");

  /** The serial number of the read that began last. */
  private final AtomicLong reads = new AtomicLong();

  private List<OverrideRow> rows = List.of();

  /** The serial number of the read that produced {@link #rows}. */
  private long inForce;

  /** The serial number of the last read that succeeded. */
  private long succeeded;

  private int failures;
  private boolean isEmpty; // whether the last read found no valid row

  private OverridesRefresher(
      OverridesTable table,
      Supplier<Limits> base,
      CurrentLimits target,
      Duration interval,
      RefreshListener listener) {
    this.table = table;
    this.base = base;
    this.target = target;
    this.interval = GoDuration.positive("interval", interval);
    this.listener = listener;
    Duration firstRetry = interval.compareTo(FIRST_RETRY) < 0 ? interval : FIRST_RETRY;
    this.backoff =
        new Backoff(firstRetry, interval, () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Starts to read the table, at once and then at an interval. Does not wait for the first read:
   * see {@link #ready}.
   *
   * @param table the table
   * @param base returns the limits of the files, which the overrides of the table can change;
   *     called on each change, and must not block
   * @param target receives the limits of the files with the table's overrides applied; usually a
   *     {@link CurrentLimits#derived} reference of the files' limits, so that a reload of the files
   *     that the target would refuse is refused too
   * @param interval the time from the end of a read to the next read, more than zero and at most
   *     292 years; each wait is shortened at random by up to half, so that the processes of a fleet
   *     do not read at the same time
   * @param listener notified of every read; exceptions of the listener are logged
   * @return the refresher, to be closed
   * @throws IllegalArgumentException if the interval is out of its range
   */
  public static OverridesRefresher start(
      OverridesTable table,
      Supplier<Limits> base,
      CurrentLimits target,
      Duration interval,
      RefreshListener listener) {
    OverridesRefresher refresher = new OverridesRefresher(table, base, target, interval, listener);
    refresher.schedule(Duration.ZERO);
    return refresher;
  }

  /**
   * Returns whether the table has been read at least once. Before the first successful read, only
   * the files' limits apply, so a server should not yet accept traffic.
   *
   * @return true after the first successful read, even if later reads fail
   */
  public boolean ready() {
    return ready.get();
  }

  /**
   * Reads the table now, on the caller's thread, for a caller that has just written to the table.
   * Blocks on the database. If the read fails, the failure is reported to the listener, like the
   * failure of any other read.
   *
   * @return whether this read, or a read that began later, has read the table, and its overrides
   *     were not refused
   */
  @CanIgnoreReturnValue
  public boolean refreshNow() {
    try {
      return refreshed().hasRead();
    } catch (Throwable e) { // reported like the failure of a periodic refresh
      broke(e);
      return false;
    }
  }

  /**
   * Applies the table's overrides to the current limits of the files. Call this method when the
   * limits of the files have changed.
   */
  public synchronized void baseChanged() {
    Limits files = base.get();
    target.replace(
        files.withOverrides(TableContent.of(rows, files.catalogue()).living(Instant.now())));
  }

  /** Stops reading; the current limits stay in force. Does not wait for a read in progress. */
  @Override
  public void close() {
    thread.shutdownNow();
  }

  private void refresh() {
    Duration next = interval;
    try {
      next = refreshed().next();
    } catch (Throwable e) { // reporting a failure can itself fail, for lack of memory or a class
      broke(e);
    } finally {
      scheduleSurely(next);
    }
  }

  /**
   * Schedules the next read. While memory is lacking, tries again to schedule the read, until the
   * refresher is closed.
   */
  void scheduleSurely(Duration wait) {
    while (!thread.isShutdown()) {
      try {
        schedule(wait);
        return;
      } catch (Throwable e) {
        LockSupport.parkNanos(UNTIL_MEMORY_NANOS);
      }
    }
  }

  private Afterwards refreshed() {
    long number = reads.incrementAndGet();
    try {
      Afterwards read = loaded(number, table.enabledRows()).tell();
      if (read.hasRead() && !thread.isShutdown()) {
        ready.set(true); // set only after the listener was notified
      }
      return read;
    } catch (SQLException e) {
      return failed(number, e).tell();
    } catch (RuntimeException | Error e) {
      // A driver's bug or a table that is too large for the heap must not end the refreshes.
      return failed(number, new SQLException(e)).tell();
    }
  }

  private void broke(Throwable failure) {
    try {
      if (logged.add(failure.getClass())) {
        LOG.log(
            Level.ERROR,
            "a refresh of the overrides failed; the next refresh reads the table again, and further failures"
                + " of this kind are only counted",
            failure);
      }
      listener.failed(Instant.now(), new SQLException(failure), interval);
    } catch (Throwable e) {
      // The refresh failed, and the report of its failure failed too.
    }
  }

  /**
   * What remains to do after a read: notify the listener, and wait.
   *
   * @param hasRead whether this read, or a read that began later, has read the table, and its
   *     overrides were not refused
   * @param next the wait before the next read
   * @param told notifies the listener. Runs without a lock, since the listener can take a lock that
   *     another caller of {@link #refreshNow} holds
   */
  private record Afterwards(boolean hasRead, Duration next, Runnable told) {

    Afterwards tell() {
      OverridesRefresher.tell(told);
      return this;
    }
  }

  private synchronized Afterwards loaded(long number, EnabledRows read) {
    failures = 0;
    succeeded = Math.max(succeeded, number);
    if (thread.isShutdown()) {
      return new Afterwards(true, interval, () -> {});
    }
    Limits files = base.get();
    TableContent content = TableContent.of(read.rows(), files.catalogue());
    badRows.log(content.bad());
    Duration next = backoff.jittered(interval);
    boolean wasEmpty = isEmpty;
    isEmpty = content.overrides().isEmpty() && !read.allDisabled();
    if (isEmpty) {
      LOG.log(
          wasEmpty ? Level.DEBUG : Level.WARNING,
          "the table of overrides has no valid row; the previous overrides stay in force");
      return new Afterwards(true, next, () -> listener.empty(Instant.now(), content.bad()));
    }
    if (number > inForce) { // otherwise the rows of a newer read are already in force
      try {
        target.replace(files.withOverrides(content.living(Instant.now())));
      } catch (IllegalArgumentException e) { // such as the check of a filter's rules
        return refused(e, next);
      }
      rows = read.rows();
      inForce = number;
    }
    Limits held = target.get();
    return new Afterwards(true, next, () -> listener.refreshed(Instant.now(), held, content.bad()));
  }

  private Afterwards refused(IllegalArgumentException failure, Duration next) {
    LOG.log(
        Level.WARNING,
        "the limits with the overrides of the table were refused; the previous limits stay in force: {0}",
        failure.getMessage());
    SQLException cause = new SQLException(failure);
    return new Afterwards(false, next, () -> listener.failed(Instant.now(), cause, next));
  }

  private synchronized Afterwards failed(long number, SQLException failure) {
    if (number < succeeded) { // what a read that began later has told is still true
      return new Afterwards(true, backoff.jittered(interval), () -> {});
    }
    failures++;
    Duration retryIn = backoff.afterFailures(failures);
    if (thread.isShutdown()) {
      return new Afterwards(false, retryIn, () -> {});
    }
    LOG.log(
        Level.WARNING,
        "could not read the table of overrides; the previous overrides stay in force; next read in {0}: {1}",
        GoDuration.format(retryIn.truncatedTo(ChronoUnit.MILLIS)),
        failure.getMessage());
    return new Afterwards(false, retryIn, () -> listener.failed(Instant.now(), failure, retryIn));
  }

  /** Calls the listener. An exception of the listener must not end the refreshes. */
  private static void tell(Runnable message) {
    try {
      message.run();
    } catch (Throwable e) {
      LOG.log(Level.ERROR, "a refresh listener threw an exception; refreshes continue", e);
    }
  }

  private void schedule(Duration wait) {
    try {
      var unused = thread.schedule(this::refresh, wait.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // The refresher was closed before the next read was scheduled.
    }
  }
}
