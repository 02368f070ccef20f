// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.RemoteCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.Arrays;
import java.util.List;

/** One call of the script. Thread-safe; no method blocks. */
final class ScriptCall extends RemoteCall<List<Object>> {

  private final LazyConnection<?> link;
  private final Runnable onReplica;
  private final byte[][] keys;
  private final byte[] argument;

  /**
   * Creates a call that has not been sent yet.
   *
   * @param onReplica an action that runs if the server reports that it is a replica
   */
  ScriptCall(LazyConnection<?> link, Runnable onReplica, byte[][] keys, byte[] argument) {
    this.link = link;
    this.onReplica = onReplica;
    this.keys = keys;
    this.argument = argument;
  }

  @Override
  protected void send() {
    link.send(this);
  }

  /**
   * Sends this call on a connection, unless the call was abandoned.
   *
   * @param whole whether to send the text of the script instead of its digest
   */
  Exchange ask(Connection on, boolean whole) {
    Exchange exchange = on.exchange(whole, keys, argument);
    if (begin(exchange)) {
      exchange.send();
    } else {
      exchange.cancel();
    }
    return exchange;
  }

  @Override
  protected List<Reading> readings(
      List<Object> answer, int first, List<Charge> batch, String server) {
    try {
      List<byte[]> sent = Arrays.asList(keys).subList(first, first + batch.size());
      return ChargeScript.readings(answer, first, sent, server);
    } catch (ChargeScript.Refusal e) {
      if (e.byReplica()) {
        onReplica.run();
      }
      throw e;
    }
  }
}
