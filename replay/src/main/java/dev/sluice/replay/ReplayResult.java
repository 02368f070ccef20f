// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.time.ZoneId;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What limits would have done to the requests of logs.
 *
 * @param rows one for each limit of each rule that matched a request, in the order of the file
 * @param mostDenied the clients with the most denied requests, the most denied first
 * @param worst the minute with the most denied requests; null if nothing was denied
 * @param shard which part of the requests this is; null for all of them
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
   * What was read.
   *
   * @param skipped requests that were left out by their status
   * @param firstNanos the time of the first request, in nanoseconds since the epoch
   * @param zone in which the log shows its times
   */
  public record Log(
      Lines found, long skipped, long firstNanos, long lastNanos, String format, ZoneId zone) {}

  /**
   * The lines of logs.
   *
   * @param lines the lines of all files, without headings and empty ones
   * @param unread lines that are not a request in the format
   * @param firstUnread the place of the first of them, null if there is none
   * @param late requests that were older than the window when they were read; they are decided at
   *     the time of the request before them
   * @param mostLateNanos how far the latest request was out of order
   */
  public record Lines(
      long lines, long unread, @Nullable String firstUnread, long late, long mostLateNanos) {}

  /**
   * Counts of all requests under one set of limits.
   *
   * @param clients the clients; estimated if the counts are not exact
   * @param exact false if there were more clients than names are kept of
   */
  public record Totals(
      long requests, long denied, long clients, long deniedClients, boolean exact) {}

  /**
   * One limit of one rule.
   *
   * @param rule the file and the line of the rule; empty where limits are counted without rules
   * @param limit the name; empty for a rule that denies all of its requests
   * @param shadow whether a denial refuses nobody
   * @param longestWaitNanos the longest time that a denied client would have had to wait; 0 if
   *     waiting does not help
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

    /** The line of the rule; 0 without rules. */
    int line() {
      return rule.isEmpty() ? 0 : Integer.parseInt(rule.substring(rule.lastIndexOf(':') + 1));
    }
  }

  /**
   * Requests that no limit decided, or that the log says too little about.
   *
   * @param free the rule charges nothing, or the request has no value for the id
   * @param unusable the request cannot be charged: a server would answer 400
   * @param tooCostly the cost is above the burst, so that the request never passes; also denied
   * @param lackingCost the field of the cost has no whole number: the request is taken to cost 1
   * @param lacking what rules or counts use and the log does not have
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
   * A value that a rule or a count uses and the log does not have.
   *
   * @param rule the file and the line of the rule, or the count
   * @param word the value, such as {@code header:x-api-key}
   */
  public record Lacking(String rule, String word) {}

  /**
   * A client with denied requests.
   *
   * @param name its address
   * @param requests its requests; since its first denial only, if the counts are not exact
   * @param served those of the denied ones that the log says were answered below 400
   */
  public record Client(String name, long requests, long denied, long served) {

    static final Comparator<Client> MOST_DENIED =
        Comparator.comparingLong(Client::denied).reversed().thenComparing(Client::name);
  }

  /**
   * The minute with the most denied requests.
   *
   * @param atNanos when it begins, in nanoseconds since the epoch
   * @param client the one with the most of them
   * @param ofClient how many are that client's
   */
  public record WorstMinute(long atNanos, long denied, String client, long ofClient) {

    /** The client with the most denied requests first. */
    static final Comparator<WorstMinute> BY_CLIENT =
        Comparator.comparingLong(WorstMinute::ofClient)
            .reversed()
            .thenComparing(WorstMinute::client);
  }

  /**
   * What the candidate does instead.
   *
   * @param newlyDeniedClients clients that only the candidate denies anything
   * @param newlyAllowedClients clients that only the candidate denies nothing
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

  /** The requests over time: the bins with a request, in order. */
  public record Series(long binNanos, List<Bin> bins) {

    public Series {
      bins = List.copyOf(bins);
    }
  }

  /**
   * Requests of a time.
   *
   * @param atNanos when the bin begins, in nanoseconds since the epoch
   * @param otherDenied those that the candidate denies; the same without one
   */
  public record Bin(long atNanos, long requests, long denied, long otherDenied) {}

  /**
   * Which part of the requests a result has: those whose ids belong to a shard. Clients are ids
   * then; only a request that is charged nothing belongs to its address.
   *
   * @param number from 1
   * @param minutes those with a denied request, which the worst minute of all shards needs
   */
  public record Shard(int number, int of, List<WorstMinute> minutes) {

    public Shard {
      minutes = List.copyOf(minutes);
    }
  }
}
