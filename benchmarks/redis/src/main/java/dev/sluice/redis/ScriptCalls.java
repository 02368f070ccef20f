// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/**
 * Calls the script of the Redis store without the store. One call has several spends, as if several
 * callers shared the call. The class is in the package of the Redis store, since the script is
 * package-private. Thread-safe; only close blocks.
 */
public final class ScriptCalls implements AutoCloseable {

  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final byte[] argument;

  /**
   * Connects, and loads the script into the server.
   *
   * @param uri the URI of one server
   * @param spends the number of spends in each call
   * @param incrementNanos the cost of each spend, times the emission interval
   * @param offsetNanos the burst of each spend's limit, times the emission interval
   */
  public ScriptCalls(String uri, int spends, long incrementNanos, long offsetNanos) {
    client = RedisClient.create(uri);
    connection = client.connect(ByteArrayCodec.INSTANCE);
    var unused = connection.sync().scriptLoad(ChargeScript.SOURCE.getBytes(StandardCharsets.UTF_8));
    Charge spend = new Charge("any", Op.SPEND, incrementNanos, offsetNanos, Effect.NO_END);
    argument =
        ChargeScript.argument(null, Stream.generate(() -> List.of(spend)).limit(spends).toList());
  }

  /**
   * Spends from several buckets. The spends are independent of each other.
   *
   * @param keys one key for each spend
   * @return the reply of the script
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
