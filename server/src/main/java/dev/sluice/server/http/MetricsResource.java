package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** {@code GET /metrics}, in the text format of Prometheus. */
final class MetricsResource extends Resource {

  private static final MediaType TEXT = MediaType.parse("text/plain; version=0.0.4; charset=utf-8");

  private final PrometheusMeterRegistry registry;

  MetricsResource(PrometheusMeterRegistry registry) {
    super(HttpMethod.GET);
    this.registry = registry;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    return CompletableFuture.supplyAsync(
        () -> Answers.text(TEXT, registry.scrape()), context.blockingTaskExecutor());
  }
}
