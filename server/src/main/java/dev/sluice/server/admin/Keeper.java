// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A place that keeps what is set at run time. Every method blocks on that place. Called by one
 * thread at a time.
 */
interface Keeper {

  /** The word for the place in answers: memory, file or table. */
  String place();

  /**
   * Whether the place may have changed since the last {@link #load}; cheap.
   *
   * @return true if it has to be read again
   */
  boolean hasChanged();

  /**
   * Reads all that is kept.
   *
   * @param names the names that there are
   * @throws KeepException if it cannot be read
   */
  Kept load(Catalogue names);

  /**
   * Keeps an override, which replaces the id's existing one.
   *
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  void put(LimitOverride override, Catalogue names);

  /**
   * Forgets an override.
   *
   * @return false if there is none
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  boolean remove(LimitName name, String id, Catalogue names);

  /**
   * Keeps a penalty, which replaces the id's existing one.
   *
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  void put(Penalty penalty, Catalogue names);

  /**
   * Forgets a penalty.
   *
   * @return false if there is none
   * @throws KeepException if it cannot be written; then what was kept stays
   */
  boolean removePenalty(LimitName name, String id, Catalogue names);

  /** Keeps nothing beyond the life of the process. */
  final class MemoryKeeper extends ListKeeper {

    private Kept kept = Kept.NOTHING;

    @Override
    public String place() {
      return "memory";
    }

    @Override
    public boolean hasChanged() {
      return false;
    }

    @Override
    public Kept load(Catalogue names) {
      return kept;
    }

    @Override
    boolean alone(BooleanSupplier change) {
      return change.getAsBoolean(); // no other process has it
    }

    @Override
    void save(Kept all, Catalogue names) {
      kept = all;
    }
  }

  /** A place that is read and written as a whole. */
  abstract class ListKeeper implements Keeper {

    /** Servers' clocks differ: a penalty that has just ended here may still hold elsewhere. */
    private static final Duration GRACE = Duration.ofMinutes(10);

    /**
     * Runs a change from its read to its write, while nobody else changes the place.
     *
     * @return what the change returns
     * @throws KeepException if somebody else changes it for too long; then the change is not run
     */
    @CanIgnoreReturnValue
    abstract boolean alone(BooleanSupplier change);

    /** Writes all that is kept. */
    abstract void save(Kept kept, Catalogue names);

    @Override
    public final void put(LimitOverride override, Catalogue names) {
      alone(
          () -> {
            Kept now = load(names);
            List<LimitOverride> all = without(override.name(), override.id(), now.overrides());
            all.add(override);
            save(new Kept(all, living(now.penalties())), names);
            return true;
          });
    }

    @Override
    public final boolean remove(LimitName name, String id, Catalogue names) {
      return alone(
          () -> {
            Kept now = load(names);
            List<LimitOverride> rest = without(name, id, now.overrides());
            if (rest.size() == now.overrides().size()) {
              return false;
            }
            save(new Kept(rest, living(now.penalties())), names);
            return true;
          });
    }

    @Override
    public final void put(Penalty penalty, Catalogue names) {
      alone(
          () -> {
            Kept now = load(names);
            List<Penalty> all = withoutPenalty(penalty.name(), penalty.id(), now.penalties());
            all.add(penalty);
            save(new Kept(now.overrides(), living(all)), names);
            return true;
          });
    }

    @Override
    public final boolean removePenalty(LimitName name, String id, Catalogue names) {
      return alone(
          () -> {
            Kept now = load(names);
            List<Penalty> rest = withoutPenalty(name, id, now.penalties());
            if (rest.size() == now.penalties().size()) {
              return false;
            }
            save(new Kept(now.overrides(), living(rest)), names);
            return true;
          });
    }

    private static List<LimitOverride> without(
        LimitName name, String id, List<LimitOverride> overrides) {
      List<LimitOverride> rest = new ArrayList<>(overrides);
      rest.removeIf(one -> isSame(one.name(), name) && one.id().equals(id));
      return rest;
    }

    /** Names of limits that are gone have other numbers at each read. */
    private static boolean isSame(LimitName one, LimitName other) {
      return one.name().equals(other.name());
    }

    private static List<Penalty> withoutPenalty(
        LimitName name, String id, List<Penalty> penalties) {
      List<Penalty> rest = new ArrayList<>(penalties);
      rest.removeIf(one -> isSame(one.name(), name) && one.id().equals(id));
      return rest;
    }

    private static List<Penalty> living(List<Penalty> penalties) {
      Instant longOver = Instant.now().minus(GRACE);
      return penalties.stream().filter(one -> one.until().isAfter(longOver)).toList();
    }
  }

  /**
   * The settings that were made at run time. Immutable.
   *
   * @param overrides each id of a limit once
   * @param penalties each id of a limit once
   */
  record Kept(List<LimitOverride> overrides, List<Penalty> penalties) {

    static final Kept NOTHING = new Kept(List.of(), List.of());

    public Kept {
      overrides = List.copyOf(overrides);
      penalties = List.copyOf(penalties);
    }
  }
}
