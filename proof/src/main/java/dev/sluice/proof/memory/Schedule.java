// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The order in which threads run: at the given steps another thread takes over. Between turns, the
 * running thread continues until it ends, waits for a lock or gives way.
 *
 * @param starving what happens to threads that give way: if true, they run only when all other
 *     threads have ended or wait, the last one to give way first; if false, all take turns
 * @param turns the steps at which another thread takes over, ascending
 */
record Schedule(boolean starving, List<Turn> turns) {

  Schedule {
    turns = List.copyOf(turns);
  }

  /**
   * A change of threads that only the scheduler caused.
   *
   * @param step the number of steps of all threads before the change
   * @param thread the thread that runs next
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
