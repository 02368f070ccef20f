// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.springframework.web.reactive.function.server.RequestPredicates.all;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/** What only this filter does: it waits without a thread, and leaves the store's threads alone. */
@Tag("slow")
class RateLimitWebFilterTest {

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final HeldStore store = new HeldStore();
  private final Limiter limiter = Limiter.of(new CurrentLimits(limits()), store);

  private static Limits limits() {
    Catalogue names =
        Catalogue.of(LimitName.builder(1001, "PerAddress").id(IdFormat.ipAddress()).build());
    return Limits.builder(names).limit("PerAddress", Quota.per(3, Duration.ofSeconds(30))).build();
  }

  /** A store that answers when the test wants, on a thread of its own. */
  private static final class HeldStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory();
    private final BlockingQueue<Runnable> held = new LinkedBlockingQueue<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
      held.add(() -> answer.complete(memory.charge(charges)));
      return answer;
    }

    void answer() throws InterruptedException {
      Runnable next = held.poll(60, TimeUnit.SECONDS);
      assertThat(next).as("a call to the store").isNotNull();
      new Thread(next, "store").start();
    }
  }

  private NettySite start(BlockingQueue<String> threads, Rule rule) {
    return NettySite.start(
        new FilterSetup(limiter, List.of(rule), ClientAddress.direct(), HeaderProfile.IETF),
        RouterFunctions.route(
            all(),
            request -> {
              threads.add(Thread.currentThread().getName());
              Decision decision = (Decision) request.attributes().get(RateLimitWebFilter.DECISION);
              return ServerResponse.ok().bodyValue(decision.remaining());
            }));
  }

  private CompletableFuture<HttpResponse<String>> ask(NettySite site) {
    URI page = URI.create("http://127.0.0.1:" + site.port() + "/page");
    return client.sendAsync(HttpRequest.newBuilder(page).build(), BodyHandlers.ofString());
  }

  @Test
  void application_neverRunsOnTheStoresThreads_andSeesTheDecision() throws Exception {
    BlockingQueue<String> threads = new LinkedBlockingQueue<>();
    Rule rule = Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build();
    try (NettySite site = start(threads, rule)) {
      CompletableFuture<HttpResponse<String>> response = ask(site);
      store.answer();

      assertThat(response.get(60, TimeUnit.SECONDS).body()).isEqualTo("2");
      assertThat(threads.take()).isNotEqualTo("store");
    }
  }

  @Test
  void functionThatReturnsAQuota_isRefused_asItMayBlock() {
    Quota plan = Quota.per(1, Duration.ofMinutes(1));
    RateLimitWebFilter.Builder builder =
        RateLimitWebFilter.builder(limiter)
            .rule(
                Rule.on("/a").limit("PerAddress", request -> plan, VaryBy.clientAddress()).build());

    assertThatThrownBy(builder::build)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "rule /a: found a limit whose function returns a quota; use limitAsync, whose function"
                + " returns a stage, since the threads of this filter must not wait");
  }

  @Test
  void waitingForTheStore_holdsNoThread() throws Exception {
    BlockingQueue<String> threads = new LinkedBlockingQueue<>();
    Rule rule = Rule.on("/page").cost(0).limit("PerAddress", VaryBy.clientAddress()).build();
    try (NettySite site = start(threads, rule)) {
      List<CompletableFuture<HttpResponse<String>>> responses =
          Stream.generate(() -> ask(site)).limit(100).toList();
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> store.held.size() == 100); // more than there are threads
      for (int i = 0; i < 100; i++) {
        store.answer();
      }

      for (CompletableFuture<HttpResponse<String>> response : responses) {
        assertThat(response.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      }
    }
  }
}
