// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import dev.sluice.proof.faults.Load.Stalls;
import dev.sluice.redis.RedisStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Measurements of new processes for which the store's server stops responding for the first time.
 * Each process has a different number of callers.
 */
public record FirstOutage(List<Seen> all) {

  private static final List<Integer> CALLERS = List.of(1, 200, 15_000);

  /**
   * The measurements of one process.
   *
   * @param longestMillis the duration of the slowest call
   * @param stallMillis the longest time for which the machine or the garbage collector stopped a
   *     thread
   */
  record Seen(long longestMillis, long stallMillis) {}

  /**
   * Runs one process for each number of callers, one after the other.
   *
   * @param answeredBefore whether each process makes one successful call per caller before the
   *     outage
   */
  static FirstOutage of(boolean answeredBefore) throws IOException, InterruptedException {
    List<Seen> all = new ArrayList<>();
    for (int callers : CALLERS) {
      List<String> printed =
          Log.run(FirstOutage.class, String.valueOf(callers), String.valueOf(answeredBefore));
      all.add(new Seen(Long.parseLong(printed.get(0)), Long.parseLong(printed.get(1))));
    }
    return new FirstOutage(List.copyOf(all));
  }

  /**
   * Returns whether each call ended within the given time plus the longest stall of its process.
   */
  boolean areInTime(long mostMillis) {
    return all.stream().allMatch(seen -> seen.longestMillis() <= mostMillis + seen.stallMillis());
  }

  /**
   * Runs one measured process. Prints how long the slowest call took, and the longest stall of a
   * thread, both in milliseconds.
   *
   * @param args the number of callers that spend at the same time, and whether each caller makes
   *     one call before the outage
   */
  public static void main(String[] args) throws InterruptedException {
    int callers = Integer.parseInt(args[0]);
    boolean answeredBefore = Boolean.parseBoolean(args[1]);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        RedisStore store = RedisStore.builder(redis.uri()).queue(callers).open()) {
      Limiter limiter = Limiter.of(Load.LIMITS, store);
      if (answeredBefore) {
        long unused = Load.longestCallMillis(limiter, callers);
      }
      redis.freeze();
      try (Stalls stalls = new Stalls()) {
        System.out.println(Load.longestCallMillis(limiter, callers));
        System.out.println(stalls.longestMillis());
      } finally {
        redis.thaw();
      }
    }
  }

  @Override
  public String toString() {
    return all.stream()
        .map(seen -> "%s ms (stall %s ms)".formatted(seen.longestMillis(), seen.stallMillis()))
        .collect(Collectors.joining(", "));
  }
}
