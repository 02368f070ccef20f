// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.Charge;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/**
 * Calls of the store's script without the store: as when many callers, each with one spend, share a
 * call. In the package of the store, which shows its script to nobody else. Thread-safe; no method
 * but close blocks.
 */
public final class ScriptCalls implements AutoCloseable {

  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final byte[] argument;

  /**
   * Connects, and sees to it that the server knows the script.
   *
   * @param uri of one server
   * @param spends how many a call has
   * @param incrementNanos of each spend
   * @param offsetNanos its burst offset
   */
  public ScriptCalls(URI uri, int spends, long incrementNanos, long offsetNanos) {
    client = RedisClient.create(uri.toString());
    connection = client.connect(ByteArrayCodec.INSTANCE);
    var unused = connection.sync().scriptLoad(ChargeScript.SOURCE.getBytes(StandardCharsets.UTF_8));
    Charge spend = new Charge("any", Op.SPEND, incrementNanos, offsetNanos, Effect.NO_END);
    argument =
        ChargeScript.argument(null, Stream.generate(() -> List.of(spend)).limit(spends).toList());
  }

  /**
   * Spends from buckets, whatever becomes of the others.
   *
   * @param keys as many as there are spends
   * @return the script's answer
   */
  public CompletionStage<List<Object>> call(String... keys) {
    byte[][] bytes =
        Stream.of(keys).map(key -> key.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    return connection.async().evalsha(ChargeScript.DIGEST, ScriptOutputType.MULTI, bytes, argument);
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
