// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.internal.text.SafeText;
import dev.sluice.replay.Replay.Denial;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Writes denials as CSV. The cells are safe to open in a spreadsheet: an apostrophe precedes each
 * text that would start a formula, and control characters are escaped. Not thread-safe; blocks if
 * its target blocks.
 */
public final class DenialsCsv implements Consumer<Denial> {

  /** The first line. */
  public static final String HEADING = "time,client,rule,limit,id,request,status,wait_seconds";

  private static final String FORMULA = "=+-@";

  private final Appendable target;
  private final ClientNames names;

  /** Creates a writer, and writes the heading. */
  public DenialsCsv(Appendable target, ClientNames names) {
    this.target = target;
    this.names = names;
    write(HEADING);
  }

  @Override
  public void accept(Denial denial) {
    write(
        List.of(
                Words.instant(denial.atNanos()).toString(),
                names.of(denial.client()),
                denial.rule() == 0 ? "" : String.valueOf(denial.rule()),
                denial.limit(),
                names.of(denial.id()),
                denial.request(),
                denial.status() < 0 ? "" : String.valueOf(denial.status()),
                denial.retryInNanos() == 0 ? "" : String.valueOf(denial.retryInNanos() / 1e9))
            .stream()
            .map(DenialsCsv::cell)
            .collect(Collectors.joining(",")));
  }

  private static String cell(String text) {
    String printable = SafeText.printable(text);
    boolean formula = !printable.isEmpty() && FORMULA.indexOf(printable.charAt(0)) >= 0;
    String safe = formula ? "'" + printable : printable;
    return safe.matches("[^\",\r\n]*") ? safe : "\"" + safe.replace("\"", "\"\"") + "\"";
  }

  private void write(String line) {
    try {
      target.append(line).append('\n');
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
