// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.Report;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The command {@code ./sluice prove production}. Runs the drills and prints their results. Exits
 * with 1 if a promise was broken or a drill could not be run.
 */
final class ProductionReport {

  private static final int SOAK_MINUTES = 60;

  private ProductionReport() {}

  /** A test of an event that can happen to a production server, with a promise about the event. */
  interface Drill extends Report.Attempt {

    String text();
  }

  public static void main(String[] args) throws Exception {
    Report.Arguments arguments = new Report.Arguments("production", args);
    int minutes = arguments.number(SOAK_MINUTES);
    Map<String, Drill> drills = new LinkedHashMap<>();
    drills.put("sigterm", new Sigterm(false));
    drills.put("sigterm-tls", new Sigterm(true));
    drills.put("killed", new Killed());
    drills.put("disk", new FullDisk());
    drills.put("descriptors", new FewDescriptors());
    drills.put("clock", new ClockSteps());
    drills.put("certificate", new CertificateEnds());
    drills.put("soak", new ServerSoak(minutes));
    Report report = arguments.report(drills.keySet());
    report.table(1, "drill", "seen");
    for (Map.Entry<String, Drill> drill : drills.entrySet()) {
      String name = drill.getKey();
      report.row(name, "`%s`: %s".formatted(name, drill.getValue().text()), drill.getValue());
    }
    report.exit();
  }
}
