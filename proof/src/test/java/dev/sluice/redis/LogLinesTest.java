// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.redis.Step.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * How much the store writes into the log while its servers refuse every call for an hour, and
 * answer each PING. It was 13,700 lines once: a server that answered a PING was asked again.
 */
final class LogLinesTest {

  private static final Logger LOG = Logger.getLogger("dev.sluice");
  private static final long MILLI = 1_000_000;
  private static final int HOUR_MILLIS = 3_600_000;
  private static final int CALL_EVERY_MILLIS = 100;
  private static final int LATENCY_MICROS = 500;

  private final List<String> lines = new ArrayList<>();
  private final Level before = LOG.getLevel();
  private final Handler kept =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          lines.add(new SimpleFormatter().formatMessage(line));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    LOG.setLevel(Level.ALL);
    LOG.setUseParentHandlers(false);
    LOG.addHandler(kept);
  }

  @AfterEach
  void stop() {
    LOG.removeHandler(kept);
    LOG.setUseParentHandlers(true);
    LOG.setLevel(before);
  }

  private static Plan anHourOfRefusals(Topology topology) {
    List<Step> steps = new ArrayList<>();
    for (int server = 0; server < topology.masters(); server++) {
      steps.add(Step.of(1_000 * MILLI, Kind.CLUSTER_DOWN, 0, server, HOUR_MILLIS));
    }
    for (long millis = 0; millis < HOUR_MILLIS + 5_000; millis += CALL_EVERY_MILLIS) {
      int call = (int) (millis / CALL_EVERY_MILLIS);
      steps.add(Step.of(millis * MILLI, Kind.SPEND, 0, call % 2, call % 6, 1));
    }
    return new Plan(1, topology, Map.of("processes", 1, "latencyMicros", LATENCY_MICROS), steps);
  }

  @ParameterizedTest
  @EnumSource(
      value = Topology.class,
      names = {"SINGLE", "RING", "CLUSTER"})
  void anHourOfRefusedCalls_isTwoLinesForEachServer(Topology topology) {
    Simulation.Result result = Simulation.run(anHourOfRefusals(topology), false);

    assertThat(result.violation()).isNull();
    assertThat(lines.stream().collect(Collectors.groupingBy(LogLinesTest::server)).values())
        .isNotEmpty()
        .hasSizeLessThanOrEqualTo(topology.masters())
        .allSatisfy(
            told -> {
              assertThat(told).hasSize(2);
              assertThat(told.get(0)).contains("marked ").contains("CLUSTERDOWN");
              assertThat(told.get(1)).contains("answers again");
            });
  }

  /** The name of the server that a line is about. */
  private static String server(String line) {
    return line.replaceAll("^marked (\\S+) down .*", "$1")
        .replaceAll("^(\\S+) answers again.*", "$1");
  }
}
