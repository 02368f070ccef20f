// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.replay.ReplayResult.Change;
import dev.sluice.replay.ReplayResult.Client;
import dev.sluice.replay.ReplayResult.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Writes a result as text for a terminal. Stateless. */
public final class ReplayText {

  private static final String GAP = "   ";

  private ReplayText() {}

  /**
   * Returns the lines. {@code against} is the name of the candidate's file; empty without a
   * candidate.
   */
  public static List<String> lines(ReplayResult result, String against, ClientNames names) {
    List<String> lines = new ArrayList<>();
    lines.add(heading(result));
    lines.add("");
    lines.addAll(aligned(cells(result, against), false));
    result
        .uncharged()
        .lacking()
        .forEach(
            one ->
                lines.add(
                    "%s uses %s, which the log does not have.".formatted(one.rule(), one.word())));
    lines.add("");
    lines.addAll(findings(result, names));
    lines.addAll(change(result.change(), against));
    return lines;
  }

  static String heading(ReplayResult result) {
    var log = result.log();
    var found = log.found();
    StringBuilder text = new StringBuilder(Words.counted(found.lines(), "line"));
    if (found.unread() > 0) {
      text.append(
          " (%s cannot be parsed, the first at %s)"
              .formatted(Words.whole(found.unread()), found.firstUnread()));
    }
    if (result.totals().requests() > 0) {
      text.append(", ").append(Words.span(log.firstNanos(), log.lastNanos(), log.zone()));
    }
    text.append(result.totals().exact() ? ", " : ", about ")
        .append(Words.counted(result.totals().clients(), "client"));
    var shard = result.shard();
    if (shard != null) {
      text.append(" in shard %s of %s".formatted(shard.number(), shard.of()));
    }
    if (log.skipped() > 0) {
      text.append(", %s skipped because of the HTTP status".formatted(Words.whole(log.skipped())));
    }
    if (found.mostLateNanos() > 0) {
      text.append(
          "; lines out of order by at most %s".formatted(Words.duration(found.mostLateNanos())));
    }
    if (found.late() > 0) {
      text.append(
          "; lines later than --window allows, each decided at the time of the line before it: %s"
              .formatted(Words.whole(found.late())));
    }
    return text.toString();
  }

  /** Returns the rows of the table. The first row is the heading. */
  static List<List<String>> cells(ReplayResult result, String against) {
    List<List<String>> cells = new ArrayList<>();
    Change change = result.change();
    List<String> head =
        new ArrayList<>(List.of("rule", "requests", "limit", "denied", "clients", "longest wait"));
    if (change != null) {
      head.add("with " + against);
    }
    cells.add(head);
    for (Row row : result.rows()) {
      List<String> line = new ArrayList<>(cells(row));
      if (change != null) {
        line.add(difference(row, result.rows(), change.rows()));
      }
      cells.add(line);
    }
    if (change != null) {
      for (Row row : change.rows()) {
        if (twin(row, change.rows(), result.rows()) == null) {
          cells.add(
              List.of(
                  rule(row),
                  Words.whole(row.requests()),
                  row.limit(),
                  "",
                  "",
                  "",
                  "denies %s, %s"
                      .formatted(
                          Words.whole(row.denied()),
                          Words.counted(row.deniedClients(), "client"))));
        }
      }
    }
    var uncharged = result.uncharged();
    addCount(cells, "no rule", uncharged.noRule());
    addCount(cells, "nothing charged", uncharged.free());
    addCount(cells, "cannot be charged (400)", uncharged.unusable());
    addCount(cells, "cost above the burst, never charged", uncharged.tooCostly());
    addCount(cells, "no cost in the log, so the cost is 1", uncharged.lackingCost());
    return cells;
  }

  private static void addCount(List<List<String>> cells, String what, long count) {
    if (count > 0) {
      cells.add(List.of(what, Words.whole(count)));
    }
  }

  private static String rule(Row row) {
    return row.rule().isEmpty() ? "every request" : (row.rule() + " " + row.paths()).strip();
  }

  private static List<String> cells(Row row) {
    return List.of(
        rule(row),
        Words.whole(row.requests()),
        row.limit().isEmpty() ? "(denies all)" : row.limit() + (row.shadow() ? " (shadow)" : ""),
        withShare(row.denied(), row.requests()),
        withShare(row.deniedClients(), row.clients()),
        row.longestWaitNanos() == 0 ? "-" : Words.duration(row.longestWaitNanos()));
  }

  private static String withShare(long part, long whole) {
    return part == 0 ? "0" : "%s (%s)".formatted(Words.whole(part), Words.percent(part, whole));
  }

  /**
   * Returns the row of the same rule and limit among {@code others}; null if there is none, or if
   * it cannot be determined. The two rows can belong to different files, in which the rule is on
   * different lines, so rows with the same paths and limit are matched by their order.
   */
  private static @Nullable Row twin(Row row, List<Row> own, List<Row> others) {
    List<Row> alike = alike(row, others);
    List<Row> ownAlike = alike(row, own);
    return alike.size() == ownAlike.size()
        ? alike.get(ownAlike.indexOf(row))
        : alike.stream().filter(other -> other.rule().equals(row.rule())).findFirst().orElse(null);
  }

  private static List<Row> alike(Row row, List<Row> rows) {
    return rows.stream()
        .filter(
            other ->
                other.paths().equals(row.paths())
                    && other.limit().equals(row.limit())
                    && other.shadow() == row.shadow())
        .toList();
  }

  private static String difference(Row row, List<Row> own, List<Row> others) {
    Row candidate = twin(row, own, others);
    if (candidate == null) {
      return alike(row, others).isEmpty() ? "not charged" : "unclear: several such rules";
    }
    long requests = candidate.denied() - row.denied();
    long clients = candidate.deniedClients() - row.deniedClients();
    if (requests == 0 && clients == 0) {
      return "the same";
    }
    return "%s, %s"
        .formatted(
            String.format(Locale.ROOT, "%+,d", requests),
            clients == 0
                ? "as many clients"
                : "%s %s"
                    .formatted(
                        Words.counted(Math.abs(clients), "client"),
                        clients > 0 ? "more" : "fewer"));
  }

  static List<String> findings(ReplayResult result, ClientNames names) {
    List<String> lines = new ArrayList<>();
    if (!result.totals().exact()) {
      lines.add(
          "There are too many clients to keep all their names. So the numbers of clients are"
              + " estimates, and a client's requests may be counted only from its first denial."
              + " All decisions are exact.");
    }
    if (result.totals().denied() == 0) {
      lines.add("No request is denied.");
      return lines;
    }
    Client most = result.mostDenied().get(0);
    lines.add(
        "Most denied: %s, %s of %s denied%s"
            .formatted(
                names.of(most.name()),
                Words.whole(most.denied()),
                Words.counted(most.requests(), "request"),
                most.served() == 0
                    ? "."
                    : "; the server answered %s of these requests without an error."
                        .formatted(Words.whole(most.served()))));
    var worst = result.worst();
    if (worst != null) {
      lines.add(
          "Worst minute: %s, %s denied, %s of them from %s."
              .formatted(
                  Words.date(worst.atNanos(), result.log().zone())
                      + " "
                      + Words.minute(worst.atNanos(), result.log().zone()),
                  Words.whole(worst.denied()),
                  Words.percent(worst.ofClient(), worst.denied()),
                  names.of(worst.client())));
    }
    return lines;
  }

  static List<String> change(@Nullable Change change, String against) {
    if (change == null) {
      return List.of();
    }
    return List.of(
        "With %s: %s newly denied, %s newly allowed; %s newly denied, %s no longer denied."
            .formatted(
                against,
                Words.counted(change.newlyDenied(), "request"),
                Words.whole(change.newlyAllowed()),
                Words.counted(change.newlyDeniedClients(), "client"),
                Words.whole(change.newlyAllowedClients())));
  }

  /**
   * Aligns the columns of a table. Only the second column is aligned to the right, or all columns
   * if {@code onlyNumbers} is true.
   */
  static List<String> aligned(List<List<String>> cells, boolean onlyNumbers) {
    int columns = cells.stream().mapToInt(List::size).max().orElse(0);
    int[] widths = new int[columns];
    for (List<String> row : cells) {
      for (int i = 0; i < row.size(); i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    List<String> lines = new ArrayList<>();
    for (List<String> row : cells) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < row.size(); i++) {
        String space = " ".repeat(widths[i] - row.get(i).length());
        boolean isNumber = onlyNumbers || i == 1;
        line.append(i == 0 ? "" : GAP).append(isNumber ? space + row.get(i) : row.get(i) + space);
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }
}
