// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.attacks.DoorAttack.BrokenPromise;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Attacks each door of one server, with good clients at all doors. */
final class DoorsReport {

  private static final double MOST_P99_MILLIS = 500;
  private static final double MOST_TIMES_CALM = 10;
  private static final int MOST_LOG_LINES = 50;
  private static final long CALM_MILLIS = 4_000;
  private static final long SETTLING_MILLIS = 500;
  private static final double NANOS_PER_MILLI = 1e6;

  private final Victim server;
  private final Memory memory;
  private final List<Friend> friends = new ArrayList<>();
  private final List<Long> waitsNanos = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private double calmMillis;

  private DoorsReport(Victim server, Memory memory) {
    this.server = server;
    this.memory = memory;
  }

  /**
   * Prints a row for each attack on each door.
   *
   * @param wanted the names of the doors; empty for all
   * @param victims starts the servers
   * @return whether every promise was kept
   */
  static boolean run(List<String> wanted, Victims victims)
      throws IOException, InterruptedException {
    System.out.printf("%nFuzzed bytes: -Dattacks.seed=%s%n%n", DoorAttack.seed());
    System.out.println(
        "| door | attack | seen | lives | peak memory | requests beside it | failed | p99 | log lines | promise |");
    System.out.println("|---|---|---|---|---|---|---|---|---|---|");
    boolean kept = true;
    for (Door door : Door.values()) {
      if (wanted.isEmpty() || wanted.contains(door.name())) {
        try (Victim server = victims.start()) {
          kept &= new DoorsReport(server, victims.memory()).attack(door);
        }
      }
    }
    return kept;
  }

  private boolean attack(Door door) throws IOException, InterruptedException {
    try {
      for (Door each : Door.values()) {
        friends.add(Friend.start(each, server.wire(each.port())));
      }
      Thread.sleep(CALM_MILLIS); // a server that has just started is slow anyway
      double unused = take();
      Thread.sleep(CALM_MILLIS);
      calmMillis = take();
      boolean kept = true;
      for (DoorAttack attack : DoorAttack.values()) {
        kept &= tried(door, attack, server.wire(door.port()));
      }
      return kept;
    } finally {
      friends.forEach(Friend::close);
    }
  }

  /** Takes what the friends have seen, and returns their p99. */
  private double take() {
    waitsNanos.clear();
    failures.clear();
    friends.forEach(friend -> friend.take(waitsNanos, failures));
    long[] sorted = waitsNanos.stream().mapToLong(Long::longValue).sorted().toArray();
    return sorted.length == 0 ? Double.NaN : sorted[(int) (sorted.length * 0.99)] / NANOS_PER_MILLI;
  }

  private boolean tried(Door door, DoorAttack attack, Wire wire)
      throws IOException, InterruptedException {
    int linesBefore = server.logLines();
    String seen;
    boolean kept = true;
    try {
      seen = attack.run(door, wire);
    } catch (BrokenPromise e) {
      seen = String.valueOf(e.getMessage());
      kept = false;
    }
    Thread.sleep(SETTLING_MILLIS); // an attack of a moment is seen by somebody too
    double p99Millis = take();
    int lines = server.logLines() - linesBefore;
    long peak = server.peakMib();
    kept &=
        server.isAlive()
            && memory.allows(peak)
            && failures.isEmpty()
            && !waitsNanos.isEmpty()
            && p99Millis <= Math.max(MOST_P99_MILLIS, MOST_TIMES_CALM * calmMillis)
            && lines <= MOST_LOG_LINES;
    System.out.printf(
        Locale.ROOT,
        "| %s | %s | %s | %s | %d MiB | %,d | %d%s | %.0f ms | %d | %s |%n",
        door.text(),
        attack.text(),
        seen,
        server.isAlive() ? "yes" : "no",
        peak,
        waitsNanos.size(),
        failures.size(),
        failures.isEmpty() ? "" : " (" + failures.get(0) + ")",
        p99Millis,
        lines,
        kept ? "kept" : "BROKEN");
    return kept;
  }
}
