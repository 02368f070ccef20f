package dev.sluice.benchmarks.redis;

/**
 * What one load came to.
 *
 * @param perSecond decisions
 * @param p50Nanos half of the callers waited less; 0 where waits were not taken
 * @param p99Nanos 99 of 100 did
 * @param clientMicros processor time of this process for a decision
 * @param serverMicros processor time of the server for a decision
 * @param failures how many calls failed
 */
record Figure(
    double perSecond,
    double p50Nanos,
    double p99Nanos,
    double clientMicros,
    double serverMicros,
    long failures) {

  private static final double NANOS_PER_MICRO = 1_000;

  String cell() {
    String waits =
        p50Nanos == 0
            ? ""
            : " (%.0f / %.0f)".formatted(p50Nanos / NANOS_PER_MICRO, p99Nanos / NANOS_PER_MICRO);
    return "%,.0f%s%s"
        .formatted(perSecond, waits, failures == 0 ? "" : ", " + failures + " failed");
  }
}
