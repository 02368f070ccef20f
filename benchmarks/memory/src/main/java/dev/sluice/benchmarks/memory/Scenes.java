// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Selects the table rows that a run of the benchmark measures. */
final class Scenes {

  private static final Set<Subjects> FEW =
      EnumSet.of(
          Subjects.SLUICE,
          Subjects.SLUICE_TICKING,
          Subjects.SLUICE_BY_NAME,
          Subjects.SLUICE_BULK,
          Subjects.SLUICE_BULK_BYTES,
          Subjects.BUCKET4J,
          Subjects.MAP_GCRA,
          Subjects.CLOCK_AND_SWAP,
          Subjects.HASH_AND_SWAP);

  private Scenes() {}

  /**
   * Returns the rows for docs/benchmarks.md: Sluice, the fastest other limiter, and an upper bound
   * of the speed, for each condition.
   */
  static List<Row> headline() {
    List<Row> rows = new ArrayList<>();
    Machine machine = new Machine(1, "Parallel");
    Set<Subjects> three = EnumSet.of(Subjects.SLUICE, Subjects.MAP_GCRA, Subjects.HASH_AND_SWAP);
    Set<Subjects> million = EnumSet.copyOf(three);
    million.addAll(EnumSet.of(Subjects.SLUICE_BULK, Subjects.FAILSAFE, Subjects.READ_A_LINE));
    add(rows, three, 1, "uniform", "allow", machine);
    add(rows, three, 1_000, "uniform", "allow", machine);
    add(rows, million, 1_000_000, "uniform", "allow", machine);
    add(rows, three, 10_000_000, "uniform", "allow", machine);
    Set<Subjects> insert = EnumSet.of(Subjects.SLUICE, Subjects.MAP_GCRA);
    add(rows, insert, InsertBenchmark.KEYS, "in order", "insert", machine);
    return rows;
  }

  static List<Row> goals() {
    List<Row> rows = new ArrayList<>();
    add(rows, FEW, 1, "uniform", "allow", new Machine(1, "Parallel"));
    add(rows, FEW, 1, "uniform", "allow", new Machine(2, "Parallel"));
    add(rows, FEW, 1_000, "uniform", "allow", new Machine(1, "Parallel"));
    add(rows, FEW, 1_000, "uniform", "allow", new Machine(2, "Parallel"));
    add(
        rows,
        EnumSet.allOf(Subjects.class),
        1_000_000,
        "uniform",
        "allow",
        new Machine(1, "Parallel"));
    add(rows, FEW, 1_000_000, "uniform", "allow", new Machine(2, "Parallel"));
    add(rows, FEW, 1_000_000, "uniform", "allow", new Machine(2, "G1"));
    add(rows, FEW, 10_000_000, "uniform", "allow", new Machine(1, "Parallel"));
    churn(rows);
    return rows;
  }

  static List<Row> full() {
    List<Row> rows = new ArrayList<>();
    for (String collector : List.of("Parallel", "G1")) {
      for (int threads : new int[] {1, 2}) {
        for (int keys : new int[] {1, 1_000, 1_000_000}) {
          add(
              rows,
              EnumSet.allOf(Subjects.class),
              keys,
              "uniform",
              "allow",
              new Machine(threads, collector));
        }
        add(rows, FEW, 1_000_000, "zipf", "allow", new Machine(threads, collector));
        add(rows, FEW, 1_000_000, "uniform", "deny", new Machine(threads, collector));
        add(rows, FEW, 1_000_000, "zipf", "mixed", new Machine(threads, collector));
        add(rows, FEW, 10_000_000, "uniform", "allow", new Machine(threads, collector));
      }
    }
    churn(rows);
    return rows;
  }

  /** Adds rows in which decisions create new buckets or reuse expired buckets. */
  private static void churn(List<Row> rows) {
    add(rows, FEW, 1_000_000, "uniform", "reuse", new Machine(1, "Parallel"));
    Set<Subjects> insert = EnumSet.copyOf(FEW);
    insert.remove(Subjects.SLUICE_TICKING); // each run would start a clock thread that never ends
    insert.removeAll(
        // CLOCK_AND_SWAP and HASH_AND_SWAP store no keys, so an insertion cannot be measured.
        EnumSet.of(Subjects.CLOCK_AND_SWAP, Subjects.HASH_AND_SWAP));
    add(rows, insert, InsertBenchmark.KEYS, "in order", "insert", new Machine(1, "Parallel"));
  }

  private record Machine(int threads, String collector) {}

  private static void add(
      List<Row> rows,
      Set<Subjects> subjects,
      int keys,
      String distribution,
      String answers,
      Machine machine) {
    for (Subjects subject : subjects) {
      rows.add(
          new Row(subject, keys, distribution, answers, machine.threads(), machine.collector()));
    }
  }
}
