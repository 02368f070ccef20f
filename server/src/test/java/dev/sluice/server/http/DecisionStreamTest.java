// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpRequestWriter;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** {@code POST /v1/decisions} by a client that reads answers while it sends. */
@Tag("slow")
final class DecisionStreamTest {

  private static final String SPEND =
      "{\"op\":\"spend\",\"limit\":\"ApiCallsPerKey\",\"id\":\"a\"}";
  private static final Duration SHORT = Duration.ofSeconds(3);
  private static final long PATIENCE_SECONDS = 60;

  private final BucketStore store = BucketStore.inMemory(new ManualTime());
  private final TestServer server =
      new TestServer(
          SampleFixture.limits(), store, SluiceServer.IDLE_TIMEOUT, SluiceServer.REQUEST_TIMEOUT);
  private final TestServer hasty =
      new TestServer(SampleFixture.limits(), store, SluiceServer.IDLE_TIMEOUT, SHORT);

  @AfterEach
  void stop() {
    server.close();
    hasty.close();
    store.close();
  }

  /** A request under way, and what has come back of its response. */
  private static final class Exchange implements Subscriber<HttpObject> {

    private static final String END = "the end";

    private final HttpRequestWriter request =
        HttpRequest.streaming(
            RequestHeaders.builder(HttpMethod.POST, "/v1/decisions")
                .add("Content-Type", "application/x-ndjson")
                .build());
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
    private final StringBuilder line = new StringBuilder();
    private volatile int status;

    Exchange(TestServer server, String protocol) {
      HttpResponse response =
          WebClient.builder(protocol + "://" + HostPort.format(server.address()))
              .responseTimeout(Duration.ofSeconds(PATIENCE_SECONDS))
              .build()
              .execute(request);
      response.subscribe(this);
    }

    void send(String text) {
      request.write(HttpData.ofUtf8(text));
    }

    void close() {
      request.close();
    }

    /** The next line of the answer. */
    String next() throws InterruptedException {
      return String.valueOf(answers.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
    }

    JsonNode json() throws InterruptedException, IOException {
      return TestServer.JSON.readTree(next());
    }

    @Override
    public void onSubscribe(Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(HttpObject part) {
      if (part instanceof ResponseHeaders headers) {
        status = headers.status().code();
      } else if (part instanceof HttpData data) {
        line.append(data.toString(StandardCharsets.UTF_8));
        for (int end = line.indexOf("\n"); end >= 0; end = line.indexOf("\n")) {
          answers.add(line.substring(0, end));
          line.delete(0, end + 1);
        }
      }
    }

    @Override
    public void onError(Throwable failure) {
      answers.add("broken off: " + failure);
    }

    @Override
    public void onComplete() {
      if (line.length() > 0) {
        answers.add(line.toString());
      }
      answers.add(END);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"h1c", "h2c"})
  void line_isAnsweredBeforeTheNextIsSent(String protocol) throws Exception {
    Exchange exchange = new Exchange(server, protocol);
    exchange.send(SPEND + "\n" + SPEND.substring(0, 20));
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(99);
    exchange.send(SPEND.substring(20) + "\r\n\nnonsense\n");
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(98);
    JsonNode mistake = exchange.json();
    assertThat(mistake.get("status").intValue()).isEqualTo(400);
    assertThat(mistake.get("line").intValue()).isEqualTo(4);
    exchange.send(SPEND); // the last one needs no end of its line
    exchange.close();
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(97);
    assertThat(exchange.next()).isEqualTo(Exchange.END);
    assertThat(exchange.status).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"h1c", "h2c"})
  void bodyThatDoesNotEnd_isAnsweredAsFarAsItCame_andThenSaysSo(String protocol) throws Exception {
    Exchange exchange = new Exchange(hasty, protocol);
    exchange.send(SPEND + "\n" + SPEND);
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(99);
    JsonNode late = exchange.json();
    assertThat(late.get("status").intValue()).isEqualTo(408);
    assertThat(late.get("detail").textValue()).isEqualTo("the request took too long to arrive");
    assertThat(late.get("line").intValue()).isEqualTo(2);
    assertThat(exchange.next()).isEqualTo(Exchange.END);
    exchange.close();
    assertThat(remaining()).isEqualTo(99);
  }

  @ParameterizedTest
  @ValueSource(strings = {"h1c", "h2c"})
  void bodyOfWhichNoLineArrives_isRefusedByItsStatus(String protocol) throws Exception {
    Exchange exchange = new Exchange(hasty, protocol);
    exchange.send(SPEND);
    JsonNode late = exchange.json();
    assertThat(exchange.status).isEqualTo(408);
    assertThat(late.get("detail").textValue()).isEqualTo("the request took too long to arrive");
    assertThat(exchange.next()).isEqualTo(Exchange.END);
    exchange.close();
    assertThat(remaining()).isEqualTo(100);
  }

  @ParameterizedTest
  @ValueSource(strings = {"h1c", "h2c"})
  void bodyThatGrowsTooLarge_isAnsweredAsFarAsItFits_andThenSaysSo(String protocol)
      throws Exception {
    Exchange exchange = new Exchange(server, protocol);
    exchange.send(SPEND + "\n" + SPEND + "\n");
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(99);
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(98);
    for (int i = 0; i <= SluiceServer.MAX_BODY / 1024; i++) {
      exchange.send(" ".repeat(1024));
    }
    JsonNode large = exchange.json();
    assertThat(large.get("status").intValue()).isEqualTo(413);
    assertThat(large.get("line").intValue()).isEqualTo(3);
    assertThat(exchange.next()).isEqualTo(Exchange.END);
    exchange.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"h1c", "h2c"})
  void clientThatGoesAway_leavesItsHalfLineUndecided(String protocol) throws Exception {
    Exchange exchange = new Exchange(server, protocol);
    exchange.send(SPEND + "\n" + SPEND);
    assertThat(exchange.json().get("remaining").longValue()).isEqualTo(99);
    exchange.request.abort();
    assertThat(exchange.next()).startsWith("broken off: ");
    assertThat(remaining()).isEqualTo(99);
  }

  private long remaining() {
    return TestServer.json(
            server.post("/v1/check", "{\"limit\":\"ApiCallsPerKey\",\"id\":\"a\",\"cost\":0}"))
        .get("remaining")
        .longValue();
  }
}
