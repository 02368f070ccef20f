// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.server.Aside;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.http.HttpPart.AdminPart;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many requests that wait take few threads, and hold up no others. */
@Tag("slow")
final class SlowRequestsTest {

  private static final String CHANGE = "/v1/admin/penalties/ApiCallsPerKey/k";
  private static final int PROBES = 60;
  private static final Duration LONG = Duration.ofMinutes(1);

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final CountDownLatch goOn = new CountDownLatch(1);
  private final CountDownLatch arrived = new CountDownLatch(PROBES);
  private final AtomicInteger busy = new AtomicInteger();
  private final AtomicInteger mostBusy = new AtomicInteger();
  private volatile boolean storeHangs;

  /** A database that takes every connection and never says a word. */
  private ServerSocket silent;

  @TempDir private Path folder;
  private AuditLog audit;
  private RuntimeLimits runtime;
  private SluiceServer server;

  /** Those of other tests end when they like. */
  private final Set<Thread> before = Thread.getAllStackTraces().keySet();

  private void start(Duration requestTimeout) throws IOException {
    Path file = folder.resolve("audit.jsonl");
    audit = AuditLog.to(JsonLines.of(file, AuditLog.KIND, new SimpleMeterRegistry()));
    silent = new ServerSocket(0, 500, InetAddress.getLoopbackAddress());
    String database =
        "postgresql://127.0.0.1:%s/none?connectTimeout=60&loginTimeout=60&socketTimeout=60"
            .formatted(silent.getLocalPort());
    BucketStore store = BucketStore.inMemory();
    CurrentLimits limits = new CurrentLimits(SampleFixture.limits());
    runtime =
        RuntimeLimits.inTable(
            PostgresUrl.dataSource(database),
            Duration.ofMinutes(10),
            () -> true,
            limits.derived(),
            limits,
            store);
    Generations generations = new Generations();
    generations.readBeside(runtime);
    Limiter limiter = Limiter.of(limits, store);
    server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                new ConnectionBudget(
                    Runtime.getRuntime().maxMemory() / SluiceServer.HEAP_PER_BUDGET,
                    SluiceServer.MAX_CONNECTIONS,
                    SluiceServer.MAX_CONNECTIONS_PER_PEER,
                    requestTimeout.plus(SluiceServer.READ_TIMEOUT)))
            .part(
                new HttpPart(
                    limiter,
                    store,
                    new Reservations(limiter, store, TokenKey.random()),
                    this::ask,
                    audit,
                    generations,
                    Denials.none()))
            .part(new AdminPart(runtime, audit))
            .part(new MetricsPart(MetricsPart.newRegistry(), limits, store))
            .part(new Arrivals())
            .requestTimeout(requestTimeout)
            .start();
  }

  @AfterEach
  void stop() throws IOException {
    goOn.countDown();
    silent.close();
    runtime.close();
    Aside.run(server::close);
    audit.close();
  }

  /** Counts the requests that a resource has taken. */
  private final class Arrivals implements Part {
    @Override
    public void addTo(ServerBuilder builder) {}

    @Override
    public void addFirst(Decorators decorators) {
      decorators.add(
          (next, context, request) -> {
            var answer = next.serve(context, request);
            arrived.countDown();
            return answer;
          });
    }
  }

  /** The readiness of a store that may hang. */
  private void ask() {
    if (storeHangs) {
      mostBusy.accumulateAndGet(busy.incrementAndGet(), Math::max);
      try {
        goOn.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      } finally {
        busy.decrementAndGet();
      }
    }
  }

  private CompletableFuture<HttpResponse<String>> send(String method, String path, String body) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(server.address()) + path))
            .header("Content-Type", "application/json")
            .method(
                method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
    return client.sendAsync(request, BodyHandlers.ofString());
  }

  private int status(String path) {
    return send("GET", path, "").join().statusCode();
  }

  private long threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread))
        .filter(thread -> thread.getName().startsWith(prefix))
        .count();
  }

  @Test
  void changesThatWaitForADatabase_takeOneThread_andWhatIsTooMuchIsRefused() throws Exception {
    start(LONG);
    int most = 1 + AdminPart.MAX_WAITING_CHANGES;
    List<CompletableFuture<HttpResponse<String>>> changes =
        IntStream.range(0, most + 9)
            .mapToObj(i -> send("PUT", CHANGE, "{\"for\":\"1h\"}"))
            .toList();
    await().until(() -> changes.stream().filter(CompletableFuture::isDone).count(), n -> n == 9);

    assertThat(threads("sluice-changes")).isOne();
    assertThat(changes.stream().filter(CompletableFuture::isDone).map(CompletableFuture::join))
        .allSatisfy(
            refused -> {
              assertThat(refused.statusCode()).isEqualTo(503);
              assertThat(refused.body()).contains("tag:sluice.dev,2026:overloaded", "try again");
            });
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(folder.resolve("audit.jsonl")))
                    .hasSize(9)
                    .allMatch(line -> line.contains("\"what\":\"set penalty\""))
                    .allMatch(line -> line.contains("\"result\":\"refused\"")));
    assertThat(status("/readyz")).isEqualTo(200);
    assertThat(status("/metrics")).isEqualTo(200);
    assertThat(status(CHANGE)).as("nothing is set").isEqualTo(404);
  }

  /** Its client was told that it may try again; a change that comes an hour later helps nobody. */
  @Test
  void changeWhoseTimeIsOver_isNotMade() throws Exception {
    start(Duration.ofSeconds(8)); // even a busy machine begins the first change in this time
    List<CompletableFuture<HttpResponse<String>>> changes = new ArrayList<>();
    changes.add(send("PUT", CHANGE, "{\"for\":\"1h\"}"));
    // The server's own first read has begun, and so has the first change.
    try (Socket reading = silent.accept();
        Socket changing = silent.accept()) {
      changes.add(send("PUT", CHANGE, "{\"for\":\"1h\"}"));
      changes.add(send("DELETE", CHANGE, ""));
      assertThat(changes)
          .allSatisfy(
              one -> {
                assertThat(one.join().statusCode()).isEqualTo(503);
                assertThat(one.join().body())
                    .contains("tag:sluice.dev,2026:not-kept", "can still be made", "incident")
                    .doesNotContain("store");
              });
      silent.close();
    }

    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(folder.resolve("audit.jsonl")))
                    .hasSize(3)
                    .satisfiesOnlyOnce(line -> assertThat(line).contains("\"result\":\"failed\""))
                    .filteredOn(line -> line.contains("\"result\":\"refused\""))
                    .hasSize(2)
                    .allMatch(line -> line.contains(Fault.TOO_LATE)));
  }

  @Test
  void reloadWhoseTimeIsOver_isUnknown_butItsDryRunChangedNothing() throws Exception {
    start(Duration.ofSeconds(2));
    try (LogLines log = new LogLines()) {
      String late = send("POST", "/v1/admin/reload", "").join().body();
      assertThat(late).contains("tag:sluice.dev,2026:not-kept", "can still be made", "incident");
      assertThat(log.text()).contains(": a change did not end in time; it can still be made");
      assertThat(send("POST", "/v1/admin/reload?dryRun=true", "").join().body())
          .contains("tag:sluice.dev,2026:not-ready", "nothing was changed");
    }
  }

  @Test
  void reloadsThatWaitForADatabase_holdUpNoOthers() throws Exception {
    start(LONG);
    List<CompletableFuture<HttpResponse<String>>> reloads =
        IntStream.range(0, SluiceServer.MAX_TASK_THREADS + 1)
            .mapToObj(i -> send("POST", "/v1/admin/reload", ""))
            .toList();
    await().until(() -> threads("sluice-reload") == 1);

    assertThat(status("/readyz")).isEqualTo(200);
    assertThat(status("/metrics")).isEqualTo(200);
    assertThat(reloads).noneMatch(CompletableFuture::isDone);
  }

  @Test
  void probesThatWaitForAStore_takeFewThreads_andAreAllAnswered() throws Exception {
    start(LONG);
    storeHangs = true;
    List<CompletableFuture<HttpResponse<String>>> probes =
        IntStream.range(0, PROBES).mapToObj(i -> send("GET", "/readyz", "")).toList();
    arrived.await();
    await().until(() -> busy.get() >= SluiceServer.MAX_TASK_THREADS);

    assertThat(status("/healthz")).isEqualTo(200);
    assertThat(threads("sluice-tasks")).isEqualTo(SluiceServer.MAX_TASK_THREADS);
    goOn.countDown();
    assertThat(probes).allSatisfy(one -> assertThat(one.join().statusCode()).isEqualTo(200));
    assertThat(mostBusy.get()).isEqualTo(SluiceServer.MAX_TASK_THREADS);
  }
}
