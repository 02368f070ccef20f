// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.client.BlockingWebClient;
import com.linecorp.armeria.client.ClientFactory;
import com.linecorp.armeria.client.UnprocessedRequestException;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.MediaType;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.tls.Pem;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A service that is stopped under load charges nobody without an answer, on any door. */
@Tag("slow")
final class DrainTest {

  private static final int BURST = 1_000_000;

  @TempDir private Path folder;

  /** A server that stops closes connections that were idle for a second. */
  private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  /** A server that stops answers as before for a second; half of it is left to a busy machine. */
  private static final long STILL_OPEN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Spends once; throws when it gets no answer. */
  private interface Client {
    void spend(String id) throws Exception;
  }

  /** When the service was told to stop, once it was. */
  private final AtomicLong stopNanos = new AtomicLong();

  private final AtomicBoolean stopped = new AtomicBoolean();

  @Test
  void serviceThatIsStopped_underLoad_losesNoAnswer() throws Exception {
    TlsFixture fixture = TlsFixture.in(folder);
    ServerConfig config =
        new ServerConfig(
            fixture.doors(false),
            fixture.sources(),
            Configs.keptIn(folder.resolve("buckets")),
            ServerConfig.Control.NONE,
            Telemetry.NONE);
    Service service = Service.start(config);
    SSLContext trusting = Pem.client(null, Pem.SERVER);
    Map<String, Future<Integer>> answered = new TreeMap<>();
    ExecutorService clients = Executors.newCachedThreadPool();
    CountDownLatch allAsk = new CountDownLatch(4);
    try (ClientFactory factory = TlsFixture.factory(null);
        Jedis jedis = TlsFixture.jedis(service, trusting)) {
      HttpClient http1 =
          HttpClient.newBuilder().sslContext(trusting).version(Version.HTTP_1_1).build();
      BlockingWebClient http2 =
          WebClient.builder(TlsFixture.url(service, TlsFixture.HTTP, "/"))
              .factory(factory)
              .build()
              .blocking();
      RateLimitServiceBlockingStub grpc =
          TlsFixture.grpc(service, factory, RateLimitServiceBlockingStub.class);
      Map<String, Client> doors =
          Map.of(
              "http1", id -> http(http1, service, id),
              "http2", id -> http2(http2, id),
              "resp", id -> resp(jedis, id),
              "grpc", id -> grpc(grpc, id));
      doors.forEach(
          (id, client) ->
              answered.put(id, clients.submit(() -> spendUntilTheEnd(id, client, allAsk))));
      allAsk.await();

      stopNanos.set(System.nanoTime());
      stopped.set(true);
      service.close();

      Map<String, Integer> counted = new TreeMap<>();
      for (Map.Entry<String, Future<Integer>> door : answered.entrySet()) {
        counted.put(door.getKey(), door.getValue().get());
      }
      assertThat(spent(config, trusting, counted.keySet())).isEqualTo(counted);
    } finally {
      clients.shutdownNow();
    }
  }

  private int spendUntilTheEnd(String id, Client client, CountDownLatch allAsk) {
    int answers = 0;
    long lastNanos = System.nanoTime();
    while (true) {
      try {
        client.spend(id);
      } catch (Exception e) {
        // When the client sent it, nobody knows: a thread may stand still on its way.
        boolean mayHaveBeenIdle = System.nanoTime() - lastNanos > IDLE_NANOS;
        if (!mayHaveBeenIdle && !isTheEnd(e)) {
          throw new AssertionError("%s lost answer %s".formatted(id, answers + 1), e);
        }
        return answers;
      }
      lastNanos = System.nanoTime();
      answers++;
      if (answers == 10) {
        allAsk.countDown();
      }
    }
  }

  /**
   * Whether a request was not looked at, as its client was told. The Redis protocol has no words
   * for that: there only the end of the connection tells it, for commands sent about then.
   */
  private boolean isTheEnd(Exception failure) {
    if (!stopped.get()) {
      return false;
    }
    if (failure instanceof JedisConnectionException) {
      return System.nanoTime() - stopNanos.get() > STILL_OPEN_NANOS;
    }
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof ConnectException || cause instanceof UnprocessedRequestException) {
        return true;
      }
    }
    return false;
  }

  private static void http(HttpClient client, Service service, String id) throws Exception {
    assertThat(TlsFixture.spend(client, service, id).statusCode()).isEqualTo(200);
  }

  /** Not the JDK's client: up to Java 23 it drops its requests when it is told to go away. */
  private static void http2(BlockingWebClient client, String id) {
    AggregatedHttpResponse answer =
        client
            .prepare()
            .post("/v1/spend")
            .content(MediaType.JSON, "{\"limit\":\"ApiCallsPerKey\",\"id\":\"" + id + "\"}")
            .execute();
    assertThat(answer.status().code()).isEqualTo(200);
  }

  private static void resp(Jedis jedis, String id) {
    jedis.sendCommand(
        () -> "SLUICE.SPEND".getBytes(StandardCharsets.US_ASCII), "ApiCallsPerKey", id);
  }

  private static void grpc(RateLimitServiceBlockingStub client, String id) {
    RateLimitRequest request =
        RateLimitRequest.newBuilder()
            .setDomain("edge")
            .addDescriptors(
                RateLimitDescriptor.newBuilder()
                    .addEntries(Entry.newBuilder().setKey("ApiCallsPerKey").setValue(id)))
            .build();
    assertThat(client.shouldRateLimit(request).getOverallCode()).isEqualTo(Code.OK);
  }

  /** What the buckets say, as the next start finds them. */
  private static Map<String, Integer> spent(
      ServerConfig config, SSLContext trusting, Iterable<String> ids)
      throws IOException, InterruptedException {
    Map<String, Integer> spent = new TreeMap<>();
    HttpClient client = HttpClient.newBuilder().sslContext(trusting).build();
    try (Service next = Service.start(config)) {
      for (String id : ids) {
        String body = TlsFixture.spend(client, next, id).body();
        String remaining = body.replaceAll("(?s).*\"remaining\":(\\d+).*", "$1");
        spent.put(id, BURST - 1 - Integer.parseInt(remaining));
      }
    }
    return spent;
  }
}
