// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import dev.sluice.server.access.Caller;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class MetricsResourceTest {

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final MetricsResource metrics = new MetricsResource(registry);

  private CompletionStage<AggregatedHttpResponse> ask() {
    return metrics
        .nextScrape(task -> new Thread(task).start())
        .thenApply(scrape -> scrape.answer(Caller.anybody("192.0.2.1")));
  }

  private static String text(CompletionStage<AggregatedHttpResponse> answer) throws Exception {
    return answer.toCompletableFuture().get().contentUtf8();
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

    CompletionStage<AggregatedHttpResponse> first = ask();
    begun.await();
    List<CompletionStage<AggregatedHttpResponse>> later = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      later.add(ask());
    }
    goOn.countDown();

    assertThat(text(first)).contains("slow 1.0");
    for (CompletionStage<AggregatedHttpResponse> one : later) {
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
