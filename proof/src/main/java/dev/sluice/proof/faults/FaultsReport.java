// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Names;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tries every fault, and prints what was seen; ends with 1 where a promise was broken. Started by
 * {@code ./sluice prove faults}.
 */
public final class FaultsReport {

  private FaultsReport() {}

  /**
   * Prints a table.
   *
   * @param args names of trials, where not all are wanted
   * @throws Exception if a process or a server cannot be started
   */
  public static void main(String[] args) throws Exception {
    List<String> wanted = List.of(args);
    Names.requireKnown("faults", wanted, Stream.of(Trial.values()).map(Trial::name).toList());
    boolean kept = true;
    System.out.println("| fault | seen | promise |");
    System.out.println("|---|---|---|");
    for (Trial trial : Trial.values()) {
      if (wanted.isEmpty() || wanted.contains(trial.name())) {
        kept &= tried(trial);
      }
    }
    System.exit(kept ? 0 : 1);
  }

  private static boolean tried(Trial trial) throws Exception {
    try {
      System.out.printf("| %s | %s | kept |%n", trial.text(), trial.seen());
      return true;
    } catch (BrokenPromise e) {
      System.out.printf("| %s | %s | BROKEN |%n", trial.text(), e.getMessage());
      return false;
    }
  }
}
