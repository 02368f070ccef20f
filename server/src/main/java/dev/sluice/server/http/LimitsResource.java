// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Generations;
import dev.sluice.wire.DecisionWriter;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * {@code GET /v1/limits}: the limits that are configured, with their defaults, and the generation
 * of files that they come from.
 */
final class LimitsResource extends Resource {

  private final CurrentLimits current;
  private final Generations generations;

  LimitsResource(CurrentLimits current, Generations generations) {
    super(HttpMethod.GET);
    this.current = current;
    this.generations = generations;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    Limits limits = current.get();
    Caller caller = AccessPart.caller(context);
    return CompletableFuture.completedFuture(
        Answers.tagged(
            request.headers().get(HttpHeaderNames.IF_NONE_MATCH),
            json -> {
              json.writeStartObject();
              json.writeArrayFieldStart("limits");
              for (LimitName name : limits.configured()) {
                if (caller.mayUse(name.name())) {
                  write(name, limits, json);
                }
              }
              json.writeEndArray();
              GenerationJson.write(generations, caller, json);
              json.writeEndObject();
            }));
  }

  static void write(LimitName name, Limits limits, JsonGenerator json) throws IOException {
    Quota quota = limits.defaultFor(name);
    json.writeStartObject();
    json.writeStringField("name", name.name());
    json.writeNumberField("number", name.number());
    json.writeStringField("id", name.id().name());
    json.writeBooleanField("limited", quota != null);
    if (quota == null) {
      DecisionWriter.writeReason(limits.coverage(name), json);
    } else {
      DecisionWriter.writeQuota(quota, json);
    }
    json.writeNumberField("overrides", limits.overridesOf(name).size());
    if (name.helpLink() != null) {
      json.writeStringField("helpLink", name.helpLink());
    }
    json.writeEndObject();
  }
}
