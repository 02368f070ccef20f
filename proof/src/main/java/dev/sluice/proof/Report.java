// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.FormatMethod;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/**
 * What a campaign prints: a table with a row for each thing that was tried, and whether the promise
 * was kept. For one thread.
 */
public final class Report {

  private static final int WRONG_INPUT = 2;

  private final List<String> wanted;
  private boolean kept = true;

  private Report(List<String> wanted) {
    this.wanted = wanted;
  }

  /** What was seen. */
  @FunctionalInterface
  public interface Attempt {
    /**
     * Tries something.
     *
     * @return what was seen
     * @throws BrokenPromise if that is not what is promised
     * @throws NotTried if this machine cannot try it
     * @throws Exception if a process or a file cannot be made
     */
    String seen() throws Exception;
  }

  /**
   * Begins the report of a command. Ends the process with 2 where a wanted name is unknown: nothing
   * would be tried for it, and every promise kept.
   *
   * @param wanted the names of what is to be tried; empty for all
   */
  public static Report of(String command, List<String> wanted, Collection<String> known) {
    for (String name : wanted) {
      if (!known.contains(name)) {
        System.err.printf(
            "sluice prove %s: found %s, expected %s%n", command, name, String.join(", ", known));
        System.exit(WRONG_INPUT);
      }
    }
    return new Report(List.copyOf(wanted));
  }

  /** Text with figures. */
  @FormatMethod
  public static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** Whether something of this name is to be tried. */
  public boolean wants(String name) {
    return wanted.isEmpty() || wanted.contains(name);
  }

  /** Begins a table. */
  public void table(String... columns) {
    System.out.printf(
        "%n| %s |%n|%s%n", String.join(" | ", columns), "---|".repeat(columns.length));
  }

  /** Prints a row that ends with whether the promise was kept. */
  public void row(boolean isKept, String... cells) {
    kept &= isKept;
    System.out.printf("| %s | %s |%n", String.join(" | ", cells), isKept ? "kept" : "BROKEN");
  }

  /** Tries something if its name is wanted, and prints what was seen. */
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

  /** Ends the process: with 1 where a promise was broken or something could not be tried. */
  public void exit() {
    System.exit(kept ? 0 : 1);
  }
}
