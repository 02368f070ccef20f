// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What is logged, to standard error, until this is closed. For one test at a time. */
public final class LogLines implements AutoCloseable {

  private final PrintStream before = System.err;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** Begins to collect. */
  public LogLines() {
    System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
  }

  List<String> lines() {
    return text().lines().toList();
  }

  /**
   * Returns what was logged so far.
   *
   * @return all lines
   */
  public String text() {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    System.setErr(before);
  }
}
