// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The report of a campaign: a program that tries to break a promise in several ways. The report
 * prints a table with one row per attempt. Each row says whether the promise was kept. With {@code
 * --write}, each row also replaces the row with the same name and command in {@code proof/results}.
 * Only one thread can use a report.
 */
public final class Report {

  private static final int WRONG_INPUT = 2;
  private static final Path RESULTS = Path.of("proof", "results");

  private final List<String> wanted;
  private final @Nullable Path file;
  private final String run;
  private int names;
  private List<String> columns = List.of();
  private boolean kept = true;

  /**
   * Makes a report.
   *
   * @param wanted the names of the attempts to run; empty for all
   * @param file the file that receives the rows; null to write no file
   * @param run the date, the machine and the command as JSON fields, which every row in the file
   *     contains
   */
  Report(List<String> wanted, @Nullable Path file, String run) {
    this.wanted = wanted;
    this.file = file;
    this.run = run;
  }

  /** An attempt to break a promise. */
  @FunctionalInterface
  public interface Attempt {
    /**
     * Runs the attempt.
     *
     * @return a summary of the result
     * @throws BrokenPromise if a promise was broken
     * @throws NotTried if this machine cannot run the attempt
     * @throws Exception if a process or a file cannot be created
     */
    String seen() throws Exception;
  }

  /**
   * Parses the command-line arguments of a campaign. A wrong argument ends the process with exit
   * code 2.
   */
  public static final class Arguments {

    private final String command;
    private final List<String> words;
    private final List<String> options = new ArrayList<>();

    public Arguments(String command, String... words) {
      this.command = command;
      this.words = new ArrayList<>(List.of(words));
    }

    /**
     * Removes an option without a value from the arguments. Returns whether the command line
     * contained the option.
     */
    public boolean takes(String option) {
      boolean found = words.remove(option);
      if (found) {
        options.add(option);
      }
      return found;
    }

    /**
     * Removes an option from the arguments and returns its value; returns null if the option is
     * absent.
     */
    public @Nullable String value(String option, String pattern, String expected) {
      int at = words.indexOf(option);
      if (at < 0) {
        return null;
      }
      if (at + 1 == words.size() || !words.get(at + 1).matches(pattern)) {
        throw wrong("expected %s after %s", expected, option);
      }
      String value = words.remove(at + 1);
      words.remove(at);
      options.add(option + " " + value);
      return value;
    }

    /**
     * Removes a number of at most six digits from the arguments, and returns this number. Returns
     * {@code otherwise} if the arguments contain no number.
     */
    public int number(int otherwise) {
      int number = otherwise;
      for (String word : List.copyOf(words)) {
        if (word.matches("\\d{1,6}")) {
          number = Integer.parseInt(word);
          words.remove(word);
          options.add(word);
        }
      }
      return number;
    }

    /** Creates the report. The remaining arguments are the names of the attempts to run. */
    public Report report(Collection<String> known) {
      boolean writes = words.remove("--write");
      for (String name : words) {
        if (!known.contains(name)) {
          throw wrong("found %s, expected %s", name, String.join(", ", known));
        }
      }
      String all = String.join(" ", options);
      return new Report(
          List.copyOf(words),
          writes ? RESULTS.resolve(command + ".json") : null,
          fields(
              List.of("date", "machine", "otherLoad", "command"),
              List.of(
                  LocalDate.now(ZoneOffset.UTC).toString(),
                  Programs.machine(),
                  Programs.load(),
                  ("./sluice prove " + command + " " + all).strip())));
    }

    @FormatMethod
    private IllegalArgumentException wrong(String format, Object... values) {
      String message = "sluice prove %s: %s".formatted(command, format.formatted(values));
      System.err.println(message);
      System.exit(WRONG_INPUT);
      return new IllegalArgumentException(message);
    }
  }

  /** Formats a text in the root locale. */
  @FormatMethod
  public static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** Returns whether the attempt with this name is to be run. */
  public boolean wants(String name) {
    return wanted.isEmpty() || wanted.contains(name);
  }

  /**
   * Prints the heading of a table. The last column says whether the promise was kept.
   *
   * @param ofName how many of the first columns together form the name of an attempt
   */
  public void table(int ofName, String... headings) {
    names = ofName;
    columns = List.of(headings);
    System.out.printf(
        "%n| %s | promise |%n|%s%n",
        String.join(" | ", headings), "---|".repeat(headings.length + 1));
  }

  /** Prints a row, whose last cell says whether the promise was kept. */
  public void row(boolean isKept, String... cells) {
    kept &= isKept;
    System.out.printf("| %s | %s |%n", String.join(" | ", cells), isKept ? "kept" : "BROKEN");
    if (file != null) {
      write(file, isKept, Arrays.asList(cells));
    }
  }

  /** Runs an attempt if the command line selects its name, and prints the result as a row. */
  public void row(String name, String text, Attempt attempt) throws Exception {
    if (!wants(name)) {
      return;
    }
    try {
      row(true, text, attempt.seen());
    } catch (BrokenPromise e) {
      row(false, text, String.valueOf(e.getMessage()));
    } catch (NotTried e) {
      kept = false;
      System.out.printf("| %s | %s | not tried |%n", text, e.getMessage());
    }
  }

  private void write(Path to, boolean isKept, List<String> cells) {
    String name = fields(columns.subList(0, names), cells.subList(0, names));
    String seen =
        fields(columns.subList(names, columns.size()), cells.subList(names, cells.size()));
    String command = run.substring(run.lastIndexOf("\"command\""));
    String row = "  {%s, %s, \"kept\": %s, %s}".formatted(name, seen, isKept, run);
    try {
      List<String> rows = new ArrayList<>();
      for (String line : Files.exists(to) ? Files.readAllLines(to) : List.<String>of()) {
        String other = line.endsWith(",") ? line.substring(0, line.length() - 1) : line;
        if (other.startsWith("  {")) {
          boolean isSame = other.startsWith("  {" + name) && other.endsWith(command + "}");
          rows.add(isSame ? row : other);
        }
      }
      if (!rows.contains(row)) {
        rows.add(row);
      }
      Files.writeString(to, "[\n" + String.join(",\n", rows) + "\n]\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String fields(List<String> keys, List<String> values) {
    List<String> fields = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      String value = values.get(i).replace("\\", "\\\\").replace("\"", "\\\"");
      fields.add("\"%s\": \"%s\"".formatted(keys.get(i), value.replace('\n', ' ')));
    }
    return String.join(", ", fields);
  }

  /**
   * Ends the process. The exit code is 1 if a promise was broken or an attempt could not be run.
   */
  public void exit() {
    System.exit(kept ? 0 : 1);
  }

  /** Thrown if this machine cannot run an attempt, for example because a program is missing. */
  public static final class NotTried extends Exception {

    private static final long serialVersionUID = 1;

    public NotTried(String what) {
      super(what);
    }
  }
}
