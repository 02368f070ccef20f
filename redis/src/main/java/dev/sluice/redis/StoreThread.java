// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** A thread of a store: it carries answers, so it must never wait for one. */
final class StoreThread extends FastThreadLocalThread {

  private StoreThread(Runnable target, String name) {
    super(target, name);
    setDaemon(true);
  }

  static ThreadFactory factory(String role) {
    AtomicInteger number = new AtomicInteger();
    return target ->
        new StoreThread(target, "sluice-redis-" + role + "-" + number.incrementAndGet());
  }
}
