// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.RuleForm;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.MethodService.Resource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** {@code GET /v1/rules}: the rule book in force. */
final class RulesResource extends Resource {

  static final String PATH = "/v1/rules";

  private final CurrentLimits limits;

  RulesResource(CurrentLimits limits) {
    super(HttpMethod.GET);
    this.limits = limits;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    if (!AccessPart.caller(context).mayUseAll()) {
      throw RefusedException.forbidden("the rules name limits that this token may not use", null);
    }
    RuleBook book = RuleBook.of(limits.get());
    return CompletableFuture.completedFuture(
        Answers.json(
            HttpStatus.OK,
            json -> {
              json.writeStartObject();
              json.writeStringField("file", book.file());
              json.writeArrayFieldStart("rules");
              for (RuleForm rule : book.forms()) {
                json.writeStartObject();
                json.writeNumberField("line", rule.line());
                json.writeStringField("for", rule.forRequests() ? "request" : "descriptor");
                json.writeStringField("matches", rule.matches());
                json.writeEndObject();
              }
              json.writeEndArray();
              json.writeEndObject();
            }));
  }
}
