// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.LimitOverride.Lowered;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.admin.Keeper.MemoryKeeper;
import dev.sluice.server.admin.Keeper.TableKeeper;
import dev.sluice.server.admin.Setting.Kept;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Periodic;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.yaml.internal.OverrideDoubts;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * The limits in force have three layers: the deployed limits (the base), the overrides set at run
 * time, and the penalties. After any change, the limits are rebuilt from the newest version of each
 * layer, under one lock.
 *
 * The lock for rebuilding is never held while the server reads or saves overrides and penalties, so
 * new deployed limits never wait for a database. A second lock, `place`, lets only one thread at a
 * time read or save overrides and penalties. A thread that needs both locks takes `place` first.
 * Code that reacts to new deployed limits never takes `place`.
 *
 * A change is saved before it comes into force, so a confirmed change survives a crash. A saved
 * change is in force even if it cannot be read back; only an override in a table is then in force
 * after the next read. Before each change, and at an interval, a server reads what other servers
 * have saved in the same file or database.
 *
 * A penalty is saved before its debt is charged to the bucket, and a debt is given back before its
 * penalty is replaced or removed. So after a failure between two steps, every debt in a bucket still
 * has its penalty, and the caller can repeat the change. Giving a debt back never adds tokens to a
 * bucket that is not in debt, even if the debt was never charged.
 *
 * A saved entry can outlive its limit. If its limit was removed, or its id no longer has the right
 * form, the entry is logged and has no effect until a limit accepts the entry again.
 */

/**
 * Overrides and penalties that are set while the server runs. Thread-safe. Each change blocks until
 * it is saved, and a change of a penalty also waits for the bucket store.
 */
public final class RuntimeLimits implements Generations.Beside, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(RuntimeLimits.class);
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
  private static final Duration FIRST_RETRY = Duration.ofSeconds(1);
  private static final int MOST_DOUBLINGS = 20;
  private static final int MOST_TOLD = 10;

  /** The time before an override's end at which the server first warns of the end. */
  private static final Duration NOTICE = Duration.ofDays(7);

  private static final String UNREAD =
      "the table of overrides could not be read (the server's log has the cause)";

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final CurrentLimits base;
  private final CurrentLimits inForce;
  private final Keeper keeper;
  private final BucketStore store;
  private final BooleanSupplier refresh; // reads the overrides table, if there is one
  private final ScheduledExecutorService looks;
  private final Duration every;
  private final Object place = new Object(); // held during all calls of the keeper
  private final @Nullable CurrentLimits deployed; // null without a table
  private @Nullable Catalogue loadedFor; // guarded by place
  private Kept kept = Kept.NOTHING; // guarded by this
  private volatile Set<LimitOverride> keptOverrides = Set.of();
  private String complained = ""; // guarded by this
  private Set<String> unasked = Set.of(); // guarded by this
  private volatile List<LimitOverride> ending = List.of();
  private volatile Instant nextEnd = Instant.MAX; // when the limits or `ending` must change
  private volatile List<String> mistakes = List.of();
  private volatile boolean unread; // whether the last read of the table of overrides failed
  private final AtomicLong failedReads = new AtomicLong();
  private volatile boolean ready;
  private int failuresInARow; // used only by the polling thread
  private long dueNanos = System.nanoTime(); // used only by the polling thread

  private RuntimeLimits(
      CurrentLimits base,
      @Nullable CurrentLimits deployed,
      Keeper keeper,
      BucketStore store,
      BooleanSupplier refresh,
      Duration every) {
    this.base = base;
    this.deployed = deployed;
    this.inForce = base.derived();
    this.keeper = keeper;
    this.store = store;
    this.refresh = refresh;
    this.looks = Periodic.scheduler("sluice-runtime-limits");
    this.every = every;
  }

  /** Reads the saved overrides and penalties before the first request. */
  private RuntimeLimits loaded() {
    synchronized (place) {
      reload();
    }
    return looking(every);
  }

  /** Starts to poll the saved changes with a short fixed delay, so that runs allocate nothing. */
  private RuntimeLimits looking(Duration first) {
    long tickNanos = Math.min(every.toNanos(), FIRST_RETRY.toNanos());
    var unused =
        looks.scheduleWithFixedDelay(
            Periodic.task(
                log, "reading the saved overrides and penalties", () -> lookIfDue(tickNanos)),
            Math.min(first.toNanos(), tickNanos),
            tickNanos,
            TimeUnit.NANOSECONDS);
    return this;
  }

  private void lookIfDue(long tickNanos) {
    if (!Instant.now().isBefore(nextEnd)) {
      baseChanged();
    }
    if (System.nanoTime() - dueNanos < 0) {
      return;
    }
    failuresInARow = look(false) ? 0 : failuresInARow + 1;
    long waitNanos =
        failuresInARow == 0
            ? every.toNanos()
            : Math.min(
                every.toNanos(),
                FIRST_RETRY.toNanos() << Math.min(failuresInARow - 1, MOST_DOUBLINGS));
    dueNanos = System.nanoTime() + waitNanos - tickNanos / 2; // rounds to the nearest tick
  }

  /** Returns limits whose overrides and penalties are lost when the process ends. */
  public static RuntimeLimits inMemory(CurrentLimits base, BucketStore store) {
    return new RuntimeLimits(base, null, new MemoryKeeper(), store, () -> true, LOOK_EVERY)
        .loaded();
  }

  /**
   * Returns limits whose overrides are saved in a file, and whose penalties are saved in
   * FILE.penalties.
   *
   * @param file the file, created if missing, with FILE.lock beside it; only servers may write to
   *     the file
   * @throws KeepException if the files cannot be read or written
   */
  public static RuntimeLimits inFile(Path file, CurrentLimits base, BucketStore store) {
    return new RuntimeLimits(base, null, new FileKeeper(file), store, () -> true, LOOK_EVERY)
        .loaded();
  }

  /**
   * Returns limits whose overrides and penalties are saved in database tables, without waiting for
   * the database: saved penalties are in force after the first successful read, see {@link #ready}.
   *
   * @param every how often the penalties are read; after a failure, retries start after 1 s
   * @param refresh reads the table of overrides into {@code base}, calls {@link #tableRead}, and
   *     returns whether the table was read; blocks
   * @param base the deployed limits with the table's overrides
   * @param deployed the deployed limits without the table's overrides
   */
  public static RuntimeLimits inTable(
      DataSource database,
      Duration every,
      BooleanSupplier refresh,
      CurrentLimits base,
      CurrentLimits deployed,
      BucketStore store) {
    Keeper keeper = new TableKeeper(database);
    return new RuntimeLimits(base, deployed, keeper, store, refresh, every).looking(Duration.ZERO);
  }

  /** Returns the holder of the limits in force; every change replaces the holder's limits. */
  public CurrentLimits limits() {
    return inForce;
  }

  /** Returns what saves overrides and penalties: {@code memory}, {@code file} or {@code table}. */
  public String place() {
    return keeper.place();
  }

  /**
   * Whether the saved overrides and penalties have been read once, even if later reads failed.
   * Before the first read, saved penalties are not in force, so the server should not receive
   * traffic.
   */
  public boolean ready() {
    return ready;
  }

  /** Returns how many reads of the saved overrides and penalties have failed since the start. */
  public long failedReads() {
    return failedReads.get();
  }

  /** Rebuilds the limits after a change of the deployed limits. */
  public synchronized void baseChanged() {
    apply();
  }

  /**
   * Rebuilds the limits after a read of the table of overrides. After a failed read, the previous
   * limits stay in force, and {@link #mistakes} contains the failure until a later read succeeds.
   */
  public void tableRead(boolean succeeded) {
    unread = !succeeded;
    if (succeeded) {
      baseChanged();
    }
  }

  /** Stops polling the saved overrides and penalties; the current limits remain in force. */
  @Override
  public void close() {
    looks.shutdownNow();
  }

  /**
   * Reads the saved overrides and penalties, if {@code always} or if they may have changed; returns
   * whether they could be read.
   */
  private boolean look(boolean always) {
    synchronized (place) { // also for the mistakes, which must not replace a later read's
      try {
        if (always) {
          reload();
        } else {
          follow();
        }
        return true;
      } catch (Throwable e) { // a scheduled task that throws would never run again
        failedReads.incrementAndGet();
        String why = e instanceof KeepException ? String.valueOf(e.getMessage()) : e.toString();
        mistakes = why.lines().toList();
        complain("overrides and penalties cannot be read; the previous ones stay in force: " + why);
        return false;
      }
    }
  }

  /**
   * Reads the saved overrides and penalties, and returns whether they are in force; if not, {@link
   * #mistakes} returns the reasons. Blocks until the overrides and penalties are read.
   */
  @Override
  public boolean read() {
    boolean hasTable = refresh.getAsBoolean(); // also calls tableRead
    return look(false) && hasTable;
  }

  /**
   * Returns why the last read of the overrides, or the last read of the penalties, failed; empty if
   * both succeeded.
   */
  @Override
  public List<String> mistakes() {
    List<String> all = new ArrayList<>(mistakes);
    if (unread) {
      all.add(UNREAD + "; the previous overrides stay in force");
    }
    return List.copyOf(all);
  }

  /** Puts changes by other servers in force; needs the lock {@code place}. */
  private void follow() {
    // A saved override or penalty that had no effect can fit a new or changed limit. After a failed
    // read, only a further read shows that the mistake is gone.
    if (keeper.hasChanged() || !base.get().catalogue().equals(loadedFor) || !mistakes.isEmpty()) {
      reload();
    }
  }

  /**
   * Puts a saved change in force; {@code now} is null if the setting was removed. The change is
   * read back, but a failed read is only logged and counted. Needs the lock {@code place}.
   */
  private <T> void saved(Setting<T> kind, LimitName name, String id, @Nullable T now) {
    if (deployed != null && kind.equals(Setting.OVERRIDE)) {
      var unused = refresh.getAsBoolean(); // a table's overrides are a part of the base
      return;
    }
    if (look(true)) {
      return;
    }
    synchronized (this) {
      List<T> all = kind.without(name.name(), id, kept);
      if (now != null) {
        all.add(now);
      }
      kept = kind.with(all, kept);
      apply();
    }
  }

  /** Reads saved overrides and penalties, and puts them in force; needs the lock {@code place}. */
  private void reload() {
    Catalogue names = base.get().catalogue();
    Kept read = keeper.load(names);
    loadedFor = names;
    synchronized (this) {
      kept = read;
      complained = "";
      apply();
    }
    mistakes = List.of();
    ready = true;
  }

  /** Logs an error. An equal error is logged again only after a successful read. */
  private synchronized void complain(String what) {
    if (!what.equals(complained)) {
      complained = what;
      log.error("{}", what);
    }
  }

  private void apply() {
    Limits now = base.get();
    Catalogue names = now.catalogue();
    Instant at = Instant.now();
    List<LimitOverride> overrides =
        fitting(Setting.OVERRIDE, names).stream().filter(one -> !one.isEndedAt(at)).toList();
    // A penalty ends by the store's clock, which can be behind; long after its end it costs calls.
    Instant longOver = at.minus(Keeper.GRACE);
    List<Penalty> penalties =
        fitting(Setting.PENALTY, names).stream()
            .filter(one -> !Setting.PENALTY.isEndedAt(longOver, one))
            .toList();
    keptOverrides = Set.copyOf(overrides);
    List<LimitOverride> added = underEnded(now, at);
    added.addAll(overrides);
    Limits next = now.withoutEnded(at).withOverrides(added).withPenalties(penalties);
    inForce.replace(next);
    warnOfUnasked(RuleBook.of(now), overrides, penalties);
    followEnds(next, penalties, at);
  }

  /** Returns the files' overrides that are in force now that overrides of the table have ended. */
  private List<LimitOverride> underEnded(Limits now, Instant at) {
    CurrentLimits files = deployed;
    List<LimitOverride> under = new ArrayList<>();
    if (files != null) {
      Limits ofFiles = files.get();
      for (LimitName name : now.catalogue().names()) {
        Set<String> ended =
            now.overridesOf(name).stream()
                .filter(one -> one.isEndedAt(at))
                .map(LimitOverride::id)
                .collect(Collectors.toSet());
        if (!ended.isEmpty()) {
          ofFiles.overridesOf(name).stream()
              .filter(one -> ended.contains(one.id()) && !one.isEndedAt(at))
              .forEach(under::add);
        }
      }
    }
    return under;
  }

  /** Logs the overrides that have ended or will end soon, and sets the time of the next check. */
  private void followEnds(Limits now, List<Penalty> penalties, Instant at) {
    Instant notice = at.plus(NOTICE);
    List<LimitOverride> soon = new ArrayList<>();
    Instant change =
        penalties.stream()
            .map(one -> one.until().plus(Keeper.GRACE))
            .min(Comparator.naturalOrder())
            .orElse(Instant.MAX);
    for (LimitOverride one : now.overrides()) {
      Instant until = one.until();
      if (until != null) {
        boolean isSoon = !until.isAfter(notice);
        if (isSoon) {
          soon.add(one);
        }
        Instant next = isSoon ? until : until.minus(NOTICE);
        change = next.isBefore(change) ? next : change;
      }
    }
    soon.sort(Comparator.comparing(one -> Objects.requireNonNull(one.until())));
    List<LimitOverride> before = ending;
    ending = List.copyOf(soon);
    nextEnd = change;
    tellEach("the override of {} for {} ended at {}", before, one -> one.isEndedAt(at));
    Set<LimitOverride> told = Set.copyOf(before);
    tellEach("the override of {} for {} ends at {}", soon, one -> !told.contains(one));
  }

  private static void tellEach(
      String message, List<LimitOverride> all, Predicate<LimitOverride> which) {
    List<LimitOverride> told = all.stream().filter(which).toList();
    told.stream()
        .limit(MOST_TOLD)
        .forEach(one -> log.warn(message, one.name(), SafeText.quote(one.id()), one.until()));
    if (told.size() > MOST_TOLD) {
      log.warn("and {} more overrides", told.size() - MOST_TOLD);
    }
  }

  /** Returns the overrides in force that end within a week, sorted by their end. */
  public List<LimitOverride> ending() {
    return ending;
  }

  /** Returns the settings whose limits exist, with the limits' current names. Needs the lock. */
  private <T> List<T> fitting(Setting<T> kind, Catalogue names) {
    List<T> fitting = new ArrayList<>();
    for (T one : kind.in(kept)) {
      LimitName name = kind.fitting(one, names);
      if (name != null) {
        fitting.add(kind.moved(one, name, kind.id(one)));
      } else {
        log.warn("left out {} of {}: the limit was changed or removed", kind, kind.name(one));
      }
    }
    return fitting;
  }

  /** Warns once of each override or penalty, not from limit files, whose id no rule charges. */
  private void warnOfUnasked(RuleBook book, List<LimitOverride> set, List<Penalty> penalties) {
    Set<String> found = new LinkedHashSet<>();
    if (book.size() > 0) {
      List<LimitOverride> overrides = new ArrayList<>(set);
      CurrentLimits files = deployed;
      if (files != null) {
        overrides.addAll(added(base.get(), files.get()));
      }
      for (LimitOverride one : overrides) {
        addUnasked("an override", one.name(), book.doubt(one), found);
      }
      for (Penalty one : penalties) {
        addUnasked("a penalty", one.name(), book.doubt(one.name(), one.id()), found);
      }
    }
    found.stream()
        .filter(text -> !unasked.contains(text))
        .limit(MOST_TOLD)
        .forEach(text -> log.warn("{}", text));
    unasked = found;
  }

  private static void addUnasked(
      String what, LimitName name, @Nullable String doubt, Set<String> found) {
    if (doubt != null) {
      found.add("%s of %s affects no request that a rule charges: %s".formatted(what, name, doubt));
    }
  }

  /** Returns the overrides of some limits that other limits do not have. */
  public static List<LimitOverride> added(Limits limits, Limits others) {
    Set<LimitOverride> known = Set.copyOf(others.overrides());
    return limits.overrides().stream().filter(one -> !known.contains(one)).toList();
  }

  /** Returns the override that is in force for a canonical id, null for none. */
  public @Nullable LimitOverride override(LimitName name, String id) {
    return inForce.get().overridesOf(name).stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElse(null);
  }

  /** Returns the override in force for a canonical id if it was set at run time, otherwise null. */
  public @Nullable LimitOverride keptFor(LimitName name, String id) {
    LimitOverride now = override(name, id);
    return now != null && isKept(now) ? now : null;
  }

  /** Whether an override was set at run time, and not deployed with the limits. */
  public boolean isKept(LimitOverride override) {
    CurrentLimits files = deployed;
    return files == null
        ? keptOverrides.contains(override)
        : !files.get().overridesOf(override.name()).contains(override);
  }

  /**
   * An override that was saved.
   *
   * @param before the override that was in force before
   * @param override the override that was saved, with what it has kept of the override before
   * @param warnings the warnings that a file with this canonical id would get; a warning if no rule
   *     charges the override's id; and a warning if the override is not in force before the next
   *     read of the table, since the table could not be read at once
   */
  public record Saved(
      @Nullable LimitOverride before, LimitOverride override, List<String> warnings) {

    public Saved {
      warnings = List.copyOf(warnings);
    }
  }

  /**
   * Saves an override and puts it in force. A missing comment or author is copied from the current
   * override.
   *
   * @param keepsEnd whether the end is copied from the current override, too
   * @param mayLower whether the override may be lower than the override in force, or have fewer
   *     quotas
   * @throws LoweredException if the override is lower than the one in force or has fewer quotas,
   *     and {@code mayLower} is false
   * @throws KeepException if the table of overrides could not be read, or the change could not be
   *     saved; then nothing has changed
   */
  @CanIgnoreReturnValue
  public Saved put(LimitOverride asked, boolean keepsEnd, boolean mayLower) {
    LimitName name = asked.name();
    LimitOverride override = asked;
    Limits before;
    LimitOverride present;
    synchronized (place) {
      if (!refresh.getAsBoolean()) {
        throw new KeepException(UNREAD + ", so the override was not saved", null);
      }
      follow();
      before = inForce.get();
      present = override(name, asked.id());
      if (present != null && present.isEndedAt(Instant.now())) {
        present = null;
      }
      Lowered lowered = present == null || mayLower ? null : asked.lowers(present);
      if (lowered != null) {
        throw new LoweredException(List.of(lowered));
      }
      if (present != null) {
        override =
            new LimitOverride(
                asked.name(),
                asked.id(),
                asked.quotas(),
                asked.comment().isEmpty() ? present.comment() : asked.comment(),
                asked.author().isEmpty() ? present.author() : asked.author(),
                keepsEnd ? present.until() : asked.until());
      }
      keeper.put(Setting.OVERRIDE, override, base.get().catalogue());
      saved(Setting.OVERRIDE, name, override.id(), override);
    }
    if (!name.overridesOnly() && !before.isConfigured(name) && inForce.get().isConfigured(name)) {
      log.warn("an override was set for {}, which has no default quota for other ids", name);
    }
    List<String> doubts = new ArrayList<>(OverrideDoubts.of(override, before));
    String unasked = RuleBook.of(before).doubt(override);
    if (unasked != null) {
      doubts.add(unasked);
    }
    LimitOverride now = override(name, override.id());
    boolean isInForce =
        now != null
            && now.quotas().equals(override.quotas())
            && Objects.equals(now.until(), override.until());
    if (!isInForce) {
      doubts.add("the override is saved, but is not in force yet");
    }
    return new Saved(present, now != null && isInForce ? now : override, doubts);
  }

  /**
   * Returns a warning if no rule charges a penalty's id, so that no rule applies the penalty;
   * otherwise an empty list. A warning names the ids that the rules do charge.
   */
  public List<String> doubts(Penalty penalty) {
    String unasked = RuleBook.of(inForce.get()).doubt(penalty.name(), penalty.id());
    return unasked == null ? List.of() : List.of(unasked);
  }

  /**
   * Removes a canonical id's override, if set at run time; false if there was none. If the table of
   * overrides cannot be read at once, the removed override {@linkplain #keptFor stays in force}
   * until the next read.
   */
  public boolean remove(LimitName name, String id) {
    return remove(Setting.OVERRIDE, name, id);
  }

  /** Returns a task that removes a setting that no limit accepts; null without such a setting. */
  public <T> @Nullable BooleanSupplier leftOut(Setting<T> kind, String limit, String id) {
    return kind.in(kept()).stream()
        .filter(one -> kind.isFor(one, limit, id))
        .filter(one -> kind.fitting(one, base.get().catalogue()) == null)
        .findFirst()
        .<BooleanSupplier>map(one -> () -> remove(kind, kind.name(one), id))
        .orElse(null);
  }

  private synchronized Kept kept() {
    return kept;
  }

  /**
   * Bans an id: its bucket counts as empty until an instant.
   *
   * @throws IllegalArgumentException if nothing limits the id, or {@code until} is not in the
   *     future
   * @throws KeepException if the ban could not be saved; then it is not in force, but the debt of
   *     the id's previous penalty can have been given back
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public Penalty ban(LimitName name, String id, Instant until, Note note) {
    Reading now = look(name, id, quota(name, id));
    Penalty penalty = new Penalty(name, id, until, 0, note.comment(), note.author());
    if (!penalty.holdsAt(now.nowNanos())) {
      throw new IllegalArgumentException(
          "until: found %s, expected an instant after now (%s by the store's clock)"
              .formatted(until, instant(now.nowNanos())));
    }
    replace(penalty);
    return penalty;
  }

  /**
   * Bans an id for a duration, measured by the store's clock.
   *
   * @param time how long the ban lasts, positive
   * @throws IllegalArgumentException if nothing limits the id, or the ban's end is too far away
   * @throws KeepException if the ban could not be saved; then it is not in force, but the debt of
   *     the id's previous penalty can have been given back
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public Penalty banFor(LimitName name, String id, Duration time, Note note) {
    Reading now = look(name, id, quota(name, id));
    Instant until = instant(now.nowNanos()).plus(time);
    Penalty penalty = new Penalty(name, id, until, 0, note.comment(), note.author());
    replace(penalty);
    return penalty;
  }

  /**
   * Empties a bucket and charges a debt to it. Requests for the id are denied until the debt is
   * refilled; at that moment the bucket is empty. A call that failed can be repeated.
   *
   * @param tokens the size of the debt, at least 1
   * @throws IllegalArgumentException if nothing limits the id, or the debt is so large that it
   *     would never be refilled
   * @throws KeepException if the penalty could not be saved; then it is not in force
   * @throws dev.sluice.store.StoreException if the store does not answer; then the penalty can be
   *     in force although the debt was not charged
   */
  public Penalty owe(LimitName name, String id, long tokens, Note note) {
    Quota quota = quota(name, id);
    Reading now = look(name, id, quota);
    long debtNanos;
    long tatNanos;
    try {
      debtNanos = Math.multiplyExact(tokens, quota.intervalNanos());
      tatNanos = Math.addExact(Math.addExact(now.nowNanos(), debtNanos), quota.offsetNanos());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "owe: found %s, expected fewer tokens: at one token per %s ns, the debt would never end"
              .formatted(tokens, quota.intervalNanos()));
    }
    Instant until = instant(now.nowNanos()).plusNanos(debtNanos);
    Penalty penalty = new Penalty(name, id, until, tokens, note.comment(), note.author());
    replace(penalty);
    long aheadNanos = tatNanos - look(name, id, quota).nowNanos();
    if (aheadNanos > 0) {
      // Moves the TAT to tatNanos at most, plus the time between look() and charge(): if two
      // servers charge the same debt, it is charged once.
      charge(name, id, new Effect(Effect.Op.SPEND_UP_TO, aheadNanos, aheadNanos, 1));
    }
    return penalty;
  }

  /**
   * Removes and returns a penalty, which can have ended; returns null if there was none. If the
   * penalty is a debt, the rest of the debt is refunded, and the bucket is then empty. A call that
   * failed can be repeated.
   *
   * @throws KeepException if the removal could not be saved; then the penalty stays in force
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public @Nullable Penalty acquit(LimitName name, String id) {
    Penalty penalty = giveBackDebt(name, id);
    return remove(Setting.PENALTY, name, id) ? penalty : null;
  }

  private <T> boolean remove(Setting<T> kind, LimitName name, String id) {
    synchronized (place) {
      boolean removed = keeper.remove(kind, name, id, base.get().catalogue());
      saved(kind, name, id, null);
      return removed;
    }
  }

  private void replace(Penalty penalty) {
    var unused = giveBackDebt(penalty.name(), penalty.id());
    synchronized (place) {
      keeper.put(Setting.PENALTY, penalty, base.get().catalogue());
      saved(Setting.PENALTY, penalty.name(), penalty.id(), penalty);
    }
  }

  /**
   * Refunds the rest of the debt of an id's penalty, if any, so that the bucket is empty, and
   * returns the penalty.
   */
  private @Nullable Penalty giveBackDebt(LimitName name, String id) {
    synchronized (place) {
      follow();
    }
    Penalty debt = inForce.get().penaltyFor(name, id);
    if (debt == null || debt.owed() == 0) {
      return debt;
    }
    Quota quota = inForce.get().quotaFor(name, id);
    long emptyNanos = quota == null ? 0 : quota.offsetNanos();
    Reading seen;
    Reading found;
    do {
      seen = look(name, id, quota);
      long aheadNanos = Gcra.aheadNanos(seen.nowNanos(), seen.tatNanos());
      long backNanos = Math.min(debt.untilNanos() - seen.nowNanos(), aheadNanos - emptyNanos);
      if (backNanos <= 0) {
        return debt;
      }
      // Another server may give the debt back at the same time, so the TAT must still be as seen.
      found =
          charge(
              name, id, new Effect(Effect.Op.WITHDRAW, backNanos, Long.MAX_VALUE, seen.tatNanos()));
    } while (found.tatNanos() != seen.tatNanos());
    return debt;
  }

  private Quota quota(LimitName name, String id) {
    Quota quota = inForce.get().quotaFor(name, id);
    if (quota == null) {
      throw new IllegalArgumentException(
          "nothing limits this id of %s, so it has no bucket that could be empty; give it an"
                  .formatted(name)
              + " override first");
    }
    return quota;
  }

  private Reading look(LimitName name, String id, @Nullable Quota quota) {
    long offsetNanos = quota == null ? 1 : quota.offsetNanos();
    return charge(name, id, Effect.of(Effect.Op.CHECK, 0, offsetNanos));
  }

  @CanIgnoreReturnValue
  private Reading charge(LimitName name, String id, Effect effect) {
    return store.charge(List.of(new Charge(name.bucketKey(id), effect))).get(0);
  }

  private static Instant instant(long nanos) {
    return Instant.ofEpochSecond(nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
  }

  /** Returns the canonical id; for registered domains, the domain of a host name. */
  public static String overrideId(LimitName name, String id) {
    return name.overrideId().widened(name.overrideId().canonical(id, Strictness.LENIENT));
  }

  /** A comment on an override or penalty, and its author; both texts can be empty. */
  public record Note(String comment, String author) {}

  /** Thrown when saved overrides or penalties cannot be read or written. */
  public static final class KeepException extends RuntimeException {

    private static final long serialVersionUID = 1;

    KeepException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }
}
