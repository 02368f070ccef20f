// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

/** A thread that does not keep the JVM running. */
public final class DaemonThread extends Thread {

  /** Creates a daemon thread that is not started yet. */
  public DaemonThread(Runnable task, String name) {
    super(task, name);
    setDaemon(true);
  }
}
