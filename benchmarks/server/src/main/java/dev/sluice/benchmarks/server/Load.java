// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import dev.sluice.benchmarks.report.Figure;
import dev.sluice.benchmarks.server.Program.Usage;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A load generator that puts load on a server for some time. */
@FunctionalInterface
interface Load {

  /**
   * Runs the load, and waits for its end.
   *
   * @param seconds the approximate duration
   * @return the measurements of the client
   */
  Sent run(double seconds) throws IOException, InterruptedException;

  /**
   * The measurements of the client.
   *
   * @param requests the number of responses
   * @param seconds the actual duration
   */
  record Sent(
      long requests, double seconds, double p50Micros, double p99Micros, double p999Micros) {}

  /**
   * A load on a server process.
   *
   * @param pid the id of the server's process
   */
  record On(long pid, Load load) {

    /**
     * Runs the load, and measures how much processor time the server process uses during the load.
     */
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

  /** Returns the number in the first group of the first match of a pattern. */
  static double number(String text, String pattern) throws IOException {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    if (!matcher.find()) {
      throw new IOException("found no " + pattern + " in:\n" + text);
    }
    return Double.parseDouble(matcher.group(1));
  }

  /**
   * The measurements of one subject in one round.
   *
   * @param perSecond the number of responses per second
   * @param p50Micros the median latency
   * @param p99Micros the 99th percentile of the latency
   * @param p999Micros the 99.9th percentile of the latency
   * @param serverMicros the processor time of the server per response
   */
  record Round(
      double perSecond,
      double p50Micros,
      double p99Micros,
      double p999Micros,
      double serverMicros) {

    String cells() {
      return String.format(
          Locale.ROOT,
          "%,.0f | %.0f / %.0f / %.0f | %.2f",
          perSecond,
          p50Micros,
          p99Micros,
          p999Micros,
          serverMicros);
    }

    /** Returns the median of each number, computed separately. */
    static Round median(List<Round> rounds) {
      return new Round(
          of(rounds, Round::perSecond).median(),
          of(rounds, Round::p50Micros).median(),
          of(rounds, Round::p99Micros).median(),
          of(rounds, Round::p999Micros).median(),
          of(rounds, Round::serverMicros).median());
    }

    /** Returns the median and the range of one number over the rounds. */
    static Figure of(List<Round> rounds, ToDoubleFunction<Round> number) {
      return Figure.of(rounds.stream().mapToDouble(number));
    }
  }
}
