// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.LimitOverride.Lowered;
import dev.sluice.limit.LimitOverride.LoweredException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code rate_limit_overrides}. Reads return all rows; writes change single rows.
 *
 * <p>Thread-safe. Every method uses a separate connection and one transaction, and blocks on the
 * database, up to the source's time-outs. Every method throws an {@link SQLException} if the
 * database is unreachable or does not have the table (see {@link #migrate}). Values are checked
 * before they are written.
 */
public final class OverridesTable {

  /**
   * The largest number of rows that are read. A limit file can have the same number of overrides as
   * this table.
   */
  public static final int MOST_ROWS = 500_000;

  private static final int ROWS_A_FETCH = 1_000;
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private static final String LOOK =
      """
      SELECT burst, count, period_ns, further_quotas FROM rate_limit_overrides
      WHERE limit_number = ? AND bucket_key = ? FOR UPDATE""";

  private static final String HAS_ENDED = "(o.until_ns <= extract(epoch FROM now()) * 1000000000)";

  private final DataSource source;
  private final Catalogue catalogue;
  private final int mostRows;

  /**
   * Makes an object that reads and writes the table of a database.
   *
   * @param source a source of connections to the database; the source that {@link
   *     PostgresUrl#dataSource} returns is sufficient
   * @param catalogue the names of the limits that can be overridden
   */
  public OverridesTable(DataSource source, Catalogue catalogue) {
    this(source, catalogue, MOST_ROWS);
  }

  OverridesTable(DataSource source, Catalogue catalogue, int mostRows) {
    this.source = Objects.requireNonNull(source, "source");
    this.catalogue = Objects.requireNonNull(catalogue, "catalogue");
    this.mostRows = mostRows;
  }

  /**
   * Migrates the database to the schema of this version. A second migration changes nothing.
   * Several calls can run at the same time.
   *
   * @return the number of schema files that were applied
   * @throws SQLException if the database fails, which leaves its schema unchanged
   */
  @CanIgnoreReturnValue
  public int migrate() throws SQLException {
    return Transactions.run(source, Migrations::apply);
  }

  /**
   * Returns all rows, including disabled and invalid rows.
   *
   * @return the rows, sorted by key
   * @throws SQLException if the database fails, or the table has more than {@link #MOST_ROWS} rows
   */
  public List<OverrideRow> rows() throws SQLException {
    return select("SELECT * FROM rate_limit_overrides ORDER BY limit_number, bucket_key LIMIT ?");
  }

  /**
   * Returns the overrides of all enabled rows, and the enabled rows that are invalid.
   *
   * @return the table's current content
   * @throws SQLException if the database fails, or the table has more than {@link #MOST_ROWS} rows
   */
  public TableContent load() throws SQLException {
    return TableContent.of(enabledRows().rows(), catalogue);
  }

  /**
   * Returns the enabled rows, including invalid rows. One statement reads all rows at one instant.
   * Even while another program deletes and inserts rows, this method never returns a state in which
   * all rows seem to be disabled.
   */
  EnabledRows enabledRows() throws SQLException {
    List<OverrideRow> found =
        select(
            """
            (SELECT * FROM rate_limit_overrides WHERE enabled LIMIT ?)
            UNION ALL
            (SELECT * FROM rate_limit_overrides
             WHERE NOT EXISTS (SELECT 1 FROM rate_limit_overrides WHERE enabled) LIMIT 1)
            ORDER BY limit_number, bucket_key""");
    boolean allDisabled = !found.isEmpty() && !found.get(0).enabled();
    return new EnabledRows(allDisabled ? List.of() : found, allDisabled);
  }

  /**
   * Writes all the given overrides or none of them. A new override is enabled. An existing override
   * gets the new quotas and the new end, and the new comment and author unless these are empty. The
   * write does not change whether an existing override is enabled.
   *
   * @param overrides overrides of limits that are in the catalogue
   * @param mayLower whether an existing override is allowed to become lower
   * @return the number of new overrides and of changed overrides
   * @throws LoweredException if an override would become lower although this is not allowed
   * @throws SQLException if the database fails, or the table would have more than {@link
   *     #MOST_ROWS} enabled rows; nothing is written then
   * @throws IllegalArgumentException if a name is not in the catalogue, or a comment contains a
   *     character that PostgreSQL cannot store
   */
  @CanIgnoreReturnValue
  public PutResult put(Collection<LimitOverride> overrides, boolean mayLower) throws SQLException {
    return write(overrides, mayLower, /* mayKeepEnd= */ false, any -> null);
  }

  /**
   * Writes overrides as {@link #put(Collection, boolean)} does, and enables or disables each
   * override. If the map's value for an override is null and the override has no end, an existing
   * override in the table keeps an end in the future. If the value is true, an existing override
   * that is disabled or has ended does not keep its comment and author.
   *
   * @param enabled the overrides, whose names must be in the catalogue; the value true enables an
   *     override, false disables the override, and null leaves an existing override enabled or
   *     disabled as before
   * @param mayLower whether an existing override is allowed to become lower
   * @return the number of new overrides and of changed overrides
   * @throws LoweredException if an override would become lower although this is not allowed
   * @throws SQLException if the database fails, or the table would have more than {@link
   *     #MOST_ROWS} enabled rows; nothing is written then
   * @throws IllegalArgumentException if a name is not in the catalogue, or a text contains a
   *     character that PostgreSQL cannot store
   */
  @CanIgnoreReturnValue
  public PutResult put(Map<LimitOverride, @Nullable Boolean> enabled, boolean mayLower)
      throws SQLException {
    return write(enabled.keySet(), mayLower, /* mayKeepEnd= */ true, enabled::get);
  }

  private PutResult write(
      Collection<LimitOverride> overrides,
      boolean mayLower,
      boolean mayKeepEnd,
      Function<LimitOverride, @Nullable Boolean> enabled)
      throws SQLException {
    for (LimitOverride override : overrides) {
      var unused = catalogue.get(override.name().name());
      if ((override.comment() + override.author()).indexOf('\0') >= 0) {
        throw new IllegalArgumentException(
            "comment or author of %s: found the character U+0000, which PostgreSQL cannot store"
                .formatted(SafeText.quote(keyOf(override))));
      }
    }
    // Rows are always written in the same order, so that two concurrent writers cannot deadlock.
    List<LimitOverride> inOrder = new ArrayList<>(overrides);
    inOrder.sort(Comparator.comparing(OverridesTable::keyOf));
    return Transactions.run(
        source,
        connection -> {
          int added = 0;
          int disabled = 0;
          boolean enabledAny = false;
          List<Lowered> lowered = new ArrayList<>();
          // xmax is 0 only in a new row, so the upsert reports whether the row was inserted or
          // updated.
          try (PreparedStatement look = connection.prepareStatement(LOOK);
              PreparedStatement upsert =
                  connection.prepareStatement(
                      """
                  INSERT INTO rate_limit_overrides AS o
                    (limit_number, bucket_key, burst, count, period_ns, comment, author, until_ns,
                     further_quotas, enabled)
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?::bigint[], coalesce(?, true))
                  ON CONFLICT (limit_number, bucket_key) DO UPDATE
                    SET burst = excluded.burst, count = excluded.count,
                        period_ns = excluded.period_ns, further_quotas = excluded.further_quotas,
                        comment = CASE WHEN ? AND (NOT o.enabled OR %1$s) THEN excluded.comment
                          ELSE coalesce(nullif(excluded.comment, ''), o.comment) END,
                        author = CASE WHEN ? AND (NOT o.enabled OR %1$s) THEN excluded.author
                          ELSE coalesce(nullif(excluded.author, ''), o.author) END,
                        until_ns = CASE WHEN ? AND NOT %1$s
                          THEN coalesce(excluded.until_ns, o.until_ns)
                          ELSE excluded.until_ns END,
                        enabled = coalesce(?, o.enabled),
                        updated_at = now()
                    WHERE ?
                  RETURNING o.xmax = 0, o.enabled"""
                          .formatted(HAS_ENDED))) {
            for (LimitOverride override : inOrder) {
              fill(upsert, override);
              Boolean on = enabled.apply(override);
              upsert.setObject(10, on, Types.BOOLEAN);
              upsert.setBoolean(11, Boolean.TRUE.equals(on));
              upsert.setBoolean(12, Boolean.TRUE.equals(on));
              upsert.setBoolean(13, mayKeepEnd && on == null);
              upsert.setObject(14, on, Types.BOOLEAN);
              upsert.setBoolean(15, mayLower || isThere(override, look, lowered));
              ResultSet row = upsert.executeQuery();
              if (!row.next()) {
                // Another transaction has added the override since the look, so look again.
                upsert.setBoolean(15, isThere(override, look, lowered));
                row = upsert.executeQuery();
                row.next();
              }
              boolean isNew = row.getBoolean(1);
              boolean isEnabled = row.getBoolean(2);
              added += isNew ? 1 : 0;
              disabled += isEnabled ? 0 : 1;
              enabledAny |= isEnabled && (isNew || on != null);
            }
          }
          if (!lowered.isEmpty()) {
            throw new LoweredException(lowered);
          }
          if (enabledAny) {
            requireReadable(connection);
          }
          return new PutResult(added, inOrder.size() - added, disabled);
        });
  }

  /**
   * Throws if the table has more enabled rows than a server can read. Rows of another transaction
   * that is not committed yet are not counted.
   */
  private void requireReadable(Connection connection) throws SQLException {
    try (PreparedStatement count =
        connection.prepareStatement(
            """
            SELECT count(*) FROM
              (SELECT 1 FROM rate_limit_overrides WHERE enabled LIMIT ?) AS enabled_rows""")) {
      count.setInt(1, mostRows + 1);
      try (ResultSet row = count.executeQuery()) {
        row.next();
        if (row.getInt(1) > mostRows) {
          throw new SQLException(
              "rate_limit_overrides would have more than %s enabled rows, the maximum; nothing was changed"
                  .formatted(mostRows));
        }
      }
    }
  }

  /**
   * Whether the table has a row for an override. Locks the row, so that no other transaction
   * changes the row before the write. If the new values would lower the row, adds this to {@code
   * lowered}.
   */
  private static boolean isThere(
      LimitOverride override, PreparedStatement look, List<Lowered> lowered) throws SQLException {
    look.setInt(1, OverrideRow.numberOf(override.name()));
    look.setString(2, keyOf(override));
    try (ResultSet row = look.executeQuery()) {
      if (!row.next()) {
        return false;
      }
      LimitOverride present = present(override, row);
      Lowered change = present == null ? null : override.lowers(present);
      if (change != null) {
        lowered.add(change);
      }
      return true;
    }
  }

  /** Returns the override of a row; null if another program wrote invalid quotas into the row. */
  private static @Nullable LimitOverride present(LimitOverride override, ResultSet row)
      throws SQLException {
    try {
      List<Quota> quotas =
          OverrideRow.quotas(row.getLong(1), row.getLong(2), row.getLong(3), further(row));
      return new LimitOverride(override.name(), override.id(), quotas, "", "", null);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private static void fill(PreparedStatement upsert, LimitOverride override) throws SQLException {
    Quota quota = override.quota();
    upsert.setInt(1, OverrideRow.numberOf(override.name()));
    upsert.setString(2, keyOf(override));
    upsert.setLong(3, quota.burst());
    upsert.setLong(4, quota.count());
    upsert.setLong(5, quota.period().toNanos());
    upsert.setString(6, override.comment());
    upsert.setString(7, override.author());
    Instant until = override.until();
    upsert.setObject(
        8,
        until == null ? null : until.getEpochSecond() * NANOS_PER_SECOND + until.getNano(),
        Types.BIGINT);
    upsert.setString(9, OverrideRow.furtherOf(override));
  }

  private static String keyOf(LimitOverride override) {
    return override.name().bucketKey(override.id());
  }

  /**
   * Enables or disables an override.
   *
   * @param name the limit's name
   * @param overrideId the id in canonical form
   * @param enabled whether to enable the override
   * @return false if the override does not exist
   * @throws SQLException if the database fails, or the table would have more than {@link
   *     #MOST_ROWS} enabled rows
   */
  public boolean setEnabled(LimitName name, String overrideId, boolean enabled)
      throws SQLException {
    return switchTo(enabled, name, overrideId, "");
  }

  /**
   * Disables an override that is enabled.
   *
   * @param name the limit's name
   * @param overrideId the id in canonical form
   * @return false if the override does not exist or is already disabled
   * @throws SQLException if the database fails
   */
  public boolean disable(LimitName name, String overrideId) throws SQLException {
    return switchTo(false, name, overrideId, " AND enabled");
  }

  private boolean switchTo(boolean enabled, LimitName name, String overrideId, String condition)
      throws SQLException {
    return Transactions.run(
        source,
        connection -> {
          try (PreparedStatement update =
              connection.prepareStatement(
                  """
                  UPDATE rate_limit_overrides SET enabled = ?, updated_at = now()
                  WHERE limit_number = ? AND bucket_key = ?"""
                      + condition)) {
            update.setBoolean(1, enabled);
            update.setInt(2, OverrideRow.numberOf(name));
            update.setString(3, name.bucketKey(overrideId));
            boolean found = update.executeUpdate() == 1;
            if (found && enabled) {
              requireReadable(connection);
            }
            return found;
          }
        });
  }

  private List<OverrideRow> select(String sql) throws SQLException {
    return Transactions.run(
        source,
        connection -> {
          try (PreparedStatement query = connection.prepareStatement(sql)) {
            query.setFetchSize(ROWS_A_FETCH);
            query.setInt(1, mostRows + 1);
            try (ResultSet result = query.executeQuery()) {
              List<OverrideRow> rows = new ArrayList<>();
              boolean hasEnds = hasColumn("until_ns", result);
              boolean hasFurther = hasColumn("further_quotas", result);
              while (result.next()) {
                if (rows.size() == mostRows) {
                  throw new SQLException(
                      "rate_limit_overrides has more than %1$s rows, the maximum"
                          .formatted(mostRows));
                }
                rows.add(row(result, hasEnds, hasFurther));
              }
              return rows;
            }
          }
        });
  }

  /**
   * Whether the table has a column. Reads must work before {@link #migrate} adds a column, so that
   * a new version of a server can start with the old schema.
   */
  static boolean hasColumn(String name, ResultSet result) throws SQLException {
    ResultSetMetaData columns = result.getMetaData();
    for (int i = 1; i <= columns.getColumnCount(); i++) {
      if (columns.getColumnName(i).equals(name)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the further quotas in PostgreSQL's text form. After a few reads on a connection, the
   * driver receives arrays in binary form and then puts quotation marks around the numbers; this
   * method removes the quotation marks.
   */
  private static @Nullable String further(ResultSet row) throws SQLException {
    String printed = row.getString("further_quotas");
    return printed == null ? null : printed.replace("\"", "");
  }

  private static OverrideRow row(ResultSet result, boolean hasEnds, boolean hasFurther)
      throws SQLException {
    long untilNanos = hasEnds ? result.getLong("until_ns") : 0;
    boolean ends = hasEnds && !result.wasNull();
    String author = hasEnds ? result.getString("author") : "";
    String comment = result.getString("comment");
    Timestamp updatedAt = result.getTimestamp("updated_at");
    String further = hasFurther ? further(result) : null;
    return new OverrideRow(
        result.getInt("limit_number"),
        String.valueOf(result.getString("bucket_key")),
        result.getLong("burst"),
        result.getLong("count"),
        result.getLong("period_ns"),
        result.getBoolean("enabled"),
        comment == null ? "" : comment,
        author == null ? "" : author,
        ends
            ? Instant.ofEpochSecond(untilNanos / NANOS_PER_SECOND, untilNanos % NANOS_PER_SECOND)
            : null,
        updatedAt == null ? Instant.EPOCH : updatedAt.toInstant(),
        further);
  }
}
