// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.RemoteCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisCredentialsProvider.ImmediateRedisCredentialsProvider;
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
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a link does with connections that break; each is a real one to a real server. */
final class LazyConnectionTest {

  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
  private final RedisClient client = RedisClient.create();
  private final AtomicInteger connected = new AtomicInteger();

  LazyConnectionTest() {
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

  private CompletionStage<Opened> connect() {
    return connect(Clients.credentials(null, ""));
  }

  private CompletionStage<Opened> connect(RedisCredentialsProvider credentials) {
    connected.incrementAndGet();
    return client
        .connectAsync(
            ByteArrayCodec.INSTANCE,
            RedisURI.builder()
                .withHost("127.0.0.1")
                .withPort(redis.port())
                .withAuthentication(credentials)
                .withTimeout(Duration.ofSeconds(10))
                .build())
        .thenApply(Opened::new);
  }

  /** A connection as the store has it, with the client library's own. */
  private static final class Opened extends LettuceConnection {
    private final StatefulRedisConnection<byte[], byte[]> wire;

    Opened(StatefulRedisConnection<byte[], byte[]> wire) {
      super(wire);
      this.wire = wire;
    }
  }

  /**
   * The race: who is told that there is a connection uses it at once. Where the greeting with a
   * password ends on another thread than the client's own, it is not ready then; which it does,
   * once in many times, unless the credentials are given at once.
   */
  @Test
  void connection_withAPassword_isReadyWhenItIsHandedOut() {
    assertThat(Clients.credentials("default", "right"))
        .isInstanceOf(ImmediateRedisCredentialsProvider.class);
    redis.command("CONFIG", "SET", "requirepass", "right");
    List<String> threads = new ArrayList<>();
    var link =
        link(
            () -> connect(Clients.credentials(null, "right")),
            () -> connect(Clients.credentials("default", "right")));
    for (int i = 0; i < 50; i++) {
      link.renew();
      redis.freeze(); // or it could be there before something is chained to it
      CompletableFuture<Boolean> used =
          link.connection()
              .thenCompose(
                  open -> {
                    threads.add(Thread.currentThread().getName());
                    return open.ping();
                  })
              .handle((pong, failure) -> failure == null);
      redis.thaw();
      assertThat(used.join()).isTrue();
    }
    assertThat(threads).allMatch(name -> name.contains("EventLoop"));
  }

  /** Broken, and not yet saying so: what every connection is for a moment when it breaks. */
  private CompletionStage<Opened> connectAndBreak() {
    return connect()
        .thenCompose(
            real ->
                real.closeAsync()
                    .thenApply(closed -> new Opened(altered(real.wire, "isOpen", broken -> true))));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it is handed on, as an Object
  private static Opened onClose(Opened real, Runnable told) {
    return new Opened(
        altered(
            real.wire,
            "closeAsync",
            connection -> {
              told.run();
              return connection.closeAsync();
            }));
  }

  @SuppressWarnings("unchecked")
  private static StatefulRedisConnection<byte[], byte[]> altered(
      StatefulRedisConnection<byte[], byte[]> real,
      String methodName,
      Function<StatefulRedisConnection<byte[], byte[]>, Object> instead) {
    return (StatefulRedisConnection<byte[], byte[]>)
        Proxy.newProxyInstance(
            LazyConnectionTest.class.getClassLoader(),
            new Class<?>[] {StatefulRedisConnection.class},
            (proxy, method, arguments) -> {
              try {
                return method.getName().equals(methodName)
                    ? instead.apply(real)
                    : method.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  /** The first time one way, from then on the other. */
  private static LazyConnection<Opened> link(
      Supplier<CompletionStage<Opened>> first, Supplier<CompletionStage<Opened>> later) {
    AtomicBoolean isFirst = new AtomicBoolean(true);
    return new LazyConnection<>(
        () -> (isFirst.getAndSet(false) ? first : later).get(), false, ForkJoinPool.commonPool());
  }

  private static ScriptCall spend(LazyConnection<Opened> link) {
    List<Charge> batch = Charges.spend("1:a");
    byte[] argument = ChargeScript.argument(null, List.of(batch));
    byte[][] keys = {"1:a".getBytes(StandardCharsets.UTF_8)};
    ScriptCall call = new ScriptCall(link, () -> {}, keys, argument);
    call.send();
    return call;
  }

  @Test
  void open_whereNothingIsConnected_beginsNothing() {
    var link = link(this::connect, this::connect);
    assertThat(link.open()).isNull();
    assertThat(connected).hasValue(0);
    var first = link.connection().join();
    assertThat(link.open()).isSameAs(first);
    first.wire.close();
    assertThat(link.open()).isNull();
    assertThat(connected).hasValue(1);
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
        .hasCauseInstanceOf(RemoteCall.NotSentException.class)
        .satisfies(
            e ->
                assertThat(ServerFault.of(Stages.cause(e)).exception("there"))
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
                assertThat(ServerFault.of(Stages.cause(e)).exception("there"))
                    .hasMessageContaining("refused")
                    .hasMessageContaining("nothing was charged"));
  }

  @Test
  void call_abandonedBeforeThereIsAConnection_isNeverSent() {
    CompletableFuture<Opened> late = new CompletableFuture<>();
    var link = link(() -> late, this::connect);
    ScriptCall call = spend(link);
    assertThat(call.abandon()).isTrue();
    late.complete(connect().toCompletableFuture().join());
    assertThat(spend(link).join().get(2)).isEqualTo(0L); // there is no bucket yet
  }

  /**
   * Closing waits until nobody writes on the connection, and who writes may be told of a failure
   * within the write, and come back to the link: so it must not be closed under the link's lock.
   */
  @Test
  void brokenConnection_isClosedWhereNobodyWaitsForTheLink() {
    List<CompletableFuture<Boolean>> underLock =
        List.of(new CompletableFuture<>(), new CompletableFuture<>());
    List<LazyConnection<Opened>> links = new ArrayList<>();
    AtomicInteger closed = new AtomicInteger();
    var link =
        link(
            this::connect,
            () ->
                connect()
                    .thenApply(
                        real ->
                            onClose(
                                real,
                                () ->
                                    underLock
                                        .get(closed.getAndIncrement())
                                        .complete(Thread.holdsLock(links.get(0))))));
    links.add(link);
    assertThat(spend(link).join()).hasSize(3);
    link.renew();
    assertThat(spend(link).join()).hasSize(3); // watched from here on
    link.renew(); // the first way to close
    assertThat(underLock.get(0).orTimeout(30, TimeUnit.SECONDS).join()).isFalse();
    assertThat(spend(link).join()).hasSize(3);
    redis.command("CLIENT", "KILL", "TYPE", "normal");
    await().until(() -> !link.connection().join().isOpen() || connected.get() > 3);
    assertThat(spend(link).join()).hasSize(3); // the second: it was found broken
    assertThat(underLock.get(1).orTimeout(30, TimeUnit.SECONDS).join()).isFalse();
  }

  /**
   * The race: the client's own thread writes, finds within that write that the server is gone, and
   * whoever is told so comes back to the link; meanwhile another thread throws that connection
   * away, which waits until nobody writes on it. Neither may wait for the other.
   */
  @Test
  @Timeout(120)
  void call_onTheClientsThreadWhileTheConnectionIsThrownAway_comesToItsEnd() {
    var link = link(this::connect, this::connect);
    for (int round = 0; round < 100; round++) {
      assertThat(spend(link).join()).hasSize(3);
      AtomicBoolean over = new AtomicBoolean();
      CountDownLatch begun = new CountDownLatch(1);
      redis.freeze(); // or the answer could be there before something is chained to it
      CompletableFuture<Void> calls =
          spend(link)
              .thenCompose(
                  answer -> {
                    redis.command("CLIENT", "KILL", "TYPE", "normal");
                    begun.countDown();
                    return again(link, 20);
                  });
      redis.thaw();
      CompletableFuture<Void> renewing =
          CompletableFuture.runAsync(
              () -> {
                awaitZero(begun);
                while (!over.get()) {
                  link.renew();
                }
              });
      calls.orTimeout(30, TimeUnit.SECONDS).join();
      over.set(true);
      renewing.orTimeout(30, TimeUnit.SECONDS).join();
    }
    assertThat(spend(link).join()).hasSize(3);
  }

  private static void awaitZero(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static CompletableFuture<Void> again(LazyConnection<Opened> link, int times) {
    return times == 0
        ? CompletableFuture.completedFuture(null)
        : spend(link)
            .handle((answer, failure) -> failure != null)
            .thenCompose(failed -> again(link, times - 1));
  }
}
