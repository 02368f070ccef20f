// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.internal.text.SafeText;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;

/** Logs the rows of a table that are invalid and therefore ignored. Thread-safe. */
final class BadRowLog {

  private static final Logger LOG = System.getLogger(BadRowLog.class.getName());
  private static final int MOST_ROWS = 10;

  private final String content;
  private List<BadRow> logged = List.of();

  /**
   * Makes a log.
   *
   * @param content the content of the table, such as {@code overrides}
   */
  BadRowLog(String content) {
    this.content = content;
  }

  /** Logs invalid rows, unless the last call was for the same rows. */
  synchronized void log(List<BadRow> bad) {
    if (bad.equals(logged)) {
      return;
    }
    logged = bad;
    bad.stream()
        .limit(MOST_ROWS)
        .forEach(
            row ->
                LOG.log(
                    Level.WARNING,
                    "ignored an invalid row of the table of {0}, {1}: {2}",
                    content,
                    SafeText.quote(row.bucketKey()),
                    row.message()));
    if (bad.size() > MOST_ROWS) {
      LOG.log(Level.WARNING, "ignored {0} more invalid rows", bad.size() - MOST_ROWS);
    }
  }
}
