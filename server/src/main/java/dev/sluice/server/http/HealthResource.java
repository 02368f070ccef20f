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
 * {@code GET /healthz} checks that the process is alive; {@code GET /readyz} checks that the server
 * can decide. The server loads its limits before it starts, so readiness depends only on the
 * stores.
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

  /** Returns a resource that is ready unless the check throws; the check may block. */
  static HealthResource ready(Runnable check) {
    return new HealthResource("ready", check);
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    if (check == null) {
      return CompletableFuture.completedFuture(yes());
    }
    // A ping must not block an event loop.
    return CompletableFuture.supplyAsync(
        () -> {
          requireReady(check);
          return yes();
        },
        context.blockingTaskExecutor());
  }

  /** Runs the check. Replaces the store's error message, which describes charges. */
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
