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
import javax.sql.DataSource;

/**
 * Saves overrides and penalties in the tables of a database. The refresher of the table of
 * overrides reads them back and applies them; it runs after each change.
 */
final class TableKeeper implements Keeper {

  /** How long an ended penalty is kept: servers' clocks differ, so it may still hold elsewhere. */
  private static final Duration GRACE = Duration.ofMinutes(10);

  private final DataSource database;
  private final PenaltiesTable penalties;
  private final Runnable refresh;

  /** Makes a keeper. {@code refresh} reads the table of overrides now, and blocks. */
  TableKeeper(DataSource database, Runnable refresh) {
    this.database = database;
    this.penalties = new PenaltiesTable(database);
    this.refresh = refresh;
  }

  @Override
  public String place() {
    return "table";
  }

  /** Always true: the caller polls at the interval of the table. */
  @Override
  public boolean hasChanged() {
    return true;
  }

  @Override
  public Kept load(Catalogue names) {
    return onDatabase(() -> new Kept(List.of(), penalties.load(names, Instant.now().minus(GRACE))));
  }

  @Override
  public <T> void put(Setting<T> kind, T one, Catalogue names) {
    if (one instanceof LimitOverride override) {
      onDatabase(
          () -> {
            OverridesTable table = new OverridesTable(database, names);
            table.put(List.of(override));
            return table.setEnabled(override.name(), override.id(), true);
          });
      refresh.run();
    } else {
      onDatabase(
          () -> {
            // Makes room for new penalties.
            int removed = penalties.removeEnded(Instant.now().minus(GRACE));
            penalties.put((Penalty) one);
            return removed;
          });
    }
  }

  /**
   * Removes a setting. The row of an override is only disabled: a table without rows would look
   * like the wrong database.
   */
  @Override
  public <T> boolean remove(Setting<T> kind, LimitName name, String id, Catalogue names) {
    if (kind.equals(Setting.PENALTY)) {
      return onDatabase(() -> penalties.remove(name, id));
    }
    boolean removed =
        onDatabase(() -> new OverridesTable(database, names).setEnabled(name, id, false));
    refresh.run();
    return removed;
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
