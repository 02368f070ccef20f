// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.StoreThread;
import dev.sluice.remote.SystemTiming;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** A thread of a store, with Netty's faster thread-local variables. */
final class RedisThread extends FastThreadLocalThread implements StoreThread {

  private RedisThread(Runnable target, String name) {
    super(target, name);
    setDaemon(true);
  }

  static ThreadFactory factory(String role) {
    AtomicInteger number = new AtomicInteger();
    return target ->
        new RedisThread(target, "sluice-redis-" + role + "-" + number.incrementAndGet());
  }

  static SystemTiming timing() {
    return new SystemTiming("redis", factory("timer"));
  }
}
