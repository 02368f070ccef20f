// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A server to which a {@link RequestQueue} sends calls. Thread-safe; no method blocks. */
public interface Endpoint {

  /** Returns host and port for messages, without a password. */
  String name();

  Breaker breaker();

  /**
   * Makes a call that decides on batches in their order. Each batch is charged all or nothing.
   *
   * @param keys the keys of all charges, in the order of the charges; all keys are on this server
   * @param batches the batches, at least one
   * @return the call, not yet sent
   */
  RemoteCall<?> call(List<byte[]> keys, List<List<Charge>> batches);

  /**
   * Returns why a batch is not sent now, although the server is reachable; null to send the batch.
   * Reports a batch that is not sent to the observer.
   *
   * @param keys the keys of the charges, as for {@link #call}
   */
  default @Nullable StoreException refusal(List<byte[]> keys, List<Charge> batch) {
    return null;
  }

  /**
   * Explains why a call failed.
   *
   * @param failure the failure; null if the call ended without a response
   */
  Fault fault(@Nullable Throwable failure);
}
