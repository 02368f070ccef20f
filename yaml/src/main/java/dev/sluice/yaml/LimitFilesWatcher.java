// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.text.Durations;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * A poll compares what the files hold with what was applied (or refused) last, by content. A change
 * is acted on when two polls in a row see the same content. A file that is just being written, or
 * gone for a moment while an editor renames, differs between them. A refused content is remembered
 * like an applied one, so it is reported once.
 *
 * A file that was cut at the end of a line is good YAML, and lacks the limits or rules behind the
 * cut. So a change that takes a default, an override or the end of a file away has to look the same
 * once more, and is applied with a warning.
 *
 * A file of tokens that has a mistake still takes tokens away (CompanionFile.reduced), once it has
 * looked the same three times.
 *
 * A good load that would drop every default, or every override, is refused too. An empty list is
 * what a generator writes whose source failed, and without limits every gate stands open. So is one
 * that lacks a limit that something asks for (Requirement).
 */
/**
 * Watches limit files, applies a good change as a whole, and keeps the limits when there is a bad
 * one.
 *
 * <p>Thread-safe. One daemon thread looks at the files; {@link #reloadNow} reads them in the
 * caller's thread, and waits for a load that is under way. No file is waited for longer than {@link
 * LimitFiles.Builder#readTimeout} says, and nothing that is thrown ends the watching.
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
      Executors.newSingleThreadScheduledExecutor(LimitFilesWatcher::daemon);
  private final Set<Class<?>> logged = ConcurrentHashMap.newKeySet();
  private final Object applying = new Object();

  private @Nullable Snapshot applied;
  private String settled = "";
  private String pending = "";
  private int looks;
  private int changes; // looks in a row that found something new
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
    long nanos = Durations.positive("interval", interval).toNanos();
    LimitFilesWatcher watcher = new LimitFilesWatcher(files, target, listener, clock);
    watcher.reloadNow();
    var unusedFuture =
        watcher.poller.scheduleWithFixedDelay(watcher::look, nanos, nanos, TimeUnit.NANOSECONDS);
    return watcher;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "sluice-limit-files");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Reads the files at once, changed or not, and applies them if they are good. The listener is
   * told either way. Files that take a default, an override or their own end away are read again
   * after a quarter of a second, and applied if they have not changed.
   *
   * @return whether they were applied; false after {@link #close}
   */
  @CanIgnoreReturnValue
  public synchronized boolean reloadNow() {
    if (closed) {
      return false;
    }
    Snapshot snapshot = files.read();
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
    return verdict == Verdict.APPLIED; // else the polls go on looking
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
   * Stops watching; the limits stay. Does not wait: a load that is under way is given up, and
   * changes nothing any more.
   */
  @Override
  public void close() {
    synchronized (applying) {
      closed = true;
    }
    poller.shutdownNow();
  }

  /** A look that nothing ends the watching by. */
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
            "could not check the limit files; the current limits stay in force; the next check tries again, and"
                + " another failure of this kind is only counted",
            failure);
      }
      tell(() -> listener.broke(clock.instant(), failure));
    } catch (Throwable e) {
      // Nothing is left to tell it with; the next look is due all the same.
    }
  }

  /** One look at the files. */
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
      tell(() -> listener.failed(clock.instant(), List.of(restless(snapshot))));
    }
    if (!seen.equals(settled) && looks >= LOOKS) {
      act(snapshot, seen, looks);
    }
  }

  private static Problem restless(Snapshot snapshot) {
    return new Problem(
        snapshot.firstFile(),
        1,
        1,
        Severity.MISTAKE,
        ("the files have changed at each of the last %s looks, this one or one beside it; they are"
                + " applied when two looks in a row find the same content")
            .formatted(CHANGES_THAT_ARE_A_MISTAKE));
  }

  private @Nullable FileContent look(@Nullable WatchedFile file) {
    return file == null ? null : file.look(clock.instant());
  }

  private List<FileContent> look(List<WatchedFile> watched) {
    return watched.stream().map(file -> file.look(clock.instant())).toList();
  }

  /**
   * Applies what was read, or refuses it.
   *
   * @param looks how often the files were seen like this
   */
  @CanIgnoreReturnValue
  private Verdict act(Snapshot snapshot, String fingerprint, int looks) {
    Loading.Loaded outcome = Loading.of(files, snapshot);
    Snapshot before = applied;
    if (outcome.lacksOverrides() && before != null) {
      // A file of overrides without anything in it is refused, and holds up no file beside it.
      Snapshot others = snapshot.withOverrides(before.overrides());
      Loading.Loaded rest = Loading.of(files, others);
      boolean isNews = !others.fingerprint().equals(before.fingerprint());
      if (isNews
          && rest.limits() != null
          && act(others, fingerprint, looks, rest) == Verdict.LOOK_AGAIN) {
        return Verdict.LOOK_AGAIN;
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
    List<Problem> reasons = new ArrayList<>(EmptyReload.problems(target.get(), limits, snapshot));
    target.unmet(limits).stream()
        .filter(one -> one.onMissing() == MissingDefault.REFUSE)
        .map(one -> Loading.missing(one, limits, snapshot, Severity.MISTAKE))
        .forEach(reasons::add);
    if (!reasons.isEmpty()) {
      return refused(snapshot, fingerprint, List.copyOf(reasons));
    }
    List<Problem> warnings =
        new ArrayList<>(Vanished.warnings(target.get(), limits, applied, snapshot));
    if (!warnings.isEmpty() && looks < LOOKS_BEFORE_A_LOSS) {
      return Verdict.LOOK_AGAIN;
    }
    if (!replace(limits)) {
      return Verdict.REFUSED;
    }
    applied = snapshot;
    settled = fingerprint;
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

  /** Returns whether the limits hold now: not after {@link #close}. */
  @CanIgnoreReturnValue
  private boolean replace(Limits limits) {
    synchronized (applying) {
      if (!closed) {
        target.replace(limits);
      }
      return !closed;
    }
  }

  private Verdict refused(Snapshot snapshot, String fingerprint, List<Problem> problems) {
    settled = fingerprint;
    if (!closed) { // reading was perhaps ended by that
      Instant at = clock.instant();
      tell(() -> listener.offered(at, snapshot.hash()));
      tell(() -> listener.failed(at, problems));
    }
    return Verdict.REFUSED;
  }

  /** A listener that throws must not end the watching. */
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
