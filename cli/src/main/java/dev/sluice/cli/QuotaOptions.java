// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.text.GoDuration;
import picocli.CommandLine.Option;

/** The options that say how much an override allows. */
final class QuotaOptions {

  @Option(
      names = "--burst",
      required = true,
      paramLabel = "N",
      description = "Tokens that the bucket holds.")
  private long burst;

  @Option(
      names = "--count",
      required = true,
      paramLabel = "N",
      description = "Tokens that are added every period.")
  private long count;

  @Option(
      names = "--period",
      required = true,
      paramLabel = "PERIOD",
      description = "The period, such as 1s, 180m, 1h30m, 7d or PT3H.")
  private String period = "";

  long burst() {
    return burst;
  }

  long count() {
    return count;
  }

  /** As it was typed: a server reads it itself. */
  String period() {
    return period;
  }

  /**
   * The quota.
   *
   * @throws InputException if there is no such quota
   */
  Quota quota() {
    try {
      return Quota.of(burst, count, GoDuration.parse(period));
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }
}
