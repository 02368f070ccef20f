// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A rule that estimates 10 of 30 tokens, and servlets that set a true cost. */
@Tag("slow")
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class EstimateTest {

  private final Limiter limiter = Limiters.on(new ManualTime());
  private final CompletableFuture<LongConsumer> ended = new CompletableFuture<>();
  private final WebServer web;

  EstimateTest(Container container) {
    this.web = container.server().servlet("/chat", new Chat());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void start() throws Exception {
    Estimate tokens = Estimate.mean(1, 10);
    Rule rule =
        Rule.on("/chat")
            .limit("FailedPerAddress", VaryBy.clientAddress())
            .estimate(request -> tokens.of("model"))
            .build();
    web.filter(RateLimitFilter.builder(limiter), rule).start();
  }

  @ParameterizedTest
  @CsvSource({
    "how=sync&cost=4, 26",
    "how=sync&cost=25, 5",
    "how=sync, 20",
    "how=throw&cost=4, 26",
    "how=async&cost=4, 26",
    "how=async&cost=25, 5",
    "how=async, 20",
  })
  void trueCost_isChargedAtTheEndOfTheResponse(String query, long left) throws Exception {
    start();

    var unused = web.get("/chat?" + query);

    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> remaining(limiter, "FailedPerAddress", "127.0.0.1") == left);
  }

  @Test
  void costOfAClientThatIsGone_isChargedAfterTheEndOfTheRequest() throws Exception {
    start();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), web.port())) {
      String request = "GET " + WebServer.CONTEXT + "/chat?how=endless HTTP/1.1\r\nHost: x\r\n\r\n";
      client.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      assertThat(client.getInputStream().read()).isEqualTo('H');
    }
    LongConsumer cost = ended.get(1, TimeUnit.MINUTES);
    assertThat(remaining(limiter, "FailedPerAddress", "127.0.0.1")).isEqualTo(20);

    cost.accept(25);

    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> remaining(limiter, "FailedPerAddress", "127.0.0.1") == 5);
  }

  @ParameterizedTest
  @CsvSource({"sync, 4, r=26", "sync, 50, r=0", "async, 4, r=26", "async, 50, r=0"})
  void trailers_haveWhatIsLeftAfterTheSettlement(String how, long cost, String left)
      throws Exception {
    start();
    String path = "/chat?how=%s&cost=%s".formatted(how, cost);

    String response = RawHttp.getChunked(web.port(), WebServer.CONTEXT + path, "TE: trailers");

    String head = response.substring(0, response.indexOf("\r\n\r\n"));
    assertThat(head).contains("RateLimit: \"FailedPerAddress\";r=20");
    assertThat(head).contains("Trailer: RateLimit-Policy").contains("Trailer: RateLimit");
    assertThat(response.substring(response.indexOf("\r\n0\r\n")).toLowerCase(Locale.ROOT))
        .contains("\r\nratelimit: \"failedperaddress\";" + left + "\r\n")
        .contains("\r\nratelimit-policy: \"failedperaddress\";q=30;w=3600\r\n")
        .doesNotContain("retry-after");
  }

  @Test
  void trailersOfTwoFilters_areAnnouncedOnce() throws Exception {
    web.filter(
        (request, response, chain) -> {
          ((HttpServletResponse) response).setTrailerFields(() -> null);
          chain.doFilter(request, response);
        });
    web.filter(
        RateLimitFilter.builder(limiter),
        Rule.on("/chat")
            .limit("PerAddress", VaryBy.clientAddress())
            .estimate(request -> Estimate.mean(1, 3).of("model"))
            .build());
    start();

    String response =
        RawHttp.getChunked(web.port(), WebServer.CONTEXT + "/chat?how=sync&cost=2", "TE: trailers");

    assertThat(response).containsOnlyOnce("Trailer: RateLimit-Policy");
    assertThat(response.substring(response.indexOf("\r\n0\r\n")).toLowerCase(Locale.ROOT))
        .contains("\r\nratelimit: \"failedperaddress\";r=28\r\n");
  }

  @Test
  void trailersOverHttp2_haveWhatIsLeftAfterTheSettlement() throws Exception {
    start();

    assertThat(Http2Trailers.get(web.port(), WebServer.CONTEXT + "/chat?how=async&cost=4"))
        .containsEntry("ratelimit", "\"FailedPerAddress\";r=26");
  }

  @Test
  void clientThatDoesNotAskForTrailers_getsNone() throws Exception {
    start();

    assertThat(RawHttp.getChunked(web.port(), WebServer.CONTEXT + "/chat?how=sync&cost=4"))
        .doesNotContain("Trailer:")
        .endsWith("0\r\n\r\n");
  }

  /** Streams an answer, and sets its cost at the end. */
  private final class Chat extends HttpServlet {
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      switch (request.getParameter("how")) {
        case "async" -> {
          AsyncContext async = request.startAsync();
          new Thread(() -> stream(async, request, response)).start();
        }
        case "endless" -> {
          LongConsumer cost = RateLimitFilter.cost(request);
          AsyncContext async = request.startAsync();
          async.addListener(new OnComplete(() -> ended.complete(cost)));
          web.whenThreadHasLeft(new Thread(() -> streamUntilBroken(async, response))::start);
        }
        case "throw" -> {
          setCost(request);
          throw new IllegalStateException("crashed, as the test wants");
        }
        default -> {
          response.getWriter().println("token");
          response.flushBuffer();
          setCost(request);
        }
      }
    }

    private static void stream(
        AsyncContext async, HttpServletRequest request, HttpServletResponse response) {
      try {
        response.getWriter().println("token");
        response.flushBuffer();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      setCost(request);
      async.complete();
    }

    private static void streamUntilBroken(AsyncContext async, HttpServletResponse response) {
      try {
        while (true) {
          response.getOutputStream().print("token");
          response.flushBuffer();
        }
      } catch (IOException | RuntimeException e) {
        complete(async);
      }
    }

    private static void complete(AsyncContext async) {
      try {
        async.complete();
      } catch (IllegalStateException e) {
        // Tomcat has ended the request.
      }
    }

    private static void setCost(HttpServletRequest request) {
      String cost = request.getParameter("cost");
      if (cost != null) {
        RateLimitFilter.cost(request, Long.parseLong(cost));
      }
    }
  }

  /** Runs something when the container ends a request. */
  private record OnComplete(Runnable then) implements AsyncListener {
    @Override
    public void onComplete(AsyncEvent event) {
      then.run();
    }

    @Override
    public void onTimeout(AsyncEvent event) {}

    @Override
    public void onError(AsyncEvent event) {}

    @Override
    public void onStartAsync(AsyncEvent event) {}
  }
}
