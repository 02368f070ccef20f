// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What processes saw of their {@link FirstOutage}, one with few callers and one with many.
 * Immutable.
 */
record FirstOutages(List<Seen> all) {

  private static final List<Integer> CALLERS = List.of(1, 200, 15_000);

  /**
   * What one process saw.
   *
   * @param longestMillis how long the slowest call took
   * @param stallMillis how long the machine or the garbage collector kept a thread waiting
   */
  record Seen(long longestMillis, long stallMillis) {}

  /**
   * Starts the processes, one after the other.
   *
   * @param answeredBefore whether as many callers were answered before the outage
   */
  static FirstOutages of(boolean answeredBefore) throws IOException, InterruptedException {
    List<Seen> all = new ArrayList<>();
    for (int callers : CALLERS) {
      List<String> printed =
          Log.run(FirstOutage.class, String.valueOf(callers), String.valueOf(answeredBefore));
      all.add(new Seen(Long.parseLong(printed.get(0)), Long.parseLong(printed.get(1))));
    }
    return new FirstOutages(List.copyOf(all));
  }

  /** Whether each call ended within the given time, and what its own process was stalled. */
  boolean areInTime(long mostMillis) {
    return all.stream().allMatch(seen -> seen.longestMillis() <= mostMillis + seen.stallMillis());
  }

  @Override
  public String toString() {
    return all.stream()
        .map(seen -> "%s ms (stall %s ms)".formatted(seen.longestMillis(), seen.stallMillis()))
        .collect(Collectors.joining(", "));
  }
}
