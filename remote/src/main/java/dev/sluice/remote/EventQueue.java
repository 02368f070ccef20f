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
 * Queue of events for an observer or the log, delivered in order by one thread at a time, which may
 * block. While {@value #MOST} events wait, further events are dropped. Thread-safe; no method
 * blocks.
 */
final class EventQueue {

  /** One event takes about 100 bytes. */
  static final int MOST = 16_384;

  private final Executor elsewhere;
  private final StoreLog log;
  private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();
  private final AtomicInteger untold = new AtomicInteger(); // includes the event in delivery
  private final AtomicBoolean telling = new AtomicBoolean();
  private final AtomicBoolean dropped = new AtomicBoolean();

  EventQueue(Executor elsewhere, StoreLog log) {
    this.elsewhere = elsewhere;
    this.log = log;
  }

  /** Whether no event waits; otherwise an event delivered directly would overtake it. */
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
    } catch (RejectedExecutionException e) { // the store was closed: blocking delays nobody
      tellAll();
    } catch (Throwable e) {
      telling.set(false); // no thread available: the next event tries again
    }
  }

  private void tellAll() {
    for (Runnable event = events.poll(); event != null; event = events.poll()) {
      try {
        event.run();
      } catch (Throwable e) {
        // User code; GuardedObserver and StoreLog catch and log failures themselves.
      }
      untold.decrementAndGet();
    }
    if (dropped.getAndSet(false)) {
      log.log(
          Level.WARNING,
          "an observer or the log blocked for so long that events of the store were dropped; more than {0} waited",
          MOST);
    }
    telling.set(false);
    if (!events.isEmpty()) {
      start(); // an event was added after the last poll
    }
  }
}
