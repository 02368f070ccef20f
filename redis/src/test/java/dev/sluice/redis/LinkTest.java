package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.store.Charge;
import dev.sluice.testkit.LocalRedis;
import dev.sluice.testkit.RedisBinary;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a link does with connections that break; each is a real one to a real server. */
final class LinkTest {

  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
  private final RedisClient client = RedisClient.create();
  private final AtomicInteger connected = new AtomicInteger();

  LinkTest() {
    client.setOptions(
        ClientOptions.builder()
            .autoReconnect(false)
            .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
            .build());
  }

  @AfterEach
  void stop() {
    client.shutdown(0, 2, TimeUnit.SECONDS);
    redis.close();
  }

  private CompletionStage<StatefulRedisConnection<byte[], byte[]>> connect() {
    connected.incrementAndGet();
    return client.connectAsync(
        ByteArrayCodec.INSTANCE,
        RedisURI.builder()
            .withHost("127.0.0.1")
            .withPort(redis.port())
            .withTimeout(Duration.ofSeconds(10))
            .build());
  }

  /** Broken, and not yet saying so: what every connection is for a moment when it breaks. */
  private CompletionStage<StatefulRedisConnection<byte[], byte[]>> connectAndBreak() {
    return connect()
        .thenCompose(
            real -> real.closeAsync().thenApply(closed -> LinkTest.<byte[]>seeminglyOpen(real)));
  }

  @SuppressWarnings("unchecked")
  private static <T> StatefulRedisConnection<T, T> seeminglyOpen(
      StatefulRedisConnection<T, T> broken) {
    return (StatefulRedisConnection<T, T>)
        Proxy.newProxyInstance(
            LinkTest.class.getClassLoader(),
            new Class<?>[] {StatefulRedisConnection.class},
            (proxy, method, arguments) -> {
              try {
                return method.getName().equals("isOpen") ? true : method.invoke(broken, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  /** The first time one way, from then on the other. */
  private static Link<StatefulRedisConnection<byte[], byte[]>> link(
      Supplier<CompletionStage<StatefulRedisConnection<byte[], byte[]>>> first,
      Supplier<CompletionStage<StatefulRedisConnection<byte[], byte[]>>> later) {
    AtomicBoolean isFirst = new AtomicBoolean(true);
    return new Link<>(() -> (isFirst.getAndSet(false) ? first : later).get(), false);
  }

  private static ScriptCall spend(Link<StatefulRedisConnection<byte[], byte[]>> link) {
    List<Charge> batch = Charges.spend("1:a");
    byte[] argument = ChargeScript.argument(ChargeScript.SERVER_CLOCK, 0, List.of(batch));
    return link.call(new byte[][] {"1:a".getBytes(StandardCharsets.UTF_8)}, argument);
  }

  @Test
  void call_onAConnectionThatBrokeUnnoticed_isSentOnANewOne() {
    var link = link(this::connectAndBreak, this::connect);
    assertThat(spend(link).join()).hasSize(3);
    assertThat(connected).hasValue(2);
    assertThat(spend(link).join().get(2)).isInstanceOf(byte[].class); // the first one's TAT
    assertThat(connected).hasValue(2);
  }

  @Test
  void call_whereEveryConnectionIsBroken_failsAndSaysThatNothingWasCharged() {
    var link = link(this::connectAndBreak, this::connectAndBreak);
    assertThatThrownBy(() -> spend(link).join())
        .hasCauseInstanceOf(ScriptCall.NotSentException.class)
        .satisfies(
            e ->
                assertThat(ServerFault.of(Link.cause(e)).exception("there"))
                    .hasMessageContaining("nothing was charged"));
    assertThat(connected).hasValue(2);
  }

  @Test
  void call_whereNobodyListens_failsAndSaysThatNothingWasCharged() {
    redis.kill();
    var link = link(this::connect, this::connect);
    assertThatThrownBy(() -> spend(link).join())
        .satisfies(
            e ->
                assertThat(ServerFault.of(Link.cause(e)).exception("there"))
                    .hasMessageContaining("refused")
                    .hasMessageContaining("nothing was charged"));
  }

  @Test
  void call_abandonedBeforeThereIsAConnection_isNeverSent() {
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> late = new CompletableFuture<>();
    var link = link(() -> late, this::connect);
    ScriptCall call = spend(link);
    assertThat(call.abandon()).isTrue();
    late.complete(connect().toCompletableFuture().join());
    assertThat(spend(link).join().get(2)).isEqualTo(0L); // there is no bucket yet
  }

  /**
   * The race: closing fails the calls that wait for answers; whoever is told of that comes back to
   * the link at once, on the thread that closes.
   */
  @Test
  @Timeout(30)
  void renew_whoIsToldMayComeBackAtOnce() throws InterruptedException {
    var link = link(this::connect, this::connect);
    assertThat(spend(link).join()).hasSize(3);
    redis.freeze();
    List<ScriptCall> again = new ArrayList<>();
    int calls = 100;
    CountDownLatch told = new CountDownLatch(calls);
    for (int i = 0; i < calls; i++) {
      var unused =
          spend(link)
              .whenComplete(
                  (answer, failure) -> {
                    synchronized (again) {
                      again.add(spend(link));
                    }
                    link.renew();
                    told.countDown();
                  });
    }
    link.renew();
    assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();
    redis.thaw();
    assertThat(spend(link).handle((answer, failure) -> true).join()).isTrue();
  }
}
