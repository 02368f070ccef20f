// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.HistoryRunner.Run;
import java.io.PrintStream;
import java.util.Locale;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * Simulates the memory store under random histories: {@code MemorySimulation [MINUTES] [--seed N]
 * [--brief]}.
 *
 * <p>Each history has its own seed. Histories run one after the other, until the given minutes of
 * processor time are used (by default 1 minute). The first seed is the argument of {@code --seed},
 * otherwise a random seed. The first seed determines the seeds of all later histories. With {@code
 * --seed} and without minutes, only one history runs. With {@code --brief}, failing histories are
 * not reduced. The exit code is 0 if no invariant was violated; the last line of the output
 * contains the number of steps. The exit code is 1 if an invariant was violated; the last line
 * contains the seed. The exit code is 2 for wrong arguments.
 */
public final class MemorySimulation {

  private static final long NANOS_OF_A_MINUTE = 60_000_000_000L;
  private static final long REDUCING_NANOS = 20_000_000_000L;
  private static final long FEW_STEPS = 50_000_000;
  private static final int LOOKED_AFTER = 100; // the time is checked after this many histories

  private final boolean brief;
  private final PrintStream out;

  private MemorySimulation(boolean brief, PrintStream out) {
    this.brief = brief;
    this.out = out;
  }

  /**
   * Runs the simulation.
   *
   * @param args {@code [MINUTES] [--seed N] [--brief]}
   */
  public static void main(String[] args) {
    System.exit(run(args, System.out));
  }

  /** Runs the simulation and returns the exit code. */
  static int run(String[] args, PrintStream out) {
    Double minutes = null;
    Long seed = null;
    boolean brief = false;
    try {
      for (int i = 0; i < args.length; i++) {
        if (args[i].equals("--seed")) {
          seed = Long.valueOf(args[++i]);
        } else if (args[i].equals("--brief")) {
          brief = true;
        } else {
          minutes = Double.valueOf(args[i]);
        }
      }
    } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
      System.err.println("Usage: ./sluice prove simulation memory [MINUTES] [--seed N] [--brief]");
      return 2;
    }
    return seed != null && minutes == null
        ? one(seed, out)
        : new MemorySimulation(brief, out)
            .forMinutes(minutes == null ? 1 : minutes, seed == null ? freshSeed() : seed);
  }

  private static long freshSeed() {
    return new SplittableRandom().nextLong(Long.MAX_VALUE);
  }

  private int forMinutes(double minutes, long first) {
    out.println("first seed " + first);
    SplittableRandom seeds = new SplittableRandom(first);
    long seed = first;
    HistoryRunner simulation = new HistoryRunner();
    long began = nanoTime();
    long histories = 0;
    for (;
        histories % LOOKED_AFTER != 0 || nanoTime() - began < minutes * NANOS_OF_A_MINUTE;
        seed = seeds.nextLong(Long.MAX_VALUE)) {
      histories++;
      Run run = run(simulation, seed);
      if (run.failed() && brief) {
        out.println("violation: " + run.violation());
        out.println("seed " + seed);
        return 1;
      }
      if (run.failed()) {
        return failed(simulation, run, seed, out);
      }
    }
    double seconds = (nanoTime() - began) / 1e9;
    out.printf(
        "%s histories, %s steps a second%n", histories, Math.round(simulation.steps() / seconds));
    if (simulation.steps() < FEW_STEPS) {
      out.printf(
          Locale.ROOT, "fewer than %,d steps prove little; run the simulation longer%n", FEW_STEPS);
    }
    out.printf("%s steps%n", simulation.steps());
    return 0;
  }

  /**
   * Returns the processor time that this process has used. If the length of a run is given in
   * processor time, a busy machine does not shorten the work.
   */
  private static long nanoTime() {
    return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos();
  }

  private static int one(long seed, PrintStream out) {
    HistoryRunner simulation = new HistoryRunner();
    Run run = run(simulation, seed);
    if (run.failed()) {
      return failed(simulation, run, seed, out);
    }
    out.printf("%s steps%n", simulation.steps());
    return 0;
  }

  /** Runs the history of a seed, which determines the calls and the order of the threads. */
  static Run run(HistoryRunner simulation, long seed) {
    Random random = new Random(seed);
    Generator generator = new Generator(random);
    History history = generator.next();
    return simulation.byChance(history, random, Odds.random(random));
  }

  private static int failed(HistoryRunner simulation, Run run, long seed, PrintStream out) {
    Run reduced = new Reducer(simulation, REDUCING_NANOS).reduce(run);
    out.println(simulation.report(reduced));
    out.println("seed " + seed);
    return 1;
  }
}
