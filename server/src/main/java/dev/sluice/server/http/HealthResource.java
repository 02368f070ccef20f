// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.base.NotReadyException;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /healthz}, whether the process lives, and {@code GET /readyz}, whether it can decide.
 * Limits are loaded before a server exists, so readiness is that of what they stand on.
 */
final class HealthResource extends Resource {

  private final String status;
  private final @Nullable Runnable check;

  private HealthResource(String status, @Nullable Runnable check) {
    super(HttpMethod.GET);
    this.status = status;
    this.check = check;
  }

  static HealthResource alive() {
    return new HealthResource("alive", null);
  }

  /** Ready unless the check throws; it may block. */
  static HealthResource ready(Runnable check) {
    return new HealthResource("ready", check);
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    if (check == null) {
      return CompletableFuture.completedFuture(yes());
    }
    // A ping may wait for a round trip, which an event loop must not.
    return CompletableFuture.supplyAsync(
        () -> {
          requireReady(check);
          return yes();
        },
        context.blockingTaskExecutor());
  }

  /** A check charges nothing: the store's words on that would only puzzle. */
  private static void requireReady(Runnable check) {
    try {
      check.run();
    } catch (StoreException e) {
      throw new NotReadyException("the store does not answer", e);
    }
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
