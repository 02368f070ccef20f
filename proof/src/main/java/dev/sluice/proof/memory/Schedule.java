// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The order in which threads run. At the given steps another thread takes over. Between turns, the
 * running thread continues until it ends, waits for a lock or gives way.
 *
 * @param starving the policy for threads that give way. If true, such a thread runs only when all
 *     other threads have ended or wait, and the thread that gave way last runs first. If false, all
 *     threads take turns
 * @param turns the steps at which another thread takes over, in ascending order
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
