// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The input of a simulated run: the state at the start, the calls of each thread, and the order in
 * which the threads run. The same history always leads to the same run. A history can be written as
 * text and parsed again.
 *
 * @param setup the state from which the run starts
 * @param threads the calls of each thread; the first thread finishes before the other threads start
 * @param schedule the order in which the threads run
 */
record History(Setup setup, List<List<Op>> threads, Schedule schedule) {

  History {
    threads = threads.stream().map(List::copyOf).toList();
  }

  History with(List<List<Op>> others) {
    return new History(setup, others, schedule);
  }

  History with(Schedule other) {
    return new History(setup, threads, other);
  }

  static History parse(String text) {
    Setup setup = new Setup(1_000, 1, 1, 0);
    List<List<Op>> threads = new ArrayList<>();
    Schedule schedule = new Schedule(false, List.of());
    for (String line : text.lines().map(String::trim).toList()) {
      int colon = line.indexOf(':');
      String value = line.substring(colon + 1).trim();
      if (line.startsWith("setup")) {
        String[] words = value.split("[ ,]+", -1);
        setup =
            new Setup(
                Long.parseLong(words[1]),
                Integer.parseInt(words[3]),
                Integer.parseInt(words[5]),
                Long.parseLong(words[7]));
      } else if (line.startsWith("first") || line.startsWith("thread")) {
        threads.add(
            value.isEmpty()
                ? List.of()
                : Arrays.stream(value.split(";", -1)).map(Op::parse).toList());
      } else if (line.startsWith("schedule")) {
        schedule = Schedule.parse(value);
      }
    }
    return new History(setup, threads, schedule);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append(
        "setup: bound %s, keys %s, burst %s, kept %s%n"
            .formatted(setup.bound(), setup.keys(), setup.burst(), setup.keptNanos()));
    for (int i = 0; i < threads.size(); i++) {
      text.append(i == 0 ? "first: " : "thread " + i + ": ")
          .append(threads.get(i).stream().map(Op::toString).collect(Collectors.joining("; ")))
          .append(System.lineSeparator());
    }
    return text.append("schedule: ").append(schedule).toString();
  }

  /**
   * The order in which the simulated threads run. A turn is a step after which another thread runs.
   * Between two turns, the same thread runs until it ends, waits for a lock, or yields ({@code
   * yield}, {@code onSpinWait}).
   *
   * @param starving whether a thread that yields runs again only when every other thread has ended,
   *     waits for a lock, or has yielded; then, the thread that yielded last runs first. If {@code
   *     starving} is false, all threads run in turn
   * @param turns the turns (thread changes), in ascending order of their steps
   */
  record Schedule(boolean starving, List<Turn> turns) {

    Schedule {
      turns = List.copyOf(turns);
    }

    /**
     * A step at which the scheduler makes another thread run, although the current thread could
     * continue.
     *
     * @param step the number of steps of all threads before the thread change
     * @param thread the thread that runs next
     */
    record Turn(long step, int thread) {}

    static Schedule parse(String text) {
      String[] words = text.trim().split(" +", -1);
      return new Schedule(
          words[0].equals("starving"),
          Arrays.stream(words)
              .skip(1)
              .map(word -> word.split(">", -1))
              .map(pair -> new Turn(Long.parseLong(pair[0]), Integer.parseInt(pair[1])))
              .toList());
    }

    @Override
    public String toString() {
      return (starving ? "starving" : "fair")
          + turns.stream()
              .map(turn -> " " + turn.step() + ">" + turn.thread())
              .collect(Collectors.joining());
    }
  }
}
