package dev.sluice.redis;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Runs simulated worlds, each from a fresh seed, until one breaks an invariant or the time is over.
 * Exit code 1 and the seed on the last line when one did; 0 and the number of steps otherwise.
 */
public final class SimulationMain {

  private static final Logger STORE_LOG = Logger.getLogger("dev.sluice.redis");

  private SimulationMain() {}

  /**
   * Runs the program.
   *
   * @param args {@code [MINUTES] [--seed N]}
   */
  public static void main(String[] args) throws IOException {
    double minutes = 10;
    Long seed = null;
    boolean survey = false;
    Path plan = null;
    for (int i = 0; i < args.length; i++) {
      if (args[i].equals("--seed") && i + 1 < args.length) {
        seed = Long.parseLong(args[++i]);
      } else if (args[i].equals("--plan") && i + 1 < args.length) {
        plan = Path.of(args[++i]);
      } else if (args[i].equals("--survey")) {
        survey = true;
      } else {
        minutes = Double.parseDouble(args[i]);
      }
    }
    STORE_LOG.setLevel(Level.OFF);
    if (plan != null) {
      Simulation.Result result = Simulation.run(Plan.parse(Files.readAllLines(plan)), true);
      result.history().forEach(System.out::println);
      System.exit(result.violation() == null ? 0 : 1);
    }
    if (survey) {
      survey(minutes, System.out);
      return;
    }
    System.exit(seed == null ? search(minutes, System.out) : replay(seed, System.out));
  }

  private static int search(double minutes, PrintStream out) {
    long start = System.nanoTime();
    long end = start + (long) (minutes * TimeUnit.MINUTES.toNanos(1));
    long first = System.currentTimeMillis() * 1_000_003L;
    out.println("first seed " + first);
    long steps = 0;
    long worlds = 0;
    for (long seed = first; System.nanoTime() < end; seed++) {
      Simulation.Result result = Simulation.run(Plan.random(seed), false);
      steps += result.steps();
      worlds++;
      if (result.violation() != null) {
        report(seed, out);
        return 1;
      }
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    out.printf(
        Locale.ROOT,
        "%d worlds, %d steps, %.0f steps per second, no invariant broke%n",
        worlds,
        steps,
        steps / seconds);
    return 0;
  }

  /** Goes on after a violation, and lists the kinds that there are. */
  private static void survey(double minutes, PrintStream out) {
    long end = System.nanoTime() + (long) (minutes * TimeUnit.MINUTES.toNanos(1));
    java.util.Map<String, Integer> counts = new java.util.TreeMap<>();
    java.util.Map<String, String> first = new java.util.TreeMap<>();
    long worlds = 0;
    long steps = 0;
    for (long seed = System.currentTimeMillis() * 1_000_003L; System.nanoTime() < end; seed++) {
      Plan plan = Plan.random(seed);
      if (Boolean.getBoolean("same")
          && (plan.setting("limitsDiffer") != 0
              || plan.has(Step.Kind.LIMITS)
              || plan.has(Step.Kind.CLOCK_STEP))) {
        continue;
      }
      Simulation.Result result = Simulation.run(plan, false);
      worlds++;
      steps += result.steps();
      String violation = result.violation();
      if (violation != null) {
        counts.merge(kind(violation), 1, Integer::sum);
        first.putIfAbsent(kind(violation), "seed " + seed + ": " + violation);
      }
    }
    out.println(worlds + " worlds, " + steps + " steps");
    counts.forEach((kind, count) -> out.println(count + "  " + first.get(kind)));
  }

  private static int replay(long seed, PrintStream out) {
    if (Simulation.run(Plan.random(seed), false).violation() == null) {
      out.println("seed " + seed + ": no invariant broke");
      return 0;
    }
    report(seed, out);
    return 1;
  }

  private static void report(long seed, PrintStream out) {
    Plan plan = Plan.random(seed);
    String kind = kind(Simulation.run(plan, false).violation());
    Plan shrunk =
        Shrinker.shrink(
            plan, candidate -> kind(Simulation.run(candidate, false).violation()).equals(kind));
    Simulation.Result result = Simulation.run(shrunk, true);
    out.println("What happened, reduced from " + plan.steps().size() + " steps:");
    out.println();
    result.history().forEach(line -> out.println("  " + line));
    out.println();
    out.println("The plan, to be kept as a test:");
    out.println();
    shrunk.lines().forEach(line -> out.println("  " + line));
    out.println();
    out.println(result.violation());
    out.println("seed " + seed);
  }

  /** Returns what kind of violation it is, so that shrinking does not find another. */
  static String kind(@org.jspecify.annotations.Nullable String violation) {
    return violation == null
        ? ""
        : violation.replaceAll("p?[0-9][0-9.,:a-z-]*", "").split("[(\\[]", 2)[0];
  }
}
