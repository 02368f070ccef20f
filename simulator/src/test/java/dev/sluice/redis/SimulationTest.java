package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Worlds that once broke an invariant, and fresh ones. */
final class SimulationTest {

  /** How long fresh seeds are tried: {@code -Dsluice.simulation.seconds=60}. */
  private static final long SECONDS = Long.getLong("sluice.simulation.seconds", 10);

  private static final Logger STORE_LOG = Logger.getLogger("dev.sluice.redis");

  @BeforeAll
  static void quiet() {
    STORE_LOG.setLevel(Level.OFF);
  }

  static List<Path> kept() throws IOException, URISyntaxException {
    Path folder = Path.of(Objects.requireNonNull(SimulationTest.class.getResource("kept")).toURI());
    try (Stream<Path> plans = Files.list(folder)) {
      return plans.sorted().toList();
    }
  }

  /** What each file broke is its first line; its name says how. */
  @ParameterizedTest
  @MethodSource("kept")
  void keptPlan_breaksNoInvariant(Path file) throws IOException {
    Plan plan = Plan.parse(Files.readAllLines(file));
    Simulation.Result result = Simulation.run(plan, true);
    assertThat(result.violation()).as(String.join("\n", result.history())).isNull();
  }

  @Test
  void freshSeeds_breakNoInvariant() {
    long first = System.currentTimeMillis() * 1_000_003L;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    long seed = first;
    while (System.nanoTime() - end < 0) {
      assertThat(Simulation.run(Plan.random(seed), false).violation())
          .as("seed %d; ./sluice bench simulation --seed %d tells the history", seed, seed)
          .isNull();
      seed++;
    }
    System.out.println("simulated worlds: seeds " + first + " to " + (seed - 1));
  }

  @Test
  void oneSeed_isOneHistory() {
    Plan plan = Plan.random(20_261_121);
    Simulation.Result once = Simulation.run(plan, true);
    assertThat(Simulation.run(plan, true).history()).isEqualTo(once.history()).isNotEmpty();
    assertThat(Plan.parse(plan.lines())).isEqualTo(plan);
  }
}
