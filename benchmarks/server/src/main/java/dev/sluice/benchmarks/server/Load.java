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

  /**
   * The measurements of one round of a subject.
   *
   * @param perSecond decisions per second, or answers of an alternative
   * @param p50Micros the median latency
   * @param p99Micros the 99th percentile of the latency
   * @param p999Micros the 99.9th percentile of the latency
   * @param serverMicros processor time of the server per answer
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

    /** Returns the median of each number separately. */
    static Round median(List<Round> rounds) {
      return new Round(
          of(rounds, Round::perSecond).median(),
          of(rounds, Round::p50Micros).median(),
          of(rounds, Round::p99Micros).median(),
          of(rounds, Round::p999Micros).median(),
          of(rounds, Round::serverMicros).median());
    }

    /** Returns the figure of one number over the rounds. */
    static Figure of(List<Round> rounds, ToDoubleFunction<Round> number) {
      return Figure.of(rounds.stream().mapToDouble(number));
    }
  }
}
