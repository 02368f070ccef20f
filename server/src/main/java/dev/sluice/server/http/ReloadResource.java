// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Generations;
import dev.sluice.server.http.LimitResource.GenerationJson;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.wire.WireException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * {@code POST /v1/admin/reload}: reads all watched files, and the saved overrides and penalties.
 * Answers 200 if all were applied, and otherwise 409 with every mistake. Even then, each kind of
 * files without a mistake is applied.
 */
final class ReloadResource extends Resource {

  private final Generations generations;
  private final AuditLog audit;
  private final Executor reloads;

  /**
   * Makes the resource.
   *
   * @param reloads runs the reload, which may block
   */
  ReloadResource(Generations generations, AuditLog audit, Executor reloads) {
    super(HttpMethod.POST);
    this.generations = generations;
    this.audit = audit;
    this.reloads = reloads;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Caller caller = AccessPart.caller(context);
    try {
      Queries.require(context, List.of());
    } catch (WireException e) {
      audit.note(caller, "http", Noted.of("reload"), "refused", String.valueOf(e.getMessage()));
      throw e;
    }
    return CompletableFuture.supplyAsync(
        () -> reload(context, caller), context.makeContextAware(reloads));
  }

  private AggregatedHttpResponse reload(ServiceRequestContext context, Caller caller) {
    if (context.isCancelled()) {
      audit.note(caller, "http", Noted.of("reload"), "refused", Fault.TOO_LATE);
      return Answers.fault(Fault.notReady(Fault.TOO_LATE));
    }
    boolean applied = generations.reload();
    audit.note(
        caller,
        "http",
        Noted.of("reload"),
        applied ? "done" : "refused",
        String.join("; ", generations.mistakes()));
    return Answers.json(
        applied ? HttpStatus.OK : HttpStatus.CONFLICT,
        json -> {
          json.writeStartObject();
          json.writeBooleanField("applied", applied);
          GenerationJson.write(generations, caller, json);
          json.writeEndObject();
        });
  }
}
