// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/*
 * Waking.
 *
 * A thread that wakes another is often preempted by it at once. The thread that reads the answers
 * would be preempted once per caller, and every later answer would wait. So the reading thread
 * wakes two threads; each wakes two more before it continues, until all are awake.
 *
 * No thread is forgotten. A thread is woken by clearing it from its place (BlockingWaiter): it notices
 * that when it stops waiting, for whatever reason, and wakes others. If a thread stopped waiting
 * before, the next one in the list is woken instead. So all are woken as soon as one of the woken
 * threads runs. If none ran, each would still wake by its own time-out, and find its answer.
 *
 * Virtual threads are woken first, all by the thread that reads the answers. That costs little, but
 * a woken virtual thread runs only when a carrier is free, and pinned callers that still sleep may
 * hold all carriers. So no woken virtual thread is relied on to wake others.
 *
 * The thread that finds nobody left to wake continues with the next call. Most woken callers have
 * returned by then, and share that call.
 */

/** Wakes the callers whose requests shared a call. Thread-safe, never blocks. */
final class WakeUp {

  private static final int AT_A_TIME = 2;

  private final List<Request> requests;
  private final Runnable after;
  private final AtomicInteger next = new AtomicInteger();

  /**
   * Creates a wake-up that has not begun.
   *
   * @param requests the requests whose callers are woken, if done
   * @param after runs once, when nobody is left to wake, on the thread that finds this
   */
  WakeUp(List<Request> requests, Runnable after) {
    this.requests = requests;
    this.after = after;
  }

  /** Wakes all virtual threads, and a few others that continue the wake-up. */
  void begin() {
    for (Request request : requests) {
      request.wakeIfVirtual();
    }
    go();
  }

  /** Wakes a few threads, which continue the wake-up. */
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
