// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/*
 * Waking.
 *
 * A thread that wakes another is often put aside for it at once. The thread that reads the answers
 * would be put aside once for each caller of a call, and every answer behind would wait. So it
 * wakes two, each of those wakes two more before it goes its way, and so on until all are awake.
 *
 * Nobody is forgotten. A thread is woken by taking it out of its place (Sleeper): it finds that out
 * when it leaves, for whatever reason it leaves, and wakes others. One that left before cannot be
 * taken, and the next in the list is. So all are woken as soon as one of those awake gets on. If
 * none did, each would still wake up by its own time-out, and find its answer.
 *
 * Virtual threads are woken first, all by the thread that reads the answers. That costs little, and
 * one that is woken runs only when its scheduler has a carrier for it. The carriers may all be held
 * by callers that still sleep, where these are pinned.
 *
 * The last to look finds nobody left to wake, and goes on with what comes after: the next call.
 * Most of those awake have come back by then, and share it.
 */

/** Wakes the callers whose requests shared a call. Thread-safe, never blocks. */
final class WakeUp {

  private static final int AT_A_TIME = 2;

  private final List<Request> requests;
  private final Runnable after;
  private final AtomicInteger next = new AtomicInteger();

  /**
   * A wake-up that has not begun.
   *
   * @param requests of which those that are done are woken
   * @param after runs once, when nobody is left to be woken, on the thread that found it out
   */
  WakeUp(List<Request> requests, Runnable after) {
    this.requests = requests;
    this.after = after;
  }

  /** Wakes those who may not be able to go on with it, and a few who do. */
  void begin() {
    for (Request request : requests) {
      request.wakeIfVirtual();
    }
    go();
  }

  /** Wakes a few, who go on with it. */
  void go() {
    for (int woken = 0; woken < AT_A_TIME; ) {
      int i = next.getAndIncrement();
      if (i >= requests.size()) {
        if (i == requests.size()) {
          after.run();
        }
        return;
      }
      if (requests.get(i).wake(this)) {
        woken++;
      }
    }
  }
}
