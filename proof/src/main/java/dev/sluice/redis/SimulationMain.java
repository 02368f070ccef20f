// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The command {@code ./sluice prove simulation}. Runs random plans, one seed after the other, until
 * a run violates an invariant or the time is over. After a violation, the exit code is 1, and the
 * last line of the output is the seed. Without a violation, the exit code is 0.
 */
public final class SimulationMain {

  private static final Logger LOG = Logger.getLogger("dev.sluice");
  private static final long PROGRESS_NANOS = TimeUnit.MINUTES.toNanos(5);

  /** The fewest steps without a warning: 1.4 million steps missed 3 planted faults. */
  private static final long FEW_STEPS = 10_000_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private static final String USAGE =
      """
      Usage: sluice prove simulation [MINUTES] [--seed N] [--database | --settlements] [--brief | --survey]
             sluice prove simulation --plan FILE
        MINUTES      runs seeds for this processor time (default 10)
        --seed N     begins with seed N; without MINUTES, runs only seed N
        --database   runs only seeds with PostgreSQL; --seed N then begins with the next such seed
        --settlements
                     runs only seeds that settle reservations; --seed N then begins with the next one
        --brief      prints a violation without a shortened history
        --survey     continues after a violation, and prints each kind of violation once
        --plan FILE  runs a saved plan, and prints its history\
      """;

  private SimulationMain() {}

  /**
   * Runs the program.
   *
   * @param args {@code [MINUTES] [--seed N] [--database | --settlements] [--brief | --survey]}, or
   *     {@code --plan FILE}
   */
  public static void main(String[] args) {
    LOG.setLevel(Level.OFF);
    System.exit(run(args, System.out));
  }

  /** Runs the program, and returns the exit code. */
  static int run(String[] args, PrintStream out) {
    IntSupplier asked;
    try {
      boolean isKept = args.length == 2 && args[0].equals("--plan");
      asked = isKept ? kept(Path.of(args[1]), out) : search(Wish.of(args), out);
    } catch (IllegalArgumentException | IndexOutOfBoundsException | IOException e) {
      System.err.println("sluice prove simulation: " + e.getMessage() + "\n\n" + USAGE);
      return 2;
    }
    return asked.getAsInt();
  }

  private static IntSupplier search(Wish wish, PrintStream out) {
    return () -> run(wish, out);
  }

  private static IntSupplier kept(Path file, PrintStream out) throws IOException {
    List<String> lines = Files.readAllLines(file);
    Plan plan = Plan.parse(lines);
    boolean hasSeed = lines.stream().anyMatch(line -> line.startsWith("seed "));
    return () -> tell(plan, hasSeed, out);
  }

  /** What the program does after a violation. */
  private enum Manner {
    WHOLE,
    BRIEF,
    SURVEY
  }

  /**
   * The parsed arguments.
   *
   * @param minutes the processor time in minutes; null if absent
   * @param seed the first seed; null for a new seed
   * @param chosen which plans to run
   */
  private record Wish(
      @Nullable Double minutes, @Nullable Long seed, Predicate<Plan> chosen, Manner manner) {

    static Wish of(String[] args) {
      Double minutes = null;
      Long seed = null;
      @Nullable Predicate<Plan> chosen = null;
      Manner manner = Manner.WHOLE;
      for (int i = 0; i < args.length; i++) {
        if (args[i].equals("--seed") && seed == null && i + 1 < args.length) {
          seed = Long.valueOf(args[++i]);
        } else if (args[i].equals("--database") && chosen == null) {
          chosen = plan -> plan.topology() == Fleet.Topology.DATABASE;
        } else if (args[i].equals("--settlements") && chosen == null) {
          chosen = plan -> plan.has(Step.Kind.RESERVE_SETTLED);
        } else if (args[i].equals("--brief") && manner == Manner.WHOLE) {
          manner = Manner.BRIEF;
        } else if (args[i].equals("--survey") && manner == Manner.WHOLE) {
          manner = Manner.SURVEY;
        } else if (!args[i].startsWith("-") && minutes == null) {
          minutes = Double.valueOf(args[i]);
        } else {
          throw new IllegalArgumentException("unexpected argument " + args[i]);
        }
      }
      return new Wish(minutes, seed, chosen == null ? plan -> true : chosen, manner);
    }
  }

  private static int run(Wish wish, PrintStream out) {
    if (wish.seed != null && wish.minutes == null && wish.manner == Manner.WHOLE) {
      return replay(firstSeed(wish.seed, wish.chosen), out);
    }
    double minutes = wish.minutes == null ? 10 : wish.minutes;
    long first = firstSeed(wish.seed == null ? freshSeed() : wish.seed, wish.chosen);
    out.println("first seed " + first);
    return search(minutes, first, wish, out);
  }

  /** Returns the first seed whose plan is chosen, beginning with {@code from}. */
  private static long firstSeed(long from, Predicate<Plan> chosen) {
    long seed = from;
    while (!chosen.test(Plan.random(seed))) {
      seed++;
    }
    return seed;
  }

  private static long freshSeed() {
    return System.currentTimeMillis() * 1_000_003L;
  }

  private static int search(double minutes, long first, Wish wish, PrintStream out) {
    EndlessWorlds watch = new EndlessWorlds(out); // not part of the measured time
    long start = cpuNanos();
    long end = start + (long) (minutes * TimeUnit.MINUTES.toNanos(1));
    Map<String, Integer> counts = new TreeMap<>();
    Map<String, String> firsts = new TreeMap<>();
    long worlds = 0;
    long steps = 0;
    long told = start;
    for (long seed = first; seed == first || cpuNanos() - end < 0; seed++) {
      Plan plan = Plan.random(seed);
      if (!wish.chosen.test(plan)) {
        continue;
      }
      Simulation.Result result = watch.run(seed, plan);
      worlds++;
      steps += result.steps();
      if (cpuNanos() - told > PROGRESS_NANOS) {
        told = cpuNanos();
        System.err.printf(Locale.ROOT, "%d simulated runs, %d steps so far%n", worlds, steps);
      }
      String violation = result.violation();
      if (violation == null) {
        continue;
      }
      switch (wish.manner) {
        case BRIEF -> {
          out.println(violation);
          out.println("seed " + seed);
          return 1;
        }
        case WHOLE -> {
          out.println("seed " + seed + " violates an invariant; shortening its history");
          return replay(seed, out);
        }
        case SURVEY -> {
          String finding = "seed " + seed + ": " + violation;
          counts.merge(kind(violation), 1, Integer::sum);
          if (firsts.putIfAbsent(kind(violation), finding) == null) {
            System.err.println(finding);
          }
        }
      }
    }
    if (wish.manner == Manner.SURVEY) {
      out.println(worlds + " simulated runs, " + steps + " steps");
      counts.forEach((kind, count) -> out.println(count + "  " + firsts.get(kind)));
      return counts.isEmpty() ? 0 : 1;
    }
    if (steps < FEW_STEPS) {
      out.printf(Locale.ROOT, "fewer than %,d steps prove little; run longer%n", FEW_STEPS);
    }
    double seconds = (cpuNanos() - start) / 1e9;
    out.printf(
        Locale.ROOT,
        "%d simulated runs, %d steps, %.0f steps per second, no invariant broke%n",
        worlds,
        steps,
        steps / seconds);
    return 0;
  }

  /** Returns the processor time of this thread, so that a busy machine does not shorten a run. */
  private static long cpuNanos() {
    return THREADS.getCurrentThreadCpuTime();
  }

  /**
   * A watchdog that prints the seed and ends the program if a run does not end, for example because
   * of an endless loop. A run normally takes a few milliseconds.
   */
  private static final class EndlessWorlds {

    private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(30); // of processor time
    private static final long NONE = Long.MIN_VALUE;

    private final long worker = Thread.currentThread().getId();
    private final PrintStream out;
    private volatile long seed;
    private volatile long began = NONE; // the worker's processor time at the start of the run

    EndlessWorlds(PrintStream out) {
      this.out = out;
      Thread thread = new Thread(this::watch, "endless worlds");
      thread.setDaemon(true);
      thread.start();
    }

    Simulation.Result run(long next, Plan plan) {
      seed = next;
      began = cpuNanos();
      Simulation.Result result = Simulation.run(plan, false);
      began = NONE;
      return result;
    }

    private void watch() {
      while (true) {
        long since = began;
        long now = THREADS.getThreadCpuTime(worker);
        if (since != NONE && since == began && now - since > MOST_NANOS) {
          out.println("seed " + seed + ": the run has not ended after 30 s");
          out.println("seed " + seed);
          out.flush();
          Runtime.getRuntime().halt(1);
        }
        try {
          TimeUnit.SECONDS.sleep(1);
        } catch (InterruptedException e) {
          return;
        }
      }
    }
  }

  private static int tell(Plan plan, boolean hasSeed, PrintStream out) {
    Simulation.Result result = Simulation.run(plan, true);
    result.history().forEach(out::println);
    if (result.violation() == null) {
      out.println(result.steps() + " steps, no invariant broke");
      return 0;
    }
    out.println(result.violation());
    if (hasSeed) {
      out.println("seed " + plan.seed());
    }
    return 1;
  }

  private static int replay(long seed, PrintStream out) {
    Plan plan = Plan.random(seed);
    Simulation.Result once = Simulation.run(plan, false);
    String kind = kind(once.violation());
    if (kind.isEmpty()) {
      out.printf(Locale.ROOT, "seed %d: %d steps, no invariant broke%n", seed, once.steps());
      return 0;
    }
    Plan shrunk =
        Shrinker.shrink(
            plan, candidate -> kind(Simulation.run(candidate, false).violation()).equals(kind));
    Simulation.Result result = Simulation.run(shrunk, true);
    out.println("The history, shortened from a plan of " + plan.steps().size() + " steps:");
    out.println();
    result.history().forEach(line -> out.println("  " + line));
    out.println();
    out.println("The shortened plan, to be saved as a test:");
    out.println();
    shrunk.lines().forEach(line -> out.println("  " + line));
    out.println();
    out.println(result.violation());
    out.println("seed " + seed);
    return 1;
  }

  /**
   * Returns the kind of a violation: its text without numbers, without the call's transactions, and
   * without the answer. The shrinker only accepts a plan whose violation has the same kind as the
   * first violation.
   */
  static String kind(@Nullable String violation) {
    if (violation == null) {
      return "";
    }
    String words =
        violation.replaceAll("\\[[^\\[\\]]*]", "").replaceAll("p?[0-9][0-9.,:a-z-]*", "");
    return words.split("[(\\[]", 2)[0];
  }
}
