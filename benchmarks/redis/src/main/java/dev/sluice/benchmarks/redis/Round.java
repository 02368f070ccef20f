// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * The measurements of one round of a subject under one load.
 *
 * @param perSecond the number of calls per second
 * @param p50Nanos the median latency; 0 if latencies were not measured
 * @param p99Nanos the 99th percentile of the latency
 * @param clientMicros the processor time of the measuring process per charge
 * @param serverMicros the processor time of the Redis server per charge
 * @param failures the number of failed calls
 * @param warmUpSeconds the duration of the warm-up; negated if the rate was rising until the end
 */
record Round(
    double perSecond,
    double p50Nanos,
    double p99Nanos,
    double clientMicros,
    double serverMicros,
    double failures,
    double warmUpSeconds) {

  /** Returns all numbers as text, which {@link #parse} can read. */
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
