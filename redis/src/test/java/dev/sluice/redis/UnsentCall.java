// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.RemoteCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import java.util.function.Consumer;

/** A call that a test gets instead of a server, and completes. */
final class UnsentCall extends RemoteCall<List<Object>> {

  private final Consumer<UnsentCall> sent;

  UnsentCall(Consumer<UnsentCall> sent) {
    this.sent = sent;
  }

  @Override
  protected void send() {
    sent.accept(this);
  }

  @Override
  protected List<Reading> readings(
      List<Object> answer, int first, List<Charge> batch, String server) {
    return ChargeScript.readings(answer, first, Charges.keys(batch), server);
  }
}
