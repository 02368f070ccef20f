// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.text.Durations;
import dev.sluice.text.GoDuration;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/*
 * Two sources make one set of limits: the files (the base) and the table, whose overrides win where
 * both have one for an id. The files are what was deployed, the table is what an operator said
 * since. Were it a mistake to have both, one row could stop a reload of the files, or a file every
 * refresh.
 *
 * Whichever source changed last, the merge is made of the newest of each, under one lock, so that
 * a refresh and a reload at once can't undo each other. What is kept of the table is its rows, not
 * what they came to: a reload may have brought other names, or other forms of their ids.
 *
 * A table without rows never clears what holds. It is far more often a wrong database, or a table
 * that is just being filled, than a wish. To clear the table on purpose, disable its rows: a table
 * whose rows are all disabled holds nothing.
 */
/**
 * Keeps overrides from a table in the limits that hold, while the limiter runs.
 *
 * <p>Thread-safe. One daemon thread reads the table at an interval; after a failure it tries again
 * soon, then less and less often up to the interval. No other method waits for the database. Limits
 * that are the same after a refresh are not replaced.
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
  private final CompletableFuture<Void> firstLoad = new CompletableFuture<>();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(OverridesRefresher::daemon);

  private final Set<Class<?>> logged = ConcurrentHashMap.newKeySet();
  private final BadRowLog badRows = new BadRowLog("overrides");

  /** The number of the read that began last. */
  private final AtomicLong reads = new AtomicLong();

  private List<OverrideRow> rows = List.of();

  /** The number of the read that {@link #rows} are from. */
  private long inForce;

  private int failures;

  private OverridesRefresher(
      OverridesTable table,
      Supplier<Limits> base,
      CurrentLimits target,
      Duration interval,
      RefreshListener listener) {
    this.table = table;
    this.base = base;
    this.target = target;
    this.interval = Durations.positive("interval", interval);
    this.listener = listener;
    Duration firstRetry = interval.compareTo(FIRST_RETRY) < 0 ? interval : FIRST_RETRY;
    this.backoff =
        new Backoff(firstRetry, interval, () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Starts reading, at once and then at an interval. Does not wait for the first answer: see {@link
   * #firstLoad} and {@link #ready}.
   *
   * @param table the table
   * @param base the limits of the files, and the names that may be overridden; called on each
   *     change, must not block
   * @param target what is replaced by the base with the table's overrides over it
   * @param interval from the end of a read to the next, more than zero and at most 292 years; made
   *     up to half as long at random, so that a fleet does not read at once
   * @param listener told of every read; what it throws is logged
   * @return the refresher, to be closed
   * @throws IllegalArgumentException for an interval out of its range
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
   * Returns whether the table has been read once. Before that, what it overrides is held to the
   * files' limits: a server should not take traffic yet.
   *
   * @return true from the first successful read on, however later ones go
   */
  public boolean ready() {
    return firstLoad.isDone();
  }

  /**
   * The first successful read.
   *
   * @return done from then on; never fails
   */
  public CompletionStage<Void> firstLoad() {
    return firstLoad.minimalCompletionStage();
  }

  /**
   * Reads the table now, on the caller's thread, for a caller that has just written it. Blocks on
   * the database; a failure is told to the listener, as that of any other read.
   */
  public void refreshNow() {
    try {
      refreshed();
    } catch (Throwable e) { // as in a periodic refresh
      broke(e);
    }
  }

  /** To be called when the base has changed: puts the table's overrides over it. */
  public synchronized void baseChanged() {
    Limits files = base.get();
    target.replace(files.withOverrides(TableContent.of(rows, files.catalogue()).overrides()));
  }

  /** Stops reading; the limits stay. Waits for nothing, not for a read that is being applied. */
  @Override
  public void close() {
    thread.shutdownNow();
  }

  private void refresh() {
    Duration next = interval;
    try {
      next = refreshed();
    } catch (Throwable e) { // even what tells of a failure may lack memory, or a class
      broke(e);
    } finally {
      scheduleSurely(next);
    }
  }

  /** On its own thread: where no memory is to be had, it waits for some, until it is closed. */
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

  @CanIgnoreReturnValue
  private Duration refreshed() {
    try {
      long number = reads.incrementAndGet();
      Duration next = loaded(number, table.enabledRows()).tell();
      if (!thread.isShutdown()) {
        firstLoad.complete(null); // the listener knows of it by now
      }
      return next;
    } catch (SQLException e) {
      return failed(e).tell();
    } catch (RuntimeException | Error e) {
      // Nothing may end the refreshing: not a driver's mistake, nor rows too many for this memory.
      return failed(new SQLException(e)).tell();
    }
  }

  private void broke(Throwable failure) {
    try {
      if (logged.add(failure.getClass())) {
        LOG.log(
            Level.ERROR,
            "a refresh of the overrides broke off; the next one tries again, and another failure of"
                + " this kind is only counted",
            failure);
      }
      listener.failed(Instant.now(), new SQLException(failure), interval);
    } catch (Throwable e) {
      // Nothing is left to tell it with.
    }
  }

  /**
   * What a read led to.
   *
   * @param next how long to wait for the next one
   * @param told what the listener is told, by a thread that holds no lock: a listener may take one
   *     that another caller of {@link #refreshNow} holds
   */
  private record Afterwards(Duration next, Runnable told) {

    Duration tell() {
      OverridesRefresher.tell(told);
      return next;
    }
  }

  private synchronized Afterwards loaded(long number, EnabledRows read) {
    failures = 0;
    if (thread.isShutdown()) {
      return new Afterwards(interval, () -> {});
    }
    Limits files = base.get();
    TableContent content = TableContent.of(read.rows(), files.catalogue());
    badRows.log(content.bad());
    Duration next = backoff.jittered(interval);
    if (content.overrides().isEmpty() && !read.allDisabled()) {
      LOG.log(
          Level.WARNING,
          "the table of overrides has no valid row; the previous overrides stay in force");
      return new Afterwards(next, () -> listener.empty(Instant.now(), content.bad()));
    }
    if (number > inForce) { // else it may have missed what the one in force has found
      rows = read.rows();
      inForce = number;
      target.replace(files.withOverrides(content.overrides()));
    }
    Limits held = target.get();
    return new Afterwards(next, () -> listener.refreshed(Instant.now(), held, content.bad()));
  }

  private synchronized Afterwards failed(SQLException failure) {
    failures++;
    Duration retryIn = backoff.afterFailures(failures);
    if (thread.isShutdown()) {
      return new Afterwards(retryIn, () -> {});
    }
    LOG.log(
        Level.WARNING,
        "could not read the table of overrides; the previous ones stay in force; next try in {0}: {1}",
        GoDuration.format(retryIn.truncatedTo(ChronoUnit.MILLIS)),
        failure.getMessage());
    return new Afterwards(retryIn, () -> listener.failed(Instant.now(), failure, retryIn));
  }

  /** A listener that throws must not end the refreshing. */
  private static void tell(Runnable message) {
    try {
      message.run();
    } catch (Throwable e) {
      LOG.log(Level.ERROR, "a refresh listener threw an exception; refreshes go on", e);
    }
  }

  private void schedule(Duration wait) {
    try {
      var unused = thread.schedule(this::refresh, wait.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // Closed in the meantime.
    }
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "sluice-overrides-table");
    thread.setDaemon(true);
    return thread;
  }
}
