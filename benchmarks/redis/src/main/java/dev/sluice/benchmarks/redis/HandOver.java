// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An upper bound for the speed of every store that batches calls: a caller only joins a queue,
 * sleeps, and is woken by another thread. Neither Redis nor the network is used, and nobody decides
 * on requests. Thread-safe.
 */
final class HandOver implements Client {

  private final Queue<Place> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean asleep = new AtomicBoolean();
  private final Thread server = new Thread(this::serve, "hand-over");
  private volatile boolean over;

  HandOver() {
    server.setDaemon(true);
    server.start();
  }

  /** A queued caller. */
  private static final class Place {
    private final Thread caller = Thread.currentThread();
    private volatile boolean served;
  }

  @Override
  public List<Load> loads() {
    return Load.BLOCKING;
  }

  @Override
  public @Nullable String redisKey(int bucket) {
    return null;
  }

  @Override
  public void spend(int bucket) {
    Place place = new Place();
    waiting.add(place);
    wake();
    while (!place.served) {
      LockSupport.park(this);
    }
  }

  private void wake() {
    if (asleep.get() && asleep.compareAndSet(true, false)) {
      LockSupport.unpark(server);
    }
  }

  private void serve() {
    while (!over) {
      Place next = waiting.poll();
      if (next != null) {
        next.served = true;
        LockSupport.unpark(next.caller);
        continue;
      }
      asleep.set(true);
      if (waiting.isEmpty()) { // otherwise a caller has joined the queue in the meantime
        LockSupport.park(this);
      }
      asleep.set(false);
    }
  }

  @Override
  public void close() {
    over = true;
    LockSupport.unpark(server);
  }
}
