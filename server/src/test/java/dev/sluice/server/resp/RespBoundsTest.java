// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.server.Aside;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.resp.RespClient.Failure;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import java.io.EOFException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients that send what they should not, do not read, or do not go. */
@Tag("slow")
final class RespBoundsTest {

  private static final Duration LATE = Duration.ofSeconds(5);
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : open) {
      one.close();
    }
  }

  private TestRespServer server(long budgetBytes, int maxConnections) {
    return server(budgetBytes, maxConnections, LATE);
  }

  private TestRespServer server(long budgetBytes, int maxConnections, Duration late) {
    TestRespServer server =
        new TestRespServer(
            limits(),
            BucketStore.inMemory(new ManualTime()),
            new ConnectionBudget(budgetBytes, maxConnections, maxConnections, late));
    open.add(server);
    return server;
  }

  private static Limits limits() {
    return Limits.builder(Catalogue.samples())
        .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
        .build();
  }

  private RespClient connect(TestRespServer server) {
    RespClient client = server.connect();
    open.add(client);
    return client;
  }

  private static void assertServed(TestRespServer server) {
    try (RespClient other = server.connect()) {
      assertThat(other.call("PING")).isEqualTo("PONG");
    }
  }

  /** Valid parts in a wrong order find more than bytes alone. */
  @Test
  void fuzzedBytes_areAnsweredOrEndTheConnection_andOthersAreServed() {
    TestRespServer server = server(16 << 20, 1_000);
    Random random = new Random(20261122);
    String[] parts = {
      "*",
      "$",
      "\r\n",
      "1",
      "3",
      "-1",
      "99999999999",
      "CL.THROTTLE",
      "PING",
      "SLUICE.SPEND",
      " ",
      "\"",
      "'",
      "\0",
      "\u00ff",
      "*1\r\n$4\r\nPING\r\n",
      "HELLO 3\r\n",
      "LoginsPerIPAddress",
      "k",
      "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n"
    };
    for (int round = 0; round < 1_500; round++) {
      try (RespClient client = server.connect()) {
        StringBuilder text = new StringBuilder();
        int count = 1 + random.nextInt(30);
        for (int i = 0; i < count; i++) {
          text.append(parts[random.nextInt(parts.length)]);
        }
        client.raw(text.toString());
        client.endOutput();
        while (true) {
          Object reply = client.reply();
          if (reply instanceof Failure failure) {
            assertThat(failure.text()).doesNotStartWith("INTERNAL");
          }
        }
      } catch (UncheckedIOException ended) {
        // as it should
      }
    }
    assertServed(server);
  }

  @Test
  void aClientThatDoesNotRead_isReadNoFurther() throws Exception {
    TestRespServer server = server(16 << 20, 1_000);
    RespClient client = connect(server);
    AtomicInteger sent = new AtomicInteger();
    CompletableFuture<Void> sender =
        Aside.run(
            () -> {
              for (int i = 0; i < 40_000; i++) {
                client.raw("COMMAND\r\n".repeat(100)); // 36 MB in all: no buffer holds them
                sent.incrementAndGet();
              }
            });
    assertServed(server);
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              int before = sent.get();
              assertServed(server);
              return sent.get() == before;
            });
    assertThat(sent).hasValueLessThan(40_000);
    assertServed(server);
    client.close();
    await().atMost(PATIENCE).until(sender::isDone);
  }

  @Test
  void requestsThatDoNotArrive_endTheirConnection() {
    TestRespServer server = server(16 << 20, 1_000);
    RespClient client = connect(server);
    client.raw("*2\r\n$4\r\nECHO\r\n$5\r\nhel");
    RespClient idle = connect(server);
    assertThat(idle.call("PING")).isEqualTo("PONG");
    assertThat(client.isEnded()).isTrue(); // after 5 s
    assertThat(idle.call("PING")).isEqualTo("PONG");
  }

  /** 200 requests of 60 KB that never end would hold 12 MB of a budget of 4. */
  @Test
  void unfinishedRequests_thatExhaustTheBudget_makeRoomForOthers() {
    Duration late = Duration.ofSeconds(15);
    TestRespServer server = server(4 << 20, 1_000, late);
    String most = "*5\r\n" + ("$16000\r\n" + "x".repeat(16_000) + "\r\n").repeat(3);
    for (int i = 0; i < 200; i++) {
      RespClient attacker = connect(server);
      try {
        attacker.raw(most);
      } catch (UncheckedIOException closed) {
        // as it should be
      }
    }
    assertServed(server);
    // They make room when they have kept the server waiting for PRESSURE_AGE, and long before they
    // are late.
    await()
        .atMost(late.minusSeconds(1))
        .ignoreExceptions()
        .untilAsserted(() -> assertThat(echoedInTwoParts(server)).isEqualTo("hello"));
  }

  private static @Nullable Object echoedInTwoParts(TestRespServer server) {
    try (RespClient client = server.connect()) {
      client.raw("*2\r\n$4\r\nECHO\r\n$5\r\nhel");
      client.raw("lo\r\n");
      return client.reply();
    }
  }

  @Test
  void oneConnectionTooMany_takesThePlaceOfAnIdleOne() {
    TestRespServer server = server(16 << 20, 20);
    List<RespClient> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      clients.add(connect(server));
      assertThat(clients.get(i).call("PING")).isEqualTo("PONG");
    }
    assertThat(connect(server).call("PING")).isEqualTo("PONG");
    assertThat(clients.get(0).isEnded()).isTrue();
    assertThat(clients.get(19).call("PING")).isEqualTo("PONG");
  }

  /** Each request that a server of this kind has taken is answered before its side ends. */
  @Test
  void aServerThatStops_answersWhatArrived() throws Exception {
    TestRespServer server = server(16 << 20, 1_000);
    int clients = 20;
    AtomicInteger replies = new AtomicInteger();
    List<CompletableFuture<String>> all = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      RespClient client = connect(server);
      all.add(
          CompletableFuture.supplyAsync(
              () -> untilTheEnd(client, replies), task -> new Thread(task).start()));
    }
    await().atMost(PATIENCE).until(() -> replies.get() > 1_000);
    server.stop();
    for (CompletableFuture<String> one : all) {
      assertThat(one.get(60, TimeUnit.SECONDS)).isEqualTo("ended between replies");
    }
  }

  /** More than may wait at once: the rest was read, and waits for its turn. */
  @Test
  void aServerThatStops_answersWhatWaitsForItsTurn() throws Exception {
    HeldStore store = new HeldStore();
    TestRespServer server = new TestRespServer(limits(), store, ConnectionBudget.usual());
    open.add(server);
    RespClient client = connect(server);
    RespClient unfinished = connect(server);
    client.raw("CL.THROTTLE k 9 9 9\r\n".repeat(2_000));
    await().atMost(PATIENCE).until(() -> store.asked.get() == 1_024);
    unfinished.raw("PI");
    CompletableFuture<Void> stopped = Aside.run(server::stop);
    assertThat(unfinished.isEnded()).isTrue(); // and the other one knows of the stop

    store.held.complete(null);

    int replies = 0;
    while (isReplied(client)) {
      replies++;
    }
    assertThat(replies).isEqualTo(store.asked.get()).isGreaterThan(1_024);
    stopped.get(60, TimeUnit.SECONDS);
  }

  private static boolean isReplied(RespClient client) {
    try {
      return client.reply() instanceof List;
    } catch (UncheckedIOException e) {
      assertThat(e).hasCauseInstanceOf(EOFException.class);
      return false;
    }
  }

  /** The store in memory, which answers when it is told to. */
  private static final class HeldStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory(new ManualTime());
    private final CompletableFuture<@Nullable Void> held = new CompletableFuture<>();
    private final AtomicInteger asked = new AtomicInteger();

    @Override
    public OptionalLong nowNanos() {
      return memory.nowNanos();
    }

    @Override
    public List<Reading> charge(List<Charge> batch) {
      return memory.charge(batch);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> batch) {
      asked.incrementAndGet();
      return held.thenApply(nothing -> charge(batch));
    }
  }

  /** Sends one request after the other; says how the connection ended. */
  private static String untilTheEnd(RespClient client, AtomicInteger replies) {
    while (true) {
      try {
        client.send("ECHO", "x");
      } catch (UncheckedIOException e) {
        return "ended between replies"; // nothing was sent
      }
      try {
        if (!"x".equals(client.reply())) {
          return "a wrong reply";
        }
        replies.incrementAndGet();
      } catch (UncheckedIOException e) {
        return e.getCause() instanceof EOFException
            ? "ended between replies" // the request had not arrived: no byte of a reply came
            : "reset: " + e.getCause();
      }
    }
  }
}
