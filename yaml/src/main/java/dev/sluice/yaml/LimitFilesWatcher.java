package dev.sluice.yaml;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * A poll compares what the files hold with what was applied (or refused) last, by content. A change
 * is acted on when two polls in a row see the same content: a file that is just being written, or
 * gone for a moment while an editor renames, differs between them. A refused content is
 * remembered like an applied one, so it is reported once.
 *
 * A good load that would drop every default, or every override, is refused too. An empty list is
 * what a generator writes whose source failed, and without limits every gate stands open.
 */
/**
 * Watches limit files, applies a good change as a whole, and keeps the limits when there is a bad
 * one.
 *
 * <p>Thread-safe. One daemon thread looks at the files; {@link #reloadNow} reads them in the
 * caller's thread, and waits for a load that is under way.
 */
public final class LimitFilesWatcher implements AutoCloseable {

  private final LimitFiles files;
  private final CurrentLimits target;
  private final ReloadListener listener;
  private final Clock clock;
  private final @Nullable WatchedFile names;
  private final @Nullable WatchedFile defaults;
  private final @Nullable WatchedFile overrides;
  private final ScheduledExecutorService poller =
      Executors.newSingleThreadScheduledExecutor(LimitFilesWatcher::daemon);

  private String settled = "";
  private String pending = "";
  private boolean closed;

  private LimitFilesWatcher(
      LimitFiles files, CurrentLimits target, ReloadListener listener, Clock clock) {
    this.files = files;
    this.target = target;
    this.listener = listener;
    this.clock = clock;
    this.names = files.names == null ? null : new WatchedFile(files.names);
    this.defaults = files.defaults == null ? null : new WatchedFile(files.defaults);
    this.overrides = files.overrides == null ? null : new WatchedFile(files.overrides);
  }

  static LimitFilesWatcher start(
      LimitFiles files,
      CurrentLimits target,
      Duration interval,
      ReloadListener listener,
      Clock clock) {
    if (interval.isNegative() || interval.isZero()) {
      throw new IllegalArgumentException(
          "interval: found " + interval + ", expected a duration > 0");
    }
    LimitFilesWatcher watcher = new LimitFilesWatcher(files, target, listener, clock);
    boolean unused = watcher.reloadNow();
    long nanos = interval.toNanos();
    var unusedFuture =
        watcher.poller.scheduleWithFixedDelay(watcher::poll, nanos, nanos, TimeUnit.NANOSECONDS);
    return watcher;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "sluice-limit-files");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Reads the files at once, changed or not, and applies them if they are good. The listener is
   * told either way.
   *
   * @return whether they were applied; false after {@link #close}
   */
  public synchronized boolean reloadNow() {
    if (closed) {
      return false;
    }
    Snapshot snapshot = files.read();
    return act(snapshot, snapshot.fingerprint());
  }

  /** Stops watching; the limits stay. Waits for a load that is under way. */
  @Override
  public synchronized void close() {
    closed = true;
    poller.shutdownNow();
  }

  /** One look at the files. */
  synchronized void poll() {
    if (closed) {
      return;
    }
    Snapshot snapshot = new Snapshot(look(names), look(defaults), look(overrides));
    String seen = snapshot.fingerprint();
    if (!seen.equals(settled) && seen.equals(pending)) {
      boolean unused = act(snapshot, seen);
    }
    pending = seen;
  }

  private @Nullable FileContent look(@Nullable WatchedFile file) {
    return file == null ? null : file.look(clock.instant());
  }

  private boolean act(Snapshot snapshot, String fingerprint) {
    settled = fingerprint;
    Loading.Outcome outcome = Loading.of(files, snapshot);
    Limits limits = outcome.limits();
    if (limits == null) {
      tell(() -> listener.failed(clock.instant(), outcome.mistakes()));
      return false;
    }
    List<Problem> emptied = Emptied.problems(target.get(), limits, snapshot);
    if (!emptied.isEmpty()) {
      tell(() -> listener.failed(clock.instant(), emptied));
      return false;
    }
    target.replace(limits);
    Instant at = clock.instant();
    tell(() -> listener.loaded(at, limits, outcome.problems()));
    return true;
  }

  /** A listener that throws must not end the watching. */
  private static void tell(Runnable message) {
    try {
      message.run();
    } catch (RuntimeException e) {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }
  }
}
