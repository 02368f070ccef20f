// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

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
