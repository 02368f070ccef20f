// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.memory.Footprint.Size;
import dev.sluice.benchmarks.memory.Row.Cost;
import dev.sluice.benchmarks.report.Goal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The goals of the memory benchmarks. */
final class Goals {

  private Goals() {}

  /** Returns the goals for which all necessary rows were measured. */
  static List<Goal> of(Map<Row, Cost> figures, List<Size> sizes) {
    List<Goal> goals = new ArrayList<>();
    Row million = new Row(Subjects.SLUICE, 1_000_000, "uniform", "allow", 1, "Parallel");
    Row ten = new Row(Subjects.SLUICE, 10_000_000, "uniform", "allow", 1, "Parallel");
    Row one = new Row(Subjects.SLUICE, 1, "uniform", "allow", 1, "Parallel");
    Row one2 = new Row(Subjects.SLUICE, 1, "uniform", "allow", 2, "Parallel");
    Row thousand = new Row(Subjects.SLUICE, 1_000, "uniform", "allow", 1, "Parallel");
    Cost exact = figures.get(million);
    Cost bound = figures.get(million.of(Subjects.CLOCK_AND_SWAP));
    if (exact != null && bound != null) {
      double ratio = exact.nanos() / bound.nanos();
      goals.add(new Goal("10^6 keys, 1 thread: time vs. clock-and-swap", ratio, 1.25, false));
    }
    times(goals, figures, "10^6 keys, 1 thread: speed vs. Bucket4j", million, Subjects.BUCKET4J, 5);
    times(
        goals,
        figures,
        "10^6 keys, 1 thread, coarse clock: speed vs. a GCRA in a map",
        million.of(Subjects.SLUICE_TICKING),
        Subjects.MAP_GCRA,
        3);
    times(
        goals,
        figures,
        "10^6 keys, 1 thread, 32 at a time: speed vs. Bucket4j",
        million.of(Subjects.SLUICE_BULK),
        Subjects.BUCKET4J,
        12);
    times(goals, figures, "10^7 keys, 1 thread: speed vs. Bucket4j", ten, Subjects.BUCKET4J, 6);
    times(goals, figures, "1 key, 1 thread: speed vs. a GCRA in a map", one, Subjects.MAP_GCRA, 1);
    times(goals, figures, "1 key, 1 thread: speed vs. Bucket4j", one, Subjects.BUCKET4J, 1.3);
    times(
        goals,
        figures,
        "1,000 keys, 1 thread: speed vs. a GCRA in a map",
        thousand,
        Subjects.MAP_GCRA,
        1);
    times(
        goals,
        figures,
        "1,000 keys, 1 thread: speed vs. Bucket4j",
        thousand,
        Subjects.BUCKET4J,
        1.3);
    times(goals, figures, "1 key, 2 threads: speed vs. Bucket4j", one2, Subjects.BUCKET4J, 2.5);
    bytes(goals, figures, million);
    bytes(goals, figures, new Row(Subjects.SLUICE, 1_000_000, "uniform", "deny", 1, "Parallel"));
    bytes(goals, figures, new Row(Subjects.SLUICE, 1_000_000, "uniform", "reuse", 1, "Parallel"));
    int inserted = InsertBenchmark.KEYS;
    bytes(goals, figures, new Row(Subjects.SLUICE, inserted, "in order", "insert", 1, "Parallel"));
    Cost handle = figures.get(million);
    Cost byName = figures.get(million.of(Subjects.SLUICE_BY_NAME));
    if (handle != null && byName != null) {
      double ratio = byName.nanos() / handle.nanos();
      goals.add(new Goal("time of the ordinary API vs. a Limit handle", ratio, 1.5, false));
    }
    for (Size size : sizes) {
      if (size.subject() == Subjects.SLUICE) {
        String text =
            String.format(Locale.ROOT, "bytes of heap per live bucket at %,d", size.keys());
        goals.add(new Goal(text, size.bytes(), size.keys() <= 1_000 ? 64 : 24, false));
      }
    }
    return goals;
  }

  private static void bytes(List<Goal> goals, Map<Row, Cost> figures, Row row) {
    @Nullable Cost figure = figures.get(row);
    if (figure != null) {
      String text = "bytes allocated by a decision through a Limit, " + row.answers();
      goals.add(new Goal(text, figure.bytes(), 0.5, false));
    }
  }

  private static void times(
      List<Goal> goals,
      Map<Row, Cost> figures,
      String text,
      Row ours,
      Subjects peer,
      double wanted) {
    @Nullable Cost our = figures.get(ours);
    @Nullable Cost their = figures.get(ours.of(peer));
    if (our != null && their != null && our.nanos() > 0) {
      goals.add(new Goal(text, their.nanos() / our.nanos(), wanted, true));
    }
  }
}
