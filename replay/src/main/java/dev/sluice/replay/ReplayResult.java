// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.time.ZoneId;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a replay: the decisions that limits would have made on the requests of logs.
 *
 * @param rows one row for each limit of each rule that matched a request, in the order of the file
 * @param mostDenied the clients with the most denied requests, the most denied first
 * @param worst the minute with the most denied requests; null if no request was denied
 * @param shard the shard of requests that was decided; null if all requests were decided
 */
public record ReplayResult(
    Log log,
    Totals totals,
    List<Row> rows,
    Uncharged uncharged,
    List<Client> mostDenied,
    @Nullable WorstMinute worst,
    @Nullable Change change,
    Series series,
    @Nullable Shard shard) {

  public ReplayResult {
    rows = List.copyOf(rows);
    mostDenied = List.copyOf(mostDenied);
  }

  /**
   * The requests that were read.
   *
   * @param skipped the number of requests that were left out because of their response status
   * @param firstNanos the time of the first request, in nanoseconds since the epoch
   * @param zone the zone of the times in the log
   */
  public record Log(
      Lines found, long skipped, long firstNanos, long lastNanos, String format, ZoneId zone) {}

  /**
   * The number of lines in the logs, and the number of lines with each kind of problem.
   *
   * @param lines the lines of all files, without headings and empty lines
   * @param unread the lines that do not contain a request in the format of the log
   * @param firstUnread the file and position of the first line that is not a request; null if all
   *     lines are requests
   * @param late the requests that were out of order by more than the window; each was decided at
   *     the time of the request before it
   * @param mostLateNanos the longest time by which a request was out of order
   */
  public record Lines(
      long lines, long unread, @Nullable String firstUnread, long late, long mostLateNanos) {}

  /**
   * The counts of all requests under one set of limits.
   *
   * @param clients the number of clients' addresses; an estimate if the counts are not exact
   * @param exact false if there were more clients than names that can be stored
   */
  public record Totals(
      long requests, long denied, long clients, long deniedClients, boolean exact) {}

  /**
   * The numbers of requests and denials for one limit of one rule.
   *
   * @param rule the file and the line of the rule; empty without a rule book
   * @param limit the limit's name; empty for a rule that denies all of its requests
   * @param shadow whether the limit is in shadow; the denials of a limit in shadow reject no
   *     request
   * @param longestWaitNanos the longest time that a denied client would have had to wait; 0 if
   *     waiting would not have helped
   */
  public record Row(
      String rule,
      String paths,
      String limit,
      boolean shadow,
      long requests,
      long denied,
      long clients,
      long deniedClients,
      long longestWaitNanos) {

    /** Returns the line of the rule; 0 without a rule book. */
    int line() {
      return rule.isEmpty() ? 0 : Integer.parseInt(rule.substring(rule.lastIndexOf(':') + 1));
    }
  }

  /**
   * The numbers of requests that no limit decided, or for which a value is missing in the log.
   *
   * @param free the requests for which the matching rule charges no tokens
   * @param unusable the requests that cannot be charged; a server would reply to these requests
   *     with 400
   * @param tooCostly the requests whose cost is above the burst, so that they are always denied; a
   *     request with a cost above the burst of a limit in shadow counts too, but is not denied
   * @param lackingCost the requests without a whole number in the field of the cost, which cost 1
   * @param lacking the values that a rule or a {@code LIMIT=ID} uses but the log does not contain
   */
  public record Uncharged(
      long noRule,
      long free,
      long unusable,
      long tooCostly,
      long lackingCost,
      List<Lacking> lacking) {

    public Uncharged {
      lacking = List.copyOf(lacking);
    }
  }

  /**
   * A value that a rule or a {@code LIMIT=ID} uses but the log does not contain.
   *
   * @param rule the file and line of the rule that uses the value, or the {@code LIMIT=ID} that
   *     uses the value
   * @param word the name of the missing value, such as {@code header:x-api-key}
   */
  public record Lacking(String rule, String word) {}

  /**
   * A client with denied requests.
   *
   * @param name the client's address
   * @param requests the client's requests; if the counts are not exact, possibly only the requests
   *     from the first denial on
   * @param served the denied requests whose response status in the log is below 400
   */
  public record Client(String name, long requests, long denied, long served) {

    static final Comparator<Client> MOST_DENIED =
        Comparator.comparingLong(Client::denied).reversed().thenComparing(Client::name);
  }

  /**
   * The minute with the most denied requests.
   *
   * @param atNanos the start of the minute, in nanoseconds since the epoch
   * @param client the client with the most denied requests in the minute
   * @param ofClient the number of the client's denied requests
   */
  public record WorstMinute(long atNanos, long denied, String client, long ofClient) {

    /** Orders minutes by {@code ofClient}, the largest number first. */
    static final Comparator<WorstMinute> BY_CLIENT =
        Comparator.comparingLong(WorstMinute::ofClient)
            .reversed()
            .thenComparing(WorstMinute::client);
  }

  /**
   * The differences between the candidate and the limits in force.
   *
   * @param newlyDeniedClients the clients to which the candidate denies a request, and the limits
   *     in force deny none
   * @param newlyAllowedClients the clients to which the limits in force deny a request, and the
   *     candidate denies none
   */
  public record Change(
      Totals totals,
      long newlyDenied,
      long newlyAllowed,
      long newlyDeniedClients,
      long newlyAllowedClients,
      List<Row> rows) {

    public Change {
      rows = List.copyOf(rows);
    }
  }

  /**
   * The numbers of requests over time. Contains the bins with at least one request, in the order of
   * time.
   */
  public record Series(long binNanos, List<Bin> bins) {

    public Series {
      bins = List.copyOf(bins);
    }
  }

  /**
   * The numbers of requests within one span of time.
   *
   * @param atNanos the start of the bin, in nanoseconds since the epoch
   * @param otherDenied the requests that the candidate denies; equal to {@code denied} without a
   *     candidate
   */
  public record Bin(long atNanos, long requests, long denied, long otherDenied) {}

  /**
   * The shard of a result: only the requests whose ids belong to this shard were decided. In the
   * result of a shard, each id counts as a client. A request without a charge belongs to the shard
   * of the client's address.
   *
   * @param number the number of the shard, from 1
   * @param minutes the minutes with a denied request, for finding the worst minute of all shards
   */
  public record Shard(int number, int of, List<WorstMinute> minutes) {

    public Shard {
      minutes = List.copyOf(minutes);
    }
  }
}
