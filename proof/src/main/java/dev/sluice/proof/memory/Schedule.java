// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Which thread runs when: at the given steps another one takes over; between them the one that runs
 * goes on until it ends, waits for a lock or gives way.
 *
 * @param starving what happens to a thread that gives way: if true, it runs again only when no
 *     thread that did not give way can, and of those that gave way the last one goes first; if
 *     false, all take turns
 * @param turns the steps at which another thread takes over, ascending
 */
record Schedule(boolean starving, List<Turn> turns) {

  Schedule {
    turns = List.copyOf(turns);
  }

  /**
   * A change of threads that nothing but the scheduler asked for.
   *
   * @param step after how many steps of all threads
   * @param thread who runs from then on
   */
  record Turn(long step, int thread) {}

  Schedule without(int index) {
    List<Turn> fewer = new ArrayList<>(turns);
    fewer.remove(index);
    return new Schedule(starving, fewer);
  }

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
