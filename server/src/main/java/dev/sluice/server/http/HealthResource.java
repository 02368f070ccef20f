package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.store.BucketStore;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /healthz}, whether the process lives, and {@code GET /readyz}, whether it can decide.
 * Limits are loaded before a server exists, so readiness is the store's.
 */
final class HealthResource extends Resource {

  private final String status;
  private final @Nullable BucketStore store;

  private HealthResource(String status, @Nullable BucketStore store) {
    super(HttpMethod.GET);
    this.status = status;
    this.store = store;
  }

  static HealthResource alive() {
    return new HealthResource("alive", null);
  }

  static HealthResource ready(BucketStore store) {
    return new HealthResource("ready", store);
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    if (store == null) {
      return CompletableFuture.completedFuture(yes());
    }
    // A ping may wait for a round trip, which an event loop must not.
    return CompletableFuture.supplyAsync(
        () -> {
          store.ping();
          return yes();
        },
        context.blockingTaskExecutor());
  }

  private AggregatedHttpResponse yes() {
    return Answers.json(
        HttpStatus.OK,
        json -> {
          json.writeStartObject();
          json.writeStringField("status", status);
          json.writeEndObject();
        });
  }
}
