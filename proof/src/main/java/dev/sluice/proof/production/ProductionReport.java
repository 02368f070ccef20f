// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Names;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Runs the drills, and prints what was seen; ends with 1 where a promise was broken or a drill
 * could not be tried. Started by {@code ./sluice prove production}.
 */
final class ProductionReport {

  private static final int SOAK_MINUTES = 60;

  private ProductionReport() {}

  public static void main(String[] args) throws Exception {
    Map<String, Drill> drills = drills(args);
    List<String> wanted = List.of(args).stream().filter(word -> !isNumber(word)).toList();
    Names.requireKnown("production", wanted, drills.keySet());
    boolean kept = true;
    System.out.println("| drill | seen | promise |");
    System.out.println("|---|---|---|");
    for (Map.Entry<String, Drill> drill : drills.entrySet()) {
      if (wanted.isEmpty() || wanted.contains(drill.getKey())) {
        kept &= tried(drill.getKey(), drill.getValue());
      }
    }
    System.exit(kept ? 0 : 1);
  }

  private static Map<String, Drill> drills(String... args) {
    int minutes = SOAK_MINUTES;
    for (String word : args) {
      minutes = isNumber(word) ? Integer.parseInt(word) : minutes;
    }
    Map<String, Drill> drills = new LinkedHashMap<>();
    drills.put("sigterm", new Sigterm(false));
    drills.put("sigterm-tls", new Sigterm(true));
    drills.put("killed", new Killed());
    drills.put("disk", new FullDisk());
    drills.put("descriptors", new FewDescriptors());
    drills.put("clock", new ClockSteps());
    drills.put("certificate", new CertificateEnds());
    drills.put("soak", new Soak(minutes));
    return drills;
  }

  private static boolean isNumber(String word) {
    return word.matches("\\d{1,6}");
  }

  private static boolean tried(String name, Drill drill) throws Exception {
    String outcome;
    String seen;
    try {
      seen = drill.seen();
      outcome = "kept";
    } catch (BrokenPromise e) {
      seen = String.valueOf(e.getMessage());
      outcome = "BROKEN";
    } catch (NotTried e) {
      seen = String.valueOf(e.getMessage());
      outcome = "not tried";
    }
    System.out.printf(Locale.ROOT, "| `%s`: %s | %s | %s |%n", name, drill.text(), seen, outcome);
    return outcome.equals("kept");
  }
}
