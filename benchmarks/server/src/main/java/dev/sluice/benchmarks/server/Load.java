// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Puts load on a server for a while, with a load generator. */
@FunctionalInterface
interface Load {

  /**
   * Runs the load to its end.
   *
   * @param seconds the approximate duration
   * @return the result
   */
  Sent run(double seconds) throws IOException, InterruptedException;

  /**
   * The result as the client measured it.
   *
   * @param requests the number of answers
   * @param seconds the actual duration
   */
  record Sent(
      long requests, double seconds, double p50Micros, double p99Micros, double p999Micros) {}

  /**
   * A load on a process.
   *
   * @param pid the id of the server's process
   */
  record On(long pid, Load load) {

    /** Runs the load, and measures the processor time of the process meanwhile. */
    Round measure(double seconds) throws IOException, InterruptedException {
      double before = Usage.processorMicros(pid);
      Sent sent = load.run(seconds);
      double micros = Usage.processorMicros(pid) - before;
      return new Round(
          sent.requests / sent.seconds,
          sent.p50Micros,
          sent.p99Micros,
          sent.p999Micros,
          micros / sent.requests);
    }
  }

  /** Returns the first number that a pattern matches. */
  static double number(String text, String pattern) throws IOException {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    if (!matcher.find()) {
      throw new IOException("found no " + pattern + " in:\n" + text);
    }
    return Double.parseDouble(matcher.group(1));
  }
}
