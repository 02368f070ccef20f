// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.lab.Drip;
import dev.sluice.text.GoDuration;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How the process runs that drains leaky buckets. */
final class DripOptions {

  @Option(
      names = "--drip-every",
      paramLabel = "TIME",
      description = "How often the leaky bucket's process runs; if not given, once for each token.")
  private @Nullable String every;

  @Option(
      names = "--drip-buckets",
      paramLabel = "N",
      description = "How many buckets it gets done in a run; if not given, all.")
  private @Nullable Integer buckets;

  @Option(
      names = "--drip-stall",
      paramLabel = "FROM+TIME",
      description = "When it does not run: 1h+30m is half an hour, from the first hour on.")
  private List<String> stalls = List.of();

  /** Only one algorithm has such a process: without it, nothing that is said of it could hold. */
  void requireLeakyBucket(boolean isThere) {
    if (!isThere && (every != null || buckets != null || !stalls.isEmpty())) {
      throw new InputException(
          (every != null ? "--drip-every" : buckets != null ? "--drip-buckets" : "--drip-stall")
              + " requires leaky-bucket in --algorithm: no other algorithm has a drip");
    }
  }

  Drip drip() {
    if (buckets != null && buckets < 1) {
      throw new InputException(
          "--drip-buckets: found " + buckets + ", expected a whole number > 0");
    }
    Drip drip =
        new Drip(
            every == null ? Duration.ZERO : Periods.positive("--drip-every", every),
            buckets == null ? 0 : buckets,
            List.of());
    for (String stall : stalls) {
      int plus = stall.indexOf('+');
      if (plus < 1) {
        throw new InputException(
            "--drip-stall: found \"" + stall + "\", expected FROM+TIME such as 1h+30m");
      }
      Duration from = start(stall.substring(0, plus));
      Duration length = Periods.positive("--drip-stall", stall.substring(plus + 1));
      try {
        drip = drip.stalledFrom(from, length);
      } catch (IllegalArgumentException e) {
        throw new InputException("--drip-stall: " + e.getMessage());
      }
    }
    return drip;
  }

  private static Duration start(String text) {
    try {
      return GoDuration.parse(text);
    } catch (IllegalArgumentException e) {
      throw new InputException("--drip-stall: " + e.getMessage());
    }
  }
}
