// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A server that never responds and is never marked down, for the store's warm-up. Thread-safe. */
final class UnreachableServer implements Endpoint {

  static final String NAME = "nobody";

  private final Breaker breaker;

  UnreachableServer(Breaker breaker) {
    this.breaker = breaker;
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
  public RemoteCall<?> call(List<byte[]> keys, List<List<Charge>> batches) {
    return new NeverAnswered();
  }

  @Override
  public Fault fault(@Nullable Throwable failure) {
    throw new IllegalStateException(failure); // a call of this server never ends
  }

  private static final class NeverAnswered extends RemoteCall<Void> {

    @Override
    protected void send() {
      // The request gets no response and times out.
    }

    @Override
    protected List<Reading> readings(Void answer, int first, List<Charge> batch, String server) {
      throw new IllegalStateException("never answered");
    }
  }
}
