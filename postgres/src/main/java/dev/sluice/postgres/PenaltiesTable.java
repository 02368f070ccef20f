// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Penalty;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * The table {@code rate_limit_penalties}, which {@link OverridesTable#migrate} creates.
 *
 * <p>Thread-safe. Every method uses a separate connection and one transaction, and blocks on the
 * database, up to the source's time-outs. Every method throws an {@link SQLException} if the
 * database is unreachable or does not have the table.
 */
public final class PenaltiesTable {

  /** The largest number of penalties in the table. */
  public static final int MOST_ROWS = 100_000;

  /**
   * The number of rows by which concurrent writers can exceed {@link #MOST_ROWS}. A table with up
   * to {@code SLACK} rows too many is still read, since a failed read would end bans.
   */
  private static final int SLACK = 1_000;

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final DataSource source;
  private final int mostRows;
  private final BadRowLog badRows = new BadRowLog("penalties");

  /**
   * Makes an object that reads and writes the table of a database.
   *
   * @param source opens connections
   */
  public PenaltiesTable(DataSource source) {
    this(source, MOST_ROWS);
  }

  PenaltiesTable(DataSource source, int mostRows) {
    this.source = Objects.requireNonNull(source, "source");
    this.mostRows = mostRows;
  }

  /**
   * Reads the penalties that end after an instant. A row that is not a valid penalty is ignored and
   * logged once. A row is invalid if its limit is not in the catalogue, or if its id is not in
   * canonical form; no decision would use the penalty of an invalid row.
   *
   * @param names the names of the known limits
   * @param after the instant
   * @return the penalties
   * @throws SQLException if the database fails, or the table has far more than {@link #MOST_ROWS}
   *     rows
   */
  public List<Penalty> load(Catalogue names, Instant after) throws SQLException {
    List<BadRow> bad = new ArrayList<>();
    List<Penalty> penalties =
        Transactions.run(source, connection -> select(connection, names, after, bad));
    badRows.log(bad);
    return penalties;
  }

  private List<Penalty> select(
      Connection connection, Catalogue names, Instant after, List<BadRow> bad) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT * FROM rate_limit_penalties WHERE until_ns > ?
            ORDER BY limit_number, bucket_key LIMIT ?""")) {
      query.setLong(1, nanos(after));
      query.setInt(2, mostRows + SLACK + 1);
      List<Penalty> penalties = new ArrayList<>();
      try (ResultSet row = query.executeQuery()) {
        boolean hasAuthors = OverridesTable.hasColumn("author", row);
        while (row.next()) {
          if (penalties.size() + bad.size() == mostRows + SLACK) {
            throw new SQLException(
                "rate_limit_penalties has more than %s rows, the maximum is %s"
                    .formatted(mostRows + SLACK, mostRows));
          }
          String key = String.valueOf(row.getString("bucket_key"));
          try {
            penalties.add(penalty(row, hasAuthors, key, names));
          } catch (IllegalArgumentException e) {
            bad.add(BadRow.of(key, e));
          }
        }
      }
      return penalties;
    }
  }

  private static Penalty penalty(ResultSet row, boolean hasAuthors, String key, Catalogue names)
      throws SQLException {
    LimitName name = OverrideRow.limit(row.getInt("limit_number"), key, names);
    long untilNanos = row.getLong("until_ns");
    Instant until =
        Instant.ofEpochSecond(untilNanos / NANOS_PER_SECOND, untilNanos % NANOS_PER_SECOND);
    String comment = row.getString("comment");
    String author = hasAuthors ? row.getString("author") : "";
    return new Penalty(
        name,
        name.idOf(key),
        until,
        row.getLong("owed"),
        comment == null ? "" : comment,
        author == null ? "" : author);
  }

  /**
   * Writes a penalty. The penalty replaces an earlier penalty of the same id.
   *
   * @param penalty the penalty
   * @throws SQLException if the database fails, or the table already has {@link #MOST_ROWS} other
   *     penalties
   */
  public void put(Penalty penalty) throws SQLException {
    int written =
        Transactions.run(
            source,
            connection -> {
              try (PreparedStatement upsert =
                  connection.prepareStatement(
                      """
                      INSERT INTO rate_limit_penalties
                        (limit_number, bucket_key, until_ns, owed, comment, author)
                      SELECT ?, ?, ?, ?, ?, ?
                      WHERE (SELECT count(*) FROM rate_limit_penalties) < ? OR EXISTS (
                        SELECT 1 FROM rate_limit_penalties
                        WHERE limit_number = ? AND bucket_key = ?)
                      ON CONFLICT (limit_number, bucket_key) DO UPDATE
                        SET until_ns = excluded.until_ns, owed = excluded.owed,
                            comment = excluded.comment, author = excluded.author,
                            updated_at = now()""")) {
                upsert.setInt(1, OverrideRow.numberOf(penalty.name()));
                upsert.setString(2, penalty.name().bucketKey(penalty.id()));
                upsert.setLong(3, penalty.untilNanos());
                upsert.setLong(4, penalty.owed());
                upsert.setString(5, penalty.comment());
                upsert.setString(6, penalty.author());
                upsert.setInt(7, mostRows);
                upsert.setInt(8, OverrideRow.numberOf(penalty.name()));
                upsert.setString(9, penalty.name().bucketKey(penalty.id()));
                return upsert.executeUpdate();
              }
            });
    if (written == 0) {
      throw new SQLException(
          "rate_limit_penalties is full with %s rows; remove some penalties".formatted(mostRows));
    }
  }

  /**
   * Removes a penalty.
   *
   * @param name the limit's name
   * @param id the id in canonical form
   * @return false if the id has no penalty
   * @throws SQLException if the database fails
   */
  public boolean remove(LimitName name, String id) throws SQLException {
    return Transactions.run(
        source,
        connection -> {
          try (PreparedStatement delete =
              connection.prepareStatement(
                  "DELETE FROM rate_limit_penalties WHERE limit_number = ? AND bucket_key = ?")) {
            delete.setInt(1, OverrideRow.numberOf(name));
            delete.setString(2, name.bucketKey(id));
            return delete.executeUpdate() == 1;
          }
        });
  }

  /**
   * Removes the penalties that have ended before an instant.
   *
   * @param before the instant
   * @return the number of removed penalties
   * @throws SQLException if the database fails
   */
  @CanIgnoreReturnValue
  public int removeEnded(Instant before) throws SQLException {
    return Transactions.run(
        source,
        connection -> {
          try (PreparedStatement delete =
              connection.prepareStatement("DELETE FROM rate_limit_penalties WHERE until_ns < ?")) {
            delete.setLong(1, nanos(before));
            return delete.executeUpdate();
          }
        });
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * NANOS_PER_SECOND + instant.getNano();
  }
}
