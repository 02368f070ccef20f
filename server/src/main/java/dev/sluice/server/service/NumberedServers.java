// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.redis.RedisObserver;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells another observer {@code redis-1} in place of a server's address, for metrics that everybody
 * may read. The log has the address of each number. Thread-safe; no method blocks.
 */
final class NumberedServers implements RedisObserver {

  private static final Logger LOG = LoggerFactory.getLogger(NumberedServers.class);

  private final RedisObserver told;
  private final Map<String, String> names = new ConcurrentHashMap<>();
  private final AtomicInteger numbers = new AtomicInteger();

  NumberedServers(RedisObserver told) {
    this.told = told;
  }

  private String name(String server) {
    String known = names.get(server);
    return known == null ? names.computeIfAbsent(server, this::number) : known;
  }

  private String number(String server) {
    String name = "redis-" + numbers.incrementAndGet();
    LOG.info("{} is {}", name, server);
    return name;
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    told.called(name(server), result, batches, charges, elapsedNanos);
  }

  @Override
  public void refused(String server, Refusal why) {
    told.refused(name(server), why);
  }

  @Override
  public void deniedFromMemory() {
    told.deniedFromMemory();
  }

  @Override
  public void changed(String server, State state, String reason) {
    told.changed(name(server), state, reason);
  }
}
