// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/*
 * Waking.
 *
 * The operating system often preempts a thread in favour of a thread that it wakes. If the thread
 * that reads the responses woke all callers, it would be preempted once per caller, and later
 * responses would wait. The reading thread therefore wakes two threads, and each woken thread wakes
 * two more threads before it continues.
 *
 * No waiting thread is forgotten. A thread is woken by clearing it from its place (BlockingWaiter).
 * When a cleared thread stops waiting, for whatever reason, the thread wakes other threads. If a
 * thread has stopped waiting before it could be woken, the next thread in the list is woken
 * instead. All threads are therefore woken as soon as one woken thread runs. Even if no woken
 * thread ran, each thread would wake at its own time-out, and find its response.
 *
 * Virtual threads are woken first, all by the thread that reads the responses, at little cost. A
 * woken virtual thread runs only when a carrier thread is free, and callers that sleep while they
 * are pinned can occupy all carrier threads. No thread's wake-up therefore depends on a virtual
 * thread.
 *
 * The thread that finds no other thread to wake sends the next call. Most woken callers have by
 * then submitted another request, and all these requests share the next call.
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
   * @param requests the requests whose callers are woken, if the requests are done
   * @param after runs once, on the thread that finds no caller left to wake
   */
  WakeUp(List<Request> requests, Runnable after) {
    this.requests = requests;
    this.after = after;
  }

  /** Wakes all waiting virtual threads, and a few platform threads, which wake the others. */
  void begin() {
    for (Request request : requests) {
      request.wakeIfVirtual();
    }
    go();
  }

  /** Wakes a few callers, whose threads wake the other callers. */
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
