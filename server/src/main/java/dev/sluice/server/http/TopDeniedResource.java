// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.stats.TopDenied;
import dev.sluice.server.stats.TopDenied.Denied;
import dev.sluice.wire.DecisionWriter;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v1/admin/top-denied}: the ids that each limit denied most in the last minutes, if the
 * server keeps them.
 */
final class TopDeniedResource extends Resource {

  private final @Nullable TopDenied topDenied;

  TopDeniedResource(@Nullable TopDenied topDenied) {
    super(HttpMethod.GET);
    this.topDenied = topDenied;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    Caller caller = AccessPart.caller(context);
    Map<String, List<Denied>> top = topDenied == null ? Map.of() : topDenied.top();
    return CompletableFuture.completedFuture(
        Answers.json(
            HttpStatus.OK,
            json -> {
              json.writeStartObject();
              json.writeBooleanField("kept", topDenied != null);
              DecisionWriter.writeSeconds("windowSeconds", TopDenied.WINDOW.toNanos(), json);
              json.writeArrayFieldStart("limits");
              for (Map.Entry<String, List<Denied>> limit : top.entrySet()) {
                if (caller.mayUse(limit.getKey())) {
                  write(limit.getKey(), limit.getValue(), json);
                }
              }
              json.writeEndArray();
              json.writeEndObject();
            }));
  }

  private static void write(String limit, List<Denied> ids, JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeStringField("limit", limit);
    json.writeArrayFieldStart("ids");
    for (Denied one : ids) {
      json.writeStartObject();
      json.writeStringField("id", one.id());
      json.writeNumberField("atLeast", one.atLeast());
      json.writeNumberField("atMost", one.atMost());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}
