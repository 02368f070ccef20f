// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.server.access.Caller;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MetricsResourceTest {

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final MetricsResource metrics = new MetricsResource(registry);

  private CompletionStage<byte[]> ask() {
    return metrics
        .nextScrape(task -> new Thread(task).start())
        .thenApply(scrape -> scrape.answer(Caller.anybody("192.0.2.1")));
  }

  private static String text(CompletionStage<byte[]> answer) throws Exception {
    byte[] compressed = answer.toCompletableFuture().get();
    try (InputStream text = new GZIPInputStream(new ByteArrayInputStream(compressed))) {
      return new String(text.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          gzip                                    | true
          gzip;q=0.5, deflate                     | true
          deflate, GZIP ; q=1                     | true
          identity                                | false
          br,gzip                                 | true
          br, gzip;q=0.01                         | true
          gzip;q=0                                | false
          gzip ; q=0 , br                         | false
          gzip; q=0.000, *                        | false
          x-gzip-of-mine                          | false
          """)
  void acceptEncoding_isRead(String header, boolean takesGzip) {
    RequestHeaders headers =
        RequestHeaders.of(HttpMethod.GET, "/metrics", HttpHeaderNames.ACCEPT_ENCODING, header);
    assertThat(MetricsResource.takesGzip(headers)).isEqualTo(takesGzip);
    assertThat(MetricsResource.takesGzip(RequestHeaders.of(HttpMethod.GET, "/metrics"))).isFalse();
  }

  /** Pipelined requests for metrics kept 200 threads busy, and every other request waiting. */
  @Test
  void manyWhoAskAtOnce_shareAScrape() throws Exception {
    AtomicInteger scrapes = new AtomicInteger();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Gauge.builder(
            "slow",
            () -> {
              begun.countDown();
              awaitUnchecked(goOn);
              return scrapes.incrementAndGet();
            })
        .register(registry);

    CompletionStage<byte[]> first = ask();
    begun.await();
    List<CompletionStage<byte[]>> later = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      later.add(ask());
    }
    goOn.countDown();

    assertThat(text(first)).contains("slow 1.0");
    for (CompletionStage<byte[]> one : later) {
      assertThat(text(one)).contains("slow 2.0");
    }
    assertThat(text(ask())).contains("slow 3.0");
  }

  /** A text for each of the thousand who wait filled a heap of 72 MB. */
  @Test
  void thoseWhoShareAScrape_shareItsBytes() throws Exception {
    registry.counter("counted").increment();
    MetricsResource.Scrape scrape = metrics.nextScrape(Runnable::run).toCompletableFuture().get();

    assertThat(scrape.answer(Caller.anybody("192.0.2.1")))
        .isSameAs(scrape.answer(Caller.anybody("192.0.2.2")));
  }

  /** Each of many slow clients could hold a scrape of its own. */
  @Test
  void newScrapeWhileTooMuchIsUnread_isTheNewestUnreadOne() throws Exception {
    registry.counter("counted").increment();
    MetricsResource strict = new MetricsResource(registry, 1);
    HttpResponseWriter slow = HttpResponse.streaming();
    MetricsResource.Scrape held = strict.nextScrape(Runnable::run).toCompletableFuture().get();
    held.readBy(slow);

    assertThat(strict.nextScrape(Runnable::run).toCompletableFuture().get()).isSameAs(held);
    slow.abort();
    slow.whenComplete().exceptionally(aborted -> null).join();
    assertThat(strict.nextScrape(Runnable::run).toCompletableFuture().get()).isNotSameAs(held);
  }

  @Test
  void scrapeForWhichNoThreadIsToBeHad_fails_andTheNextOneIsAnswered() throws Exception {
    CompletionStage<MetricsResource.Scrape> refused =
        metrics.nextScrape(
            task -> {
              throw new RejectedExecutionException("as the test wants");
            });
    assertThat(refused.toCompletableFuture()).isCompletedExceptionally();
    assertThat(text(ask())).isEmpty();
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
