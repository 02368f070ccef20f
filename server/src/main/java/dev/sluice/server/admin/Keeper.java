// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PenaltiesTable;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.admin.Setting.Kept;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;

/**
 * Saves overrides and penalties set at run time: in memory, in files or in a database. Every method
 * can block on the disk or the database. Only one thread at a time may call a keeper.
 */
interface Keeper {

  /** How long an ended override or penalty stays saved: another server's clock can be behind. */
  Duration GRACE = Duration.ofMinutes(10);

  /** Returns where overrides and penalties are saved: memory, file or table. */
  String place();

  /** Checks cheaply whether overrides or penalties may have changed since {@link #load}. */
  boolean hasChanged();

  /** Reads all overrides and penalties; throws a {@link KeepException} if it cannot read them. */
  Kept load(Catalogue names);

  /**
   * Saves an override or penalty in place of the id's previous one. A {@link KeepException} means
   * that nothing has changed.
   */
  <T> void put(Setting<T> kind, T one, Catalogue names);

  /**
   * Removes an override or penalty; returns false if there is none. A {@link KeepException} means
   * that nothing has changed.
   */
  <T> boolean remove(Setting<T> kind, LimitName name, String id, Catalogue names);

  /** Keeps overrides and penalties in memory, until the process ends. */
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
      return change.getAsBoolean(); // no other process can change the entries
    }

    @Override
    void save(Kept all, Catalogue names) {
      kept = all;
    }
  }

  /** A keeper that reads and writes all overrides and penalties together. */
  abstract class ListKeeper implements Keeper {

    /** Runs changes one at a time; throws {@link KeepException} if other changes take too long. */
    @CanIgnoreReturnValue
    abstract boolean alone(BooleanSupplier change);

    abstract void save(Kept kept, Catalogue names);

    @Override
    public final <T> void put(Setting<T> kind, T one, Catalogue names) {
      alone(
          () -> {
            Kept now = load(names);
            List<T> all = kind.without(kind.name(one).name(), kind.id(one), now);
            all.add(one);
            save(living(kind, all, now), names);
            return true;
          });
    }

    @Override
    public final <T> boolean remove(Setting<T> kind, LimitName name, String id, Catalogue names) {
      return alone(
          () -> {
            Kept now = load(names);
            List<T> rest = kind.without(name.name(), id, now);
            if (rest.size() == kind.in(now).size()) {
              return false;
            }
            save(living(kind, rest, now), names);
            return true;
          });
    }

    /**
     * Replaces the settings of one kind, and drops the settings of this kind that ended long ago.
     * The other kind stays as it is: a change that writes two files could fail after the first.
     */
    private static <T> Kept living(Setting<T> kind, List<T> all, Kept now) {
      Instant longOver = Instant.now().minus(GRACE);
      all.removeIf(one -> kind.isEndedAt(longOver, one));
      return kind.with(all, now);
    }
  }

  /**
   * A keeper that saves overrides and penalties in tables of a database. This keeper does not read
   * the table of overrides, since the deployed limits contain the table's overrides.
   */
  static final class TableKeeper implements Keeper {

    private final DataSource database;
    private final PenaltiesTable penalties;

    TableKeeper(DataSource database) {
      this.database = database;
      this.penalties = new PenaltiesTable(database);
    }

    @Override
    public String place() {
      return "table";
    }

    /** Returns true: the caller polls at the table's interval, and only a read shows changes. */
    @Override
    public boolean hasChanged() {
      return true;
    }

    @Override
    public Kept load(Catalogue names) {
      return onDatabase(
          () -> new Kept(List.of(), penalties.load(names, Instant.now().minus(GRACE))));
    }

    @Override
    public <T> void put(Setting<T> kind, T one, Catalogue names) {
      if (one instanceof LimitOverride override) {
        onDatabase(() -> new OverridesTable(database, names).put(Map.of(override, true), true));
      } else {
        onDatabase(
            () -> {
              // Removes ended penalties, to make room for the new penalty.
              int removed = penalties.removeEnded(Instant.now().minus(GRACE));
              penalties.put((Penalty) one);
              return removed;
            });
      }
    }

    /**
     * Removes a setting. The row of a removed override is disabled, not deleted, since a table
     * without rows would look like the wrong database.
     */
    @Override
    public <T> boolean remove(Setting<T> kind, LimitName name, String id, Catalogue names) {
      return onDatabase(
          () ->
              kind.equals(Setting.PENALTY)
                  ? penalties.remove(name, id)
                  : new OverridesTable(database, names).disable(name, id));
    }

    private interface Work<T> {
      T run() throws SQLException;
    }

    @CanIgnoreReturnValue
    private static <T> T onDatabase(Work<T> work) {
      try {
        return work.run();
      } catch (SQLException e) {
        throw new KeepException(
            "the database could not be read or written (%s); run sluice overrides migrate if a table or a column is missing"
                .formatted(e.getMessage()),
            e);
      }
    }
  }
}
