// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.lang.System.Logger.Level;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A queue of events for an observer or the log. One thread at a time delivers the events in order,
 * and the delivery is allowed to block. While {@value #MOST} events wait, further events are
 * dropped. Thread-safe; no method blocks.
 */
final class EventQueue {

  /** The largest number of events in the queue. One event takes about 100 bytes. */
  static final int MOST = 16_384;

  private final Executor elsewhere;
  private final StoreLog log;
  private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();
  // The number of events in the queue, including the event that is being delivered.
  private final AtomicInteger untold = new AtomicInteger();
  private final AtomicBoolean telling = new AtomicBoolean();
  private final AtomicBoolean dropped = new AtomicBoolean();

  EventQueue(Executor elsewhere, StoreLog log) {
    this.elsewhere = elsewhere;
    this.log = log;
  }

  /**
   * Returns whether no event waits. While events wait, a new event must be added to the queue,
   * since it would otherwise overtake the waiting events.
   */
  boolean isEmpty() {
    return untold.get() == 0;
  }

  void add(Runnable event) {
    if (untold.incrementAndGet() > MOST) {
      untold.decrementAndGet();
      dropped.set(true);
      return;
    }
    events.add(event);
    start();
  }

  private void start() {
    if (!telling.compareAndSet(false, true)) {
      return;
    }
    try {
      elsewhere.execute(this::tellAll);
    } catch (RejectedExecutionException e) {
      // The store is closed, so a blocked delivery delays no other work.
      tellAll();
    } catch (Throwable e) {
      telling.set(false); // no thread available: the next event starts the delivery again
    }
  }

  private void tellAll() {
    for (Runnable event = events.poll(); event != null; event = events.poll()) {
      try {
        event.run();
      } catch (Throwable e) {
        // An observer threw; GuardedObserver and StoreLog have already logged the failure.
      }
      untold.decrementAndGet();
    }
    if (dropped.getAndSet(false)) {
      log.log(
          Level.WARNING,
          "an observer or the log blocked for so long that more than {0} events of the store waited; further events were dropped",
          MOST);
    }
    telling.set(false);
    if (!events.isEmpty()) {
      start(); // an event was added after the last poll
    }
  }
}
