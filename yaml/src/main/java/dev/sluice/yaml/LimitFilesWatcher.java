// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/*
 * A poll compares the content of the files with the content that was last applied or rejected. A
 * change is applied when two polls in a row read the same content, since a file can be incomplete
 * while a program writes it, or missing while an editor renames it. Rejected content is remembered
 * like applied content, so its mistakes are reported only once.
 *
 * A file that was truncated at the end of a line is valid YAML, but lacks the limits or rules after
 * that line. So a change that removes a default, an override or the end of a file is applied only
 * after a third poll with the same content, and with a warning.
 *
 * If a token file has a mistake, the tokens that were removed from it are still revoked
 * (CompanionFile.reduced), after three polls with the same content.
 *
 * A valid load without any default is rejected if the current limits have some: a generator whose
 * source failed writes an empty list, and without limits every request is admitted. A load that
 * lacks a required limit (Requirement), or that rules in code do not fit, is rejected as well.
 *
 * A rollback ends only when changed files are applied. The rollback continues if files become
 * unreadable or get mistakes, and then have the same content as at the rollback.
 */
/**
 * Watches limit files, applies a valid change as a whole, and keeps the current limits after an
 * invalid change.
 *
 * <p>Thread-safe. One daemon thread polls the files. {@link #reloadNow} reads the files on the
 * caller's thread, and waits for a load in progress. {@link LimitFiles.Builder#readTimeout} bounds
 * each read. An exception never stops the polling.
 */
public final class LimitFilesWatcher implements AutoCloseable {

  private static final Logger LOG = System.getLogger(LimitFilesWatcher.class.getName());
  private static final Duration UNTIL_SECOND_LOOK = Duration.ofMillis(250);
  private static final int LOOKS = 2;
  private static final int LOOKS_BEFORE_A_LOSS = 3;
  private static final int CHANGES_THAT_ARE_A_MISTAKE = 10;
  private static final int RELOADS_OF_A_CHANGING_FILE = 4;

  private final LimitFiles files;
  private final CurrentLimits target;
  private final ReloadListener listener;
  private final Clock clock;
  private final @Nullable WatchedFile names;
  private final @Nullable WatchedFile defaults;
  private final @Nullable WatchedFile overrides;
  private final List<WatchedFile> companions;
  private final List<WatchedFile> attached;
  private final ScheduledExecutorService poller =
      Executors.newSingleThreadScheduledExecutor(
          task -> new DaemonThread(task, "sluice-limit-files"));
  private final Set<Class<?>> logged = ConcurrentHashMap.newKeySet();
  private final Object applying = new Object();

  private @Nullable Snapshot applied;
  private String settled = "";
  private String pending = "";
  private int looks;
  private @Nullable Rollback rollback; // null while the files are in force
  private int changes; // the number of consecutive polls with new content
  private boolean isRestless; // whether the listener was told last that the files keep changing
  private volatile boolean closed;

  private LimitFilesWatcher(
      LimitFiles files, CurrentLimits target, ReloadListener listener, Clock clock) {
    this.files = files;
    this.target = target;
    this.listener = listener;
    this.clock = clock;
    this.names = watched(files.names);
    this.defaults = watched(files.defaults);
    this.overrides = watched(files.overrides);
    this.companions =
        files.companionPaths().stream().map(file -> new WatchedFile(file, files.access)).toList();
    this.attached =
        files.attachedPaths().stream().map(file -> new WatchedFile(file, files.access)).toList();
  }

  private @Nullable WatchedFile watched(@Nullable Path file) {
    return file == null ? null : new WatchedFile(file, files.access);
  }

  static LimitFilesWatcher start(
      LimitFiles files,
      CurrentLimits target,
      Duration interval,
      ReloadListener listener,
      Clock clock) {
    long nanos = GoDuration.positive("interval", interval).toNanos();
    LimitFilesWatcher watcher = new LimitFilesWatcher(files, target, listener, clock);
    watcher.reloadNow();
    var unusedFuture =
        watcher.poller.scheduleWithFixedDelay(watcher::look, nanos, nanos, TimeUnit.NANOSECONDS);
    return watcher;
  }

  /**
   * Reads the files immediately, even if they are unchanged, applies them if they are valid, and
   * notifies the listener in both cases. Does nothing if {@link #putBack} was called and the
   * content is the same as at that call. If a default, an override or the end of a file was
   * removed, the files are read again after a quarter of a second, and applied only if they have
   * not changed meanwhile.
   *
   * @return whether the files were applied; false after {@link #close}
   */
  @CanIgnoreReturnValue
  public synchronized boolean reloadNow() {
    if (closed) {
      return false;
    }
    // The next polls read the files again. Otherwise, they could apply their older copies of files
    // whose time is unchanged.
    for (WatchedFile file : Arrays.asList(names, defaults, overrides)) {
      if (file != null) {
        file.forget();
      }
    }
    companions.forEach(WatchedFile::forget);
    attached.forEach(WatchedFile::forget);
    Snapshot snapshot = files.read();
    if (rollback != null && rollback.isOver(snapshot)) {
      keep(rollback, snapshot);
      return false;
    }
    Verdict verdict = act(snapshot, snapshot.fingerprint(), LOOKS);
    for (int i = 0; i < RELOADS_OF_A_CHANGING_FILE && verdict == Verdict.LOOK_AGAIN; i++) {
      if (!pause()) {
        return false;
      }
      Snapshot again = files.read();
      boolean unchanged = again.fingerprint().equals(snapshot.fingerprint());
      snapshot = again;
      verdict = act(snapshot, snapshot.fingerprint(), unchanged ? LOOKS_BEFORE_A_LOSS : LOOKS);
    }
    return verdict == Verdict.APPLIED; // files that still change are applied by a later poll
  }

  private static boolean pause() {
    try {
      Thread.sleep(UNTIL_SECOND_LOOK.toMillis());
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * Stops polling; the current limits stay in force. Does not block: a load in progress is
   * abandoned and changes nothing.
   */
  @Override
  public void close() {
    synchronized (applying) {
      closed = true;
    }
    poller.shutdownNow();
  }

  /** Polls once. An exception never stops the polling. */
  void look() {
    try {
      poll();
    } catch (Throwable e) {
      broke(e);
    }
  }

  private void broke(Throwable failure) {
    try {
      if (logged.add(failure.getClass())) {
        LOG.log(
            Level.ERROR,
            "could not check the limit files; the current limits stay in force; the next check reads them again, and"
                + " further failures of this kind are only counted",
            failure);
      }
      tell(() -> listener.broke(clock.instant(), failure));
    } catch (Throwable e) {
      // The watcher ignores an error of the log or the listener, and polls again.
    }
  }

  /** Reads the files once, and applies or rejects a change that enough polls have confirmed. */
  synchronized void poll() {
    if (closed) {
      return;
    }
    Snapshot snapshot =
        new Snapshot(
            look(names), look(defaults), look(overrides), look(companions), look(attached));
    String seen = snapshot.fingerprint();
    boolean isSame = seen.equals(pending);
    looks = isSame ? looks + 1 : 1;
    pending = seen;
    changes = isSame ? 0 : changes + 1;
    if (changes == CHANGES_THAT_ARE_A_MISTAKE) {
      isRestless = true;
      tell(() -> listener.failed(clock.instant(), List.of(restless(snapshot))));
    }
    if ((seen.equals(settled) && !isRestless) || looks < LOOKS) {
      return;
    }
    if (rollback != null && rollback.isOver(snapshot)) {
      keep(rollback, snapshot);
    } else {
      act(snapshot, seen, looks);
    }
  }

  private void settle(String fingerprint) {
    settled = fingerprint;
    isRestless = false;
  }

  private static Problem restless(Snapshot snapshot) {
    return new Problem(
        snapshot.firstFile(),
        1,
        1,
        Severity.MISTAKE,
        "this file or another file has changed at each of the last %s checks; the files are applied when two checks in a row read the same content"
            .formatted(CHANGES_THAT_ARE_A_MISTAKE));
  }

  private @Nullable FileContent look(@Nullable WatchedFile file) {
    return file == null ? null : file.look(clock.instant());
  }

  private List<FileContent> look(List<WatchedFile> watched) {
    return watched.stream().map(file -> file.look(clock.instant())).toList();
  }

  /**
   * Applies or rejects the files that were read.
   *
   * @param looks the number of polls in a row that read this content
   */
  @CanIgnoreReturnValue
  private Verdict act(Snapshot snapshot, String fingerprint, int looks) {
    Loading.Loaded outcome = Loading.of(files, snapshot, target.get());
    Snapshot before = applied;
    if (outcome.lacksOverrides() && before != null && rollback == null) {
      // An empty overrides file is rejected, but does not delay changes to the other files.
      Snapshot others = snapshot.withOverrides(before.overrides());
      Loading.Loaded rest = Loading.of(files, others, target.get());
      boolean isNews = !others.fingerprint().equals(before.fingerprint());
      if (rest.limits() != null) {
        Verdict verdict =
            // If only the overrides file has changed, an earlier poll has applied all other files.
            isNews ? act(others, fingerprint, looks, rest) : Verdict.APPLIED;
        if (verdict == Verdict.LOOK_AGAIN) {
          return verdict;
        }
        if (verdict == Verdict.APPLIED) {
          outcome = outcome.adding("; the other files are loaded, with the previous overrides");
        }
      }
    }
    return act(snapshot, fingerprint, looks, outcome);
  }

  private Verdict act(Snapshot snapshot, String fingerprint, int looks, Loading.Loaded outcome) {
    Limits limits = outcome.limits();
    if (limits == null) {
      Limits reduced = outcome.reduced().apply(target.get());
      if (!reduced.equals(target.get())) {
        if (looks < LOOKS_BEFORE_A_LOSS) {
          return Verdict.LOOK_AGAIN;
        }
        replace(reduced);
      }
      return refused(snapshot, fingerprint, outcome.mistakes());
    }
    List<Problem> reasons = losses(limits, snapshot);
    if (!reasons.isEmpty()) {
      return refused(snapshot, fingerprint, reasons);
    }
    Limits before = target.get().withoutEnded(clock.instant());
    List<Problem> warnings =
        new ArrayList<>(RemovedLimitWarnings.warnings(before, limits, applied, snapshot));
    if (!warnings.isEmpty() && looks < LOOKS_BEFORE_A_LOSS) {
      return Verdict.LOOK_AGAIN;
    }
    if (!replace(limits)) {
      return Verdict.REFUSED;
    }
    applied = snapshot;
    settle(fingerprint);
    rollback = null;
    warnings.addAll(outcome.problems());
    Instant at = clock.instant();
    Problem fault = files.copy(snapshot, at);
    if (fault != null) {
      warnings.add(fault);
    }
    tell(() -> listener.offered(at, snapshot.hash()));
    tell(() -> listener.loaded(at, limits, List.copyOf(warnings)));
    return Verdict.APPLIED;
  }

  /**
   * Returns why valid limits are rejected: a required default or every default is missing, or a
   * check of the target finds a mistake.
   */
  private List<Problem> losses(Limits limits, Snapshot snapshot) {
    List<Problem> reasons = new ArrayList<>();
    long had = defaults(target.get());
    if (had > 0 && defaults(limits) == 0) {
      reasons.add(emptied(had, snapshot));
    }
    target.unmet(limits).stream()
        .filter(one -> one.onMissing() == MissingDefault.REFUSE)
        .map(one -> Loading.missing(one, limits, snapshot, Severity.MISTAKE))
        .forEach(reasons::add);
    if (reasons.isEmpty()) {
      target.faults(limits).stream()
          .map(fault -> new Problem(snapshot.firstFile(), 1, 1, Severity.MISTAKE, fault))
          .forEach(reasons::add);
    }
    return List.copyOf(reasons);
  }

  /**
   * Reads the files without applying them.
   *
   * @param mistakes receives each mistake that a reload would find
   * @return the limits of the files, with the current overrides if the file of overrides is empty
   *     or unreadable; null if a reload would refuse the files. A rollback is ignored.
   */
  public synchronized @Nullable Limits read(Consumer<Problem> mistakes) {
    Snapshot snapshot = files.read();
    Loading.Loaded outcome = Loading.of(files, snapshot, target.get());
    outcome.mistakes().forEach(mistakes);
    Snapshot before = applied;
    if (outcome.lacksOverrides() && before != null && rollback == null) {
      snapshot = snapshot.withOverrides(before.overrides());
      outcome = Loading.of(files, snapshot, target.get());
    }
    Limits limits = outcome.limits();
    List<Problem> losses = limits == null ? List.of() : losses(limits, snapshot);
    losses.forEach(mistakes);
    return losses.isEmpty() ? limits : null;
  }

  /**
   * Puts earlier limits in force until changed files are applied. A reload of unchanged files, or
   * of files with mistakes, does not end the rollback.
   *
   * @param limits the limits of an earlier load
   * @param hash the hash that {@link ReloadListener#offered} received at the earlier load
   * @return false after {@link #close}
   */
  @CanIgnoreReturnValue
  public synchronized boolean putBack(Limits limits, String hash) {
    if (!replace(limits)) {
      return false;
    }
    Snapshot last = applied;
    boolean isOfTheFiles = last != null && last.hash().equals(hash);
    rollback = isOfTheFiles ? null : new Rollback(limits, hash, settled);
    Instant at = clock.instant();
    tell(() -> listener.putBack(at, limits, hash));
    return true;
  }

  /** Keeps a rollback in force, because the files have the same content as at the rollback. */
  private void keep(Rollback kept, Snapshot snapshot) {
    // Does nothing if the listener already knows that the rollback is in force.
    if (isRestless || !snapshot.fingerprint().equals(settled)) {
      settle(snapshot.fingerprint());
      Instant at = clock.instant();
      tell(() -> listener.offered(at, snapshot.hash()));
      tell(() -> listener.putBack(at, kept.limits, kept.hash));
    }
  }

  /**
   * A rollback: earlier limits that were put in force again.
   *
   * @param over the fingerprint of the files at the time of the rollback
   */
  private record Rollback(Limits limits, String hash, String over) {

    boolean isOver(Snapshot snapshot) {
      return snapshot.fingerprint().equals(over);
    }
  }

  @CanIgnoreReturnValue
  private boolean replace(Limits limits) {
    synchronized (applying) {
      if (!closed) {
        target.replace(limits);
      }
      return !closed;
    }
  }

  /** Returns the mistake to report if a reload would leave no default. */
  private static Problem emptied(long had, Snapshot files) {
    return new Problem(
        files.firstFile(),
        1,
        1,
        Severity.MISTAKE,
        "found no defaults, so the current defaults (%s) stay in force; to remove all defaults, restart"
            .formatted(had));
  }

  private static long defaults(Limits limits) {
    return limits.configured().stream().filter(limits::hasDefault).count();
  }

  private Verdict refused(Snapshot snapshot, String fingerprint, List<Problem> problems) {
    settle(fingerprint);
    if (!closed) { // after close(), an aborted read is not a failure
      Instant at = clock.instant();
      tell(() -> listener.offered(at, snapshot.hash()));
      tell(() -> listener.failed(at, problems));
    }
    return Verdict.REFUSED;
  }

  /** Calls the listener. The uncaught exception handler receives an exception of the listener. */
  private static void tell(Runnable message) {
    try {
      message.run();
    } catch (Throwable e) {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }
  }

  private enum Verdict {
    APPLIED,
    REFUSED,
    LOOK_AGAIN
  }
}
