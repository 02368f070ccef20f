// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore.Charge;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The server of a {@link RequestQueue}. Thread-safe; no method blocks. */
public interface Endpoint {

  /** Returns host and port, for messages; never with a password. */
  String name();

  Breaker breaker();

  /**
   * Makes a call that decides on batches, each of them all or nothing, in order.
   *
   * @param keys the keys of all charges in order, all on this server
   * @param batches at least one
   * @return the call, which is sent later
   */
  RemoteCall<?> call(List<byte[]> keys, List<List<Charge>> batches);

  /**
   * Explains a failed call.
   *
   * @param failure null if the call ended without an answer
   */
  Fault fault(@Nullable Throwable failure);
}
