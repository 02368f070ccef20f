// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.concurrent.CompletableFuture;

/** A server that never answers, for the store's warm-up; it is never marked down. Thread-safe. */
final class UnreachableServer implements Endpoint {

  private static final String NAME = "nobody";

  private final Breaker breaker;

  UnreachableServer(Timing timing, RedisObserver observer) {
    this.breaker =
        new Breaker(
            NAME, Integer.MAX_VALUE, Long.MAX_VALUE, CompletableFuture::new, timing, observer);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Breaker breaker() {
    return breaker;
  }

  @Override
  public void send(ScriptCall call) {
    // It stays without an answer, and times out.
  }

  @Override
  public void renew() {
    // There is no other.
  }
}
