// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

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

  private CompletionStage<String> ask() {
    return metrics.nextScrape(task -> new Thread(task).start());
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

    CompletionStage<String> first = ask();
    begun.await();
    List<CompletionStage<String>> later = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      later.add(ask());
    }
    goOn.countDown();

    assertThat(first.toCompletableFuture().get()).contains("slow 1.0");
    for (CompletionStage<String> one : later) {
      assertThat(one.toCompletableFuture().get()).contains("slow 2.0");
    }
    assertThat(ask().toCompletableFuture().get()).contains("slow 3.0");
  }

  @Test
  void scrapeForWhichNoThreadIsToBeHad_fails_andTheNextOneIsAnswered() throws Exception {
    CompletionStage<String> refused =
        metrics.nextScrape(
            task -> {
              throw new RejectedExecutionException("as the test wants");
            });
    assertThat(refused.toCompletableFuture()).isCompletedExceptionally();
    assertThat(ask().toCompletableFuture().get()).isEmpty();
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
