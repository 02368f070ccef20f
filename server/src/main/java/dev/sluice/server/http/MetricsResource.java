// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** {@code GET /metrics}, in the text format of Prometheus. */
final class MetricsResource extends Resource {

  private static final MediaType TEXT = MediaType.parse("text/plain; version=0.0.4; charset=utf-8");

  private final PrometheusMeterRegistry registry;

  private final AtomicReference<@Nullable CompletableFuture<AggregatedHttpResponse>> next =
      new AtomicReference<>();

  MetricsResource(PrometheusMeterRegistry registry) {
    super(HttpMethod.GET);
    this.registry = registry;
  }

  /**
   * Answers with the next scrape that begins: requests that arrive during a scrape share the one
   * after it. However many ask, at most two threads are busy with it.
   */
  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    CompletableFuture<AggregatedHttpResponse> mine = new CompletableFuture<>();
    CompletableFuture<AggregatedHttpResponse> waiting =
        next.accumulateAndGet(mine, (known, made) -> known == null ? made : known);
    if (waiting == mine) {
      context.blockingTaskExecutor().execute(() -> scrape(mine));
    }
    return waiting.minimalCompletionStage();
  }

  private synchronized void scrape(CompletableFuture<AggregatedHttpResponse> mine) {
    next.set(null); // from here on, a change may come too late for this scrape
    try {
      mine.complete(Answers.text(TEXT, registry.scrape()));
    } catch (Throwable e) {
      mine.completeExceptionally(e);
    }
  }
}
