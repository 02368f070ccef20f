// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.proof.Report;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tries every fault, and prints what was seen; ends with 1 where a promise was broken. Started by
 * {@code ./sluice prove faults}.
 */
final class FaultsReport {

  private FaultsReport() {}

  public static void main(String[] args) throws Exception {
    List<String> known = Stream.of(Trial.values()).map(Trial::name).toList();
    Report report = Report.of("faults", List.of(args), known);
    report.table("fault", "seen", "promise");
    for (Trial trial : Trial.values()) {
      report.row(trial.name(), trial.text(), trial::seen);
    }
    report.exit();
  }
}
