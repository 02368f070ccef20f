// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Puts load on a server for a while, with a program that is made for it. */
@FunctionalInterface
interface Load {

  /**
   * Runs the load to its end.
   *
   * @param seconds how long, about
   * @return what it came to
   */
  Sent run(double seconds) throws IOException, InterruptedException;

  /**
   * The client's view.
   *
   * @param requests how many were answered
   * @param seconds in which time
   */
  record Sent(
      long requests, double seconds, double p50Micros, double p99Micros, double p999Micros) {}

  /**
   * The load of a process.
   *
   * @param pid the process that answers
   */
  record On(long pid, Load load) {

    /** Measures the load and, beside it, the processor time of the process. */
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

  /** Returns the first number that a pattern finds. */
  static double number(String text, String pattern) throws IOException {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    if (!matcher.find()) {
      throw new IOException("found no " + pattern + " in:\n" + text);
    }
    return Double.parseDouble(matcher.group(1));
  }
}
