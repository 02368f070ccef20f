package dev.sluice.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * One server, or the master that Sentinel names at the time. Thread-safe; no method blocks.
 *
 * <p>A probe that fails drops the connection: behind it may be a master that froze while another
 * one took over.
 */
final class SingleServer implements Server {

  private final String name;
  private final Link<StatefulRedisConnection<byte[], byte[]>> link;
  private final Breaker breaker;
  private final Lane lane;

  SingleServer(String name, RedisURI uri, RedisClient client, Wiring wiring) {
    this.name = name;
    this.link = new Link<>(() -> client.connectAsync(ByteArrayCodec.INSTANCE, uri), false);
    this.breaker = wiring.breaker(name, () -> probe(wiring.timeoutNanos()));
    this.lane = wiring.lane(this);
  }

  private CompletionStage<?> probe(long timeoutNanos) {
    return ping(timeoutNanos)
        .whenComplete(
            (pong, failure) -> {
              if (failure != null) {
                link.renew();
              }
            });
  }

  CompletionStage<String> ping(long timeoutNanos) {
    return link.connection()
        .thenCompose(open -> open.async().ping())
        .orTimeout(timeoutNanos, TimeUnit.NANOSECONDS);
  }

  Lane lane() {
    return lane;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Breaker breaker() {
    return breaker;
  }

  @Override
  public ScriptCall call(byte[][] keys, byte[] argument) {
    return link.call(keys, argument);
  }

  @Override
  public void renew() {
    link.renew();
  }
}
