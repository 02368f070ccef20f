// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A load of Redis commands, sent by the program redis-benchmark with 50 connections and a pipeline
 * of commands on each.
 */
final class RedisBenchmarkLoad implements Load {

  private static final Pattern PERCENTILE = Pattern.compile("([0-9.]+)% <= ([0-9.]+) milliseconds");
  private static final double MICROS_PER_MILLI = 1_000;
  private static final int FIRST = 20_000;

  private final int port;
  private final int pipeline;
  private final List<String> command;
  // The rate of the previous run, which determines the number of requests in the next run.
  private double perSecond;

  RedisBenchmarkLoad(int port, int pipeline, List<String> command) {
    this.port = port;
    this.pipeline = pipeline;
    this.command = command;
  }

  @Override
  public Sent run(double seconds) throws IOException, InterruptedException {
    if (perSecond == 0) {
      perSecond = FIRST;
      var unused = run(seconds / 2);
    }
    long requests = Math.max((long) (perSecond * seconds), FIRST);
    List<String> words =
        new ArrayList<>(
            List.of("redis-benchmark", "-h", "127.0.0.1", "-p", String.valueOf(port), "-c", "50"));
    words.addAll(List.of("-P", String.valueOf(pipeline), "-n", String.valueOf(requests)));
    words.addAll(List.of("-r", "100000"));
    words.addAll(command);
    String printed = Program.run(Map.of(), words.toArray(String[]::new));
    if (printed.contains("Error from server")) {
      throw new IOException(printed);
    }
    perSecond = Load.number(printed, "throughput summary: ([0-9.]+)");
    return new Sent(
        requests,
        requests / perSecond,
        percentile(printed, 50),
        percentile(printed, 99),
        percentile(printed, 99.9));
  }

  private static double percentile(String printed, double wanted) {
    Matcher line = PERCENTILE.matcher(printed);
    double micros = 0;
    while (line.find()) {
      micros = Double.parseDouble(line.group(2)) * MICROS_PER_MILLI;
      if (Double.parseDouble(line.group(1)) >= wanted) {
        break;
      }
    }
    return micros;
  }
}
