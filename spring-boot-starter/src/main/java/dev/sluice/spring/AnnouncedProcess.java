// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.internal.async.Fleet;
import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.store.BucketStore;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The entry of this process in the store's list of processes. The failure rule {@code local:auto}
 * counts the entries of the list of processes. Without a {@code local:auto} rule, this class
 * neither adds an entry nor counts the entries. Thread-safe.
 */
final class AnnouncedProcess implements AutoCloseable {

  private static final Logger LOG = System.getLogger(AnnouncedProcess.class.getName());

  private final Fleet fleet;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(task -> new DaemonThread(task, "sluice-fleet"));
  private boolean failing; // used by the clock's thread only

  private AnnouncedProcess(int atLeast) {
    this.fleet = new Fleet(atLeast);
  }

  /**
   * Adds this process to the store's list of processes. Throws an exception if the configured
   * smallest number of processes is below 1, or if a rule counts processes but the store keeps no
   * list of processes.
   */
  static AnnouncedProcess start(SluiceProperties.OnFailure rules, BucketStore store) {
    if (rules.localAtLeast() < 1) {
      throw new SluiceConfigurationException(
          List.of(
              "sluice.on-failure.local-at-least: found %s, expected at least 1"
                  .formatted(rules.localAtLeast())),
          "Write the smallest number by which limits are divided, or omit the property.");
    }
    AnnouncedProcess process = new AnnouncedProcess(rules.localAtLeast());
    if (rules.count()) {
      process.fleet.enter(
          store
              .presence()
              .orElseThrow(
                  () ->
                      new SluiceConfigurationException(
                          List.of(
                              "sluice.on-failure: local:auto counts the processes in a shared store that decides by its own clock, found the store "
                                  + store),
                          "Write the number of processes, such as local:4, or set sluice.store.")),
          "%s, process %s".formatted(hostName(), ProcessHandle.current().pid()));
      var unused = process.clock.scheduleWithFixedDelay(process::look, 0, 1, TimeUnit.SECONDS);
    }
    return process;
  }

  private void look() {
    try {
      fleet.look();
      failing = false;
    } catch (Throwable e) { // the clock would drop a task that throws
      tell(e);
    }
  }

  private void tell(Throwable failure) {
    try {
      if (!failing) {
        failing = true;
        LOG.log(
            Level.ERROR,
            "announcing this process in the store failed; retrying. Further failures are not logged"
                + " until it has succeeded",
            failure);
      }
    } catch (Throwable e) {
      // The log failed as well, so the failure cannot be reported.
    }
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "unknown host";
    }
  }

  /** Returns the number of processes; 0 before the first count. */
  int number() {
    return fleet.size();
  }

  /** Removes this process from the store's list of processes. */
  @Override
  public void close() {
    clock.shutdown(); // an interrupted announcement would leave the name on the list
    fleet.close();
  }
}
