// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.proof.Report;
import java.util.List;
import java.util.stream.Stream;

/**
 * The command {@code ./sluice prove faults}. Runs every trial and prints the results. Exits with 1
 * if a promise was broken.
 */
final class FaultsReport {

  private FaultsReport() {}

  public static void main(String[] args) throws Exception {
    List<String> known = Stream.of(Trial.values()).map(Trial::name).toList();
    Report report = new Report.Arguments("faults", args).report(known);
    report.table(1, "fault", "seen");
    for (Trial trial : Trial.values()) {
      report.row(trial.name(), trial.text(), trial::seen);
    }
    report.exit();
  }
}
