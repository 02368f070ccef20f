// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * What one round measured of a subject under one load.
 *
 * @param perSecond calls
 * @param p50Nanos half of the callers waited less; 0 where waits were not taken
 * @param p99Nanos 99 of 100 did
 * @param clientMicros processor time of the measuring process for a charge
 * @param serverMicros processor time of the server for a charge
 * @param failures how many calls failed
 * @param warmUpSeconds how long it took until the rate no longer rose; negative where it still did
 */
record Round(
    double perSecond,
    double p50Nanos,
    double p99Nanos,
    double clientMicros,
    double serverMicros,
    double failures,
    double warmUpSeconds) {

  /** All numbers, for {@link #parse}. */
  String text() {
    return String.join(
        " ",
        DoubleStream.of(
                perSecond, p50Nanos, p99Nanos, clientMicros, serverMicros, failures, warmUpSeconds)
            .mapToObj(Double::toString)
            .toList());
  }

  static Round parse(String text) {
    double[] n = Stream.of(text.split(" ")).mapToDouble(Double::parseDouble).toArray();
    return new Round(n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
  }
}
