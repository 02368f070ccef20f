// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.LimitOverride.Lowered;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.admin.Keeper.MemoryKeeper;
import dev.sluice.server.admin.Setting.Kept;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Periodic;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.yaml.OverrideDoubts;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * The limits in force have layers: the deployed limits (the base), the overrides set at run time,
 * and the penalties. After any change, they are rebuilt from the newest of each layer, under one
 * lock.
 *
 * That lock is never held during access to the place that saves changes: a change of the base must
 * not wait for a database. A second lock lets one thread at a time use the place. It is always
 * taken first, and never by code that reacts to a new base.
 *
 * A change is saved before it comes into force, so a confirmed change survives a crash. Other
 * servers poll the same place.
 *
 * Kept entries outlive the names that they were kept for. Entries whose limit is gone, or whose id
 * no longer has the right form, are left out until they fit again, and are logged.
 */

/**
 * Overrides and penalties that are set while the server runs. Thread-safe; the methods that change
 * something block on the place that keeps it, and on the store of buckets.
 */
public final class RuntimeLimits implements Generations.Beside, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(RuntimeLimits.class);
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
  private static final Duration FIRST_RETRY = Duration.ofSeconds(1);
  private static final int MOST_DOUBLINGS = 20;
  private static final int MOST_TOLD = 10;
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final CurrentLimits base;
  private final CurrentLimits inForce;
  private final Keeper keeper;
  private final BucketStore store;
  private final ScheduledExecutorService looks;
  private final Duration every;
  private final Object place = new Object(); // held around all calls of the keeper
  private final @Nullable CurrentLimits deployed; // where the base has overrides of a table
  private @Nullable Catalogue loadedFor; // guarded by place
  private Kept kept = Kept.NOTHING; // guarded by this
  private volatile Set<LimitOverride> keptOverrides = Set.of();
  private String complained = ""; // guarded by this
  private Set<String> unasked = Set.of(); // guarded by this
  private volatile List<String> mistakes = List.of();
  private final AtomicLong failedReads = new AtomicLong();
  private volatile boolean ready;
  private int failuresInARow; // of the looking thread
  private long dueNanos = System.nanoTime(); // of the looking thread

  private RuntimeLimits(
      CurrentLimits base,
      @Nullable CurrentLimits deployed,
      Keeper keeper,
      BucketStore store,
      Duration every) {
    this.base = base;
    this.deployed = deployed;
    this.inForce = base.derived();
    this.keeper = keeper;
    this.store = store;
    this.looks =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "sluice-runtime-limits");
              thread.setDaemon(true);
              return thread;
            });
    this.every = every;
  }

  /** Reads the saved changes before the first request. */
  private RuntimeLimits loaded() {
    synchronized (place) {
      reload();
    }
    return looking(every);
  }

  /** A task with a fixed delay needs no memory to go on; where no look is due, it does nothing. */
  private RuntimeLimits looking(Duration first) {
    long tickNanos = Math.min(every.toNanos(), FIRST_RETRY.toNanos());
    var unused =
        looks.scheduleWithFixedDelay(
            Periodic.task(
                log, "the look at kept overrides and penalties", () -> lookIfDue(tickNanos)),
            Math.min(first.toNanos(), tickNanos),
            tickNanos,
            TimeUnit.NANOSECONDS);
    return this;
  }

  private void lookIfDue(long tickNanos) {
    if (System.nanoTime() - dueNanos < 0) {
      return;
    }
    failuresInARow = look() ? 0 : failuresInARow + 1;
    long waitNanos =
        failuresInARow == 0
            ? every.toNanos()
            : Math.min(
                every.toNanos(),
                FIRST_RETRY.toNanos() << Math.min(failuresInARow - 1, MOST_DOUBLINGS));
    dueNanos = System.nanoTime() + waitNanos - tickNanos / 2; // the tick that is nearest
  }

  /**
   * Keeps what is set in memory: it ends with the process.
   *
   * @param base the limits that were deployed
   * @param store the buckets
   * @return the limits
   */
  public static RuntimeLimits inMemory(CurrentLimits base, BucketStore store) {
    return new RuntimeLimits(base, null, new MemoryKeeper(), store, LOOK_EVERY).loaded();
  }

  /**
   * Keeps what is set in a file, and its penalties in FILE.penalties.
   *
   * @param file made if it is not there, with FILE.lock beside it; only servers may write it
   * @param base the limits that were deployed
   * @param store the buckets
   * @return the limits
   * @throws KeepException if the files cannot be read or written
   */
  public static RuntimeLimits inFile(Path file, CurrentLimits base, BucketStore store) {
    return new RuntimeLimits(base, null, new FileKeeper(file), store, LOOK_EVERY).loaded();
  }

  /**
   * Keeps what is set in the tables of a database. Does not wait for the database: penalties hold
   * from the first read on. See {@link #ready}.
   *
   * @param database where the tables are
   * @param every how often the penalties are read; after a failure sooner, at first after 1 s
   * @param refresh reads the table of overrides into the base at once; blocks
   * @param base the limits with that table's overrides
   * @param deployed the limits without them
   * @param store the buckets
   * @return the limits
   */
  public static RuntimeLimits inTable(
      DataSource database,
      Duration every,
      Runnable refresh,
      CurrentLimits base,
      CurrentLimits deployed,
      BucketStore store) {
    Keeper keeper = new TableKeeper(database, refresh);
    return new RuntimeLimits(base, deployed, keeper, store, every).looking(Duration.ZERO);
  }

  /**
   * Returns the limits that decide.
   *
   * @return the reference that every change replaces
   */
  public CurrentLimits limits() {
    return inForce;
  }

  /**
   * Returns the word for the place that keeps what is set.
   *
   * @return memory, file or table
   */
  public String place() {
    return keeper.place();
  }

  /**
   * Whether the place has been read once. Before that, kept penalties do not hold: a server should
   * not take traffic yet.
   *
   * @return true from the first successful read on, however later ones go
   */
  public boolean ready() {
    return ready;
  }

  /**
   * Returns how many periodic reads of the place have failed.
   *
   * @return a number that only grows
   */
  public long failedReads() {
    return failedReads.get();
  }

  /** Rebuilds the limits after a change of the base. */
  public synchronized void baseChanged() {
    apply();
  }

  /** Stops polling the place; the current limits remain in force. */
  @Override
  public void close() {
    looks.shutdownNow();
  }

  /** Polls the place; returns whether it could be read. */
  private boolean look() {
    try {
      synchronized (place) {
        // Names that come or change may make entries fit that were left out.
        if (keeper.hasChanged() || !base.get().catalogue().equals(loadedFor)) {
          reload();
        }
      }
      return true;
    } catch (Throwable e) { // a task that throws would never run again
      failedReads.incrementAndGet();
      String why = e instanceof KeepException ? String.valueOf(e.getMessage()) : e.toString();
      mistakes = why.lines().toList();
      complain("overrides and penalties cannot be read; the previous ones stay in force: " + why);
      return false;
    }
  }

  /**
   * Reads the place at once. Blocks on it.
   *
   * @return whether what it keeps is in force; {@link #mistakes} says why it is not
   */
  @Override
  public boolean read() {
    return look();
  }

  /** Returns the mistakes of the last read. */
  @Override
  public List<String> mistakes() {
    return mistakes;
  }

  /** To be called with the place's lock. */
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

  /** Logs a complaint, once while it stays the same. */
  private synchronized void complain(String what) {
    if (!what.equals(complained)) {
      complained = what;
      log.error("{}", what);
    }
  }

  private void apply() {
    Limits now = base.get();
    Catalogue names = now.catalogue();
    List<LimitOverride> overrides = fitting(Setting.OVERRIDE, names);
    List<Penalty> penalties = fitting(Setting.PENALTY, names);
    keptOverrides = Set.copyOf(overrides);
    inForce.replace(now.withOverrides(overrides).withPenalties(penalties));
    warnOfUnasked(RuleBook.of(now), overrides, penalties);
  }

  /** What is kept, with the names that there are. To be called with this lock. */
  private <T> List<T> fitting(Setting<T> kind, Catalogue names) {
    List<T> fitting = new ArrayList<>();
    for (T one : kind.in(kept)) {
      LimitName name = kind.fitting(one, names);
      if (name != null) {
        fitting.add(kind.moved(one, name, kind.id(one)));
      } else {
        log.warn("left out {} of {}: the limit has changed or is gone", kind, kind.name(one));
      }
    }
    return fitting;
  }

  /** Those of the files are warned of when the files are loaded; these, once for the same text. */
  private void warnOfUnasked(RuleBook book, List<LimitOverride> set, List<Penalty> penalties) {
    Set<String> found = new LinkedHashSet<>();
    if (book.size() > 0) {
      List<LimitOverride> overrides = new ArrayList<>(set);
      overrides.addAll(ofTable());
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
      found.add("%s of %s acts on no request of the rules: %s".formatted(what, name, doubt));
    }
  }

  /** Returns the overrides of the base that are not from the files. */
  private List<LimitOverride> ofTable() {
    CurrentLimits files = deployed;
    List<LimitOverride> rows = new ArrayList<>();
    if (files != null) {
      Limits ofFiles = files.get();
      Limits both = base.get();
      for (LimitName name : both.catalogue().names()) {
        Set<LimitOverride> known = Set.copyOf(ofFiles.overridesOf(name));
        both.overridesOf(name).stream().filter(one -> !known.contains(one)).forEach(rows::add);
      }
    }
    return rows;
  }

  /**
   * Finds an override.
   *
   * @param name the limit's name
   * @param id the id, canonical
   * @return the override that is in force, null where there is none
   */
  public @Nullable LimitOverride override(LimitName name, String id) {
    return inForce.get().overridesOf(name).stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElse(null);
  }

  /**
   * Whether an override was set at run time.
   *
   * @param override the override that is in force
   * @return false if it was deployed with the limits
   */
  public boolean isKept(LimitOverride override) {
    CurrentLimits files = deployed;
    return files == null
        ? keptOverrides.contains(override)
        : !files.get().overridesOf(override.name()).contains(override);
  }

  /**
   * Sets an override, also a lower one: it is kept, and then in force.
   *
   * @param override the override, of a name of the limits in force
   * @return the warnings that a file with this override would get, a line each; also that no rule
   *     asks for its id
   * @throws KeepException if it could not be kept; then nothing has changed
   */
  @CanIgnoreReturnValue
  public List<String> put(LimitOverride override) {
    return put(override, /* mayLower= */ true);
  }

  /**
   * Sets an override: it is kept, and then in force. Without a comment, the one that is there
   * stays.
   *
   * @param asked the override, of a name of the limits in force
   * @param mayLower whether it may be lower than the one in force
   * @return the warnings that a file with this override would get, a line each
   * @throws LoweredException if it is lower and must not be
   * @throws KeepException if it could not be kept; then nothing has changed
   */
  @CanIgnoreReturnValue
  public List<String> put(LimitOverride asked, boolean mayLower) {
    Limits before = inForce.get();
    LimitOverride override = asked;
    synchronized (place) {
      LimitOverride present = override(asked.name(), asked.id());
      if (present != null && !mayLower && asked.quota().isLowerThan(present.quota())) {
        throw new LoweredException(List.of(new Lowered(asked, present.quota())));
      }
      if (present != null && asked.comment().isEmpty()) {
        override = new LimitOverride(asked.name(), asked.id(), asked.quota(), present.comment());
      }
      keeper.put(Setting.OVERRIDE, override, base.get().catalogue());
      reload();
    }
    LimitName name = override.name();
    if (!name.overridesOnly() && !before.isConfigured(name) && inForce.get().isConfigured(name)) {
      log.warn("an override was set for {}, which has no default for its other ids", name);
    }
    List<String> doubts = new ArrayList<>(OverrideDoubts.of(override, before));
    String unasked = RuleBook.of(before).doubt(override);
    if (unasked != null) {
      doubts.add(unasked);
    }
    return List.copyOf(doubts);
  }

  /**
   * Returns why a penalty would act on no request that the rules are for.
   *
   * @param penalty the penalty
   * @return that no rule asks for its id, and which id is asked for in its place; empty if nobody
   *     doubts it
   */
  public List<String> doubts(Penalty penalty) {
    String unasked = RuleBook.of(inForce.get()).doubt(penalty.name(), penalty.id());
    return unasked == null ? List.of() : List.of(unasked);
  }

  /**
   * Removes an override that was set at run time.
   *
   * @param name the limit's name
   * @param id the id, canonical
   * @return false if none was set
   * @throws KeepException if that could not be kept; then nothing has changed
   */
  public boolean remove(LimitName name, String id) {
    return remove(Setting.OVERRIDE, name, id);
  }

  /**
   * Finds a setting that is kept and cannot be in force: its limit is gone, or its id no longer has
   * the right form.
   *
   * @param kind an override or a penalty
   * @param limit the name of the limit that there was
   * @param id the id as it was kept
   * @param <T> the settings of that kind
   * @return removes it, and says whether it was still there; null if none is kept so
   */
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
   * @param name a name of the limits in force
   * @param id the id, canonical
   * @param until when the ban ends
   * @param comment a note for people, may be empty
   * @return the penalty, which is in force
   * @throws IllegalArgumentException if nothing limits the id, or the end is over
   * @throws KeepException if it could not be kept; then nothing has changed
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public Penalty ban(LimitName name, String id, Instant until, String comment) {
    Reading now = look(name, id, quota(name, id));
    Penalty penalty = new Penalty(name, id, until, 0, comment);
    if (!penalty.holdsAt(now.nowNanos())) {
      throw new IllegalArgumentException(
          "until: found %s, expected an instant after now (%s by the store's clock)"
              .formatted(until, instant(now.nowNanos())));
    }
    set(penalty);
    return penalty;
  }

  /**
   * Bans an id for a while, by the store's clock.
   *
   * @param name a name of the limits in force
   * @param id the id, canonical
   * @param time how long, positive
   * @param comment a note for people, may be empty
   * @return the penalty, which is in force
   * @throws IllegalArgumentException if nothing limits the id, or the end is too far away
   * @throws KeepException if it could not be kept; then nothing has changed
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public Penalty banFor(LimitName name, String id, Duration time, String comment) {
    Reading now = look(name, id, quota(name, id));
    Penalty penalty = new Penalty(name, id, instant(now.nowNanos()).plus(time), 0, comment);
    set(penalty);
    return penalty;
  }

  /**
   * Empties a bucket and makes it owe tokens: the id gets nothing until as many tokens have come as
   * it owes, and starts with an empty bucket then.
   *
   * @param name a name of the limits in force
   * @param id the id, canonical
   * @param tokens how many, at least 1
   * @param comment a note for people, may be empty
   * @return the penalty, which is in force
   * @throws IllegalArgumentException if nothing limits the id, or the debt is too large to end
   * @throws KeepException if it could not be kept; then the bucket is empty, and owes nothing
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public Penalty owe(LimitName name, String id, long tokens, String comment) {
    Quota quota = quota(name, id);
    Reading now = look(name, id, quota);
    long debtNanos;
    long aheadNanos;
    try {
      debtNanos = Math.multiplyExact(tokens, quota.intervalNanos());
      Math.addExact(Math.addExact(now.nowNanos(), debtNanos), quota.offsetNanos());
      aheadNanos = Math.addExact(quota.offsetNanos(), debtNanos);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "owe: found %s, expected fewer tokens: one comes every %s ns, so the debt would never end"
              .formatted(tokens, quota.intervalNanos()));
    }
    Instant until = instant(now.nowNanos()).plusNanos(debtNanos);
    Penalty penalty = new Penalty(name, id, until, tokens, comment);
    set(penalty);
    long missingNanos = aheadNanos - Gcra.aheadNanos(now.nowNanos(), now.tatNanos());
    if (missingNanos > 0) {
      charge(name, id, Effect.of(Effect.Op.SPEND, missingNanos, Long.MAX_VALUE));
    }
    return penalty;
  }

  /**
   * Removes a penalty. What is left of a debt is given back, which leaves the bucket empty.
   *
   * @param name a name of the limits in force
   * @param id the id, canonical
   * @return false if there was none
   * @throws KeepException if that could not be kept; then the penalty holds
   * @throws dev.sluice.store.StoreException if the store does not answer
   */
  public boolean acquit(LimitName name, String id) {
    Penalty penalty = inForce.get().penaltyFor(name, id);
    boolean removed = remove(Setting.PENALTY, name, id);
    if (penalty != null && penalty.owed() > 0) {
      Reading now = look(name, id, null);
      long leftNanos = penalty.untilNanos() - now.nowNanos();
      if (leftNanos > 0) {
        charge(name, id, Effect.of(Effect.Op.REFUND, leftNanos, Long.MAX_VALUE));
      }
    }
    return removed;
  }

  private <T> boolean remove(Setting<T> kind, LimitName name, String id) {
    synchronized (place) {
      boolean removed = keeper.remove(kind, name, id, base.get().catalogue());
      reload();
      return removed;
    }
  }

  private void set(Penalty penalty) {
    synchronized (place) {
      keeper.put(Setting.PENALTY, penalty, base.get().catalogue());
      reload();
    }
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

  /**
   * Makes an id of an override canonical; a name below a registered domain gives that domain.
   *
   * @param name the limit's name
   * @param id the id
   * @return the canonical id
   * @throws InvalidIdException if it has another form
   */
  public static String overrideId(LimitName name, String id) {
    return name.overrideId().widened(name.overrideId().canonical(id, Strictness.LENIENT));
  }

  /** Thrown when a place that keeps overrides and penalties can be neither read nor written. */
  public static final class KeepException extends RuntimeException {

    private static final long serialVersionUID = 1;

    KeepException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
