package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.HostPort;
import dev.sluice.server.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** A server is told to stop while its store still thinks: the answer must arrive. */
final class ShutdownTest {

  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  @Test
  void requestUnderWay_isAnswered() throws Exception {
    SlowStore store = new SlowStore();
    Limiter limiter = Limiter.of(new CurrentLimits(SampleFixture.limits()), store);
    SluiceServer server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .part(new HttpPart(limiter, store))
            .start();
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(server.address()) + "/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(SPEND))
            .build();
    CompletableFuture<HttpResponse<String>> answer =
        HttpClient.newHttpClient().sendAsync(request, BodyHandlers.ofString());
    store.asked.await();

    CompletableFuture<Void> closed = CompletableFuture.runAsync(server::close);
    store.answer.complete(null);

    assertThat(answer.get().statusCode()).isEqualTo(200);
    closed.get();
  }

  /** Answers when the test says so. */
  private static final class SlowStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CompletableFuture<Void> answer = new CompletableFuture<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      asked.countDown();
      return answer.thenApply(go -> memory.charge(charges));
    }
  }
}
