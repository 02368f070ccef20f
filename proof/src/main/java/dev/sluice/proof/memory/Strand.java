// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A reusable thread that runs only while it has the baton.
 *
 * <p>Only the thread with the baton can access the state of a strand.
 */
final class Strand {

  final int number;
  private final Thread thread;
  private volatile boolean baton;

  Runnable work = () -> {};
  boolean finished = true;
  boolean unwound;
  int locks; // the number of locks that the strand holds
  @Nullable Object waitsFor;
  long gaveWayAt; // 0 if the strand has not given way since its call began
  long stepsOfCall;
  int site = -1;
  String doing = "";

  Strand(int number, Runnable afterwards) {
    this.number = number;
    this.thread =
        new Thread(
            () -> {
              while (true) {
                await();
                work.run();
                finished = true;
                afterwards.run();
              }
            },
            "simulated-" + number);
    thread.setDaemon(true);
    thread.start();
  }

  void prepare(Runnable newWork) {
    work = newWork;
    finished = false;
    unwound = false;
    locks = 0;
    waitsFor = null;
    gaveWayAt = 0;
    stepsOfCall = 0;
    site = -1;
    doing = "";
  }

  boolean canRun() {
    return !finished && waitsFor == null;
  }

  void resume() {
    baton = true;
    LockSupport.unpark(thread);
  }

  void await() {
    while (!baton) {
      LockSupport.park(this);
    }
    baton = false;
  }
}
