// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.Explanation;
import dev.sluice.rules.RuleBook.RuleForm;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import dev.sluice.wire.WireException;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v1/rules}: the rule book in force. With {@code method} and {@code target}, also which
 * rule such a request meets, for each way in which an application may read it. Charges nothing.
 */
final class RulesResource extends Resource {

  static final String PATH = "/v1/rules";

  private static final String METHOD = "method";
  private static final String TARGET = "target";
  private static final String CLIENT = "client";
  private static final String HEADER = "header";

  private final CurrentLimits limits;

  RulesResource(CurrentLimits limits) {
    super(HttpMethod.GET);
    this.limits = limits;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of(METHOD, TARGET, CLIENT, HEADER));
    if (!AccessPart.caller(context).mayUseAll()) {
      throw RefusedException.forbidden("the rules name limits that this token may not use", null);
    }
    Limits now = limits.get();
    RuleBook book = RuleBook.of(now);
    WebRequest tried = request(context.queryParams());
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
              if (tried != null) {
                writeReadings(tried, book, now, json);
              }
              json.writeEndObject();
            }));
  }

  private static @Nullable WebRequest request(QueryParams query) {
    String method = query.get(METHOD);
    String target = query.get(TARGET);
    String client = query.get(CLIENT);
    String header = query.get(HEADER);
    if (method == null && target == null && client == null && header == null) {
      return null;
    }
    if (method == null || target == null) {
      throw new WireException(
          method == null ? METHOD : TARGET, "a request needs both method and target");
    }
    if (client != null && IpAddress.parse(client) == null) {
      throw new WireException(
          CLIENT, "found %s, expected an IP address".formatted(SafeText.quote(client)));
    }
    PlainRequest.Builder request = WebRequest.builder(method, target).peer(client);
    if (header != null) {
      int colon = header.indexOf(':');
      if (colon < 1) {
        throw new WireException(
            HEADER, "found %s, expected Name: value".formatted(SafeText.quote(header)));
      }
      request.header(header.substring(0, colon).strip(), header.substring(colon + 1).strip());
    }
    return request.build();
  }

  private static void writeReadings(WebRequest tried, RuleBook book, Limits now, JsonGenerator json)
      throws IOException {
    json.writeArrayFieldStart("readings");
    try {
      for (RequestFacts reading : book.readings(tried, ClientAddress.direct())) {
        json.writeStartObject();
        json.writeStringField(METHOD, reading.method());
        json.writeStringField("path", reading.pathText());
        write(book.explain(reading), now, json);
        json.writeEndObject();
      }
    } catch (UnusableRequestException e) {
      json.writeStartObject();
      json.writeStringField(METHOD, tried.method());
      json.writeStringField("path", tried.path());
      json.writeArrayFieldStart("passedOver");
      json.writeEndArray();
      json.writeStringField("problem", e.detail());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void write(Explanation why, Limits now, JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("passedOver");
    for (Explanation.PassedOver rule : why.passedOver()) {
      json.writeStartObject();
      json.writeNumberField("line", rule.line());
      json.writeStringField("reason", rule.reason());
      json.writeEndObject();
    }
    json.writeEndArray();
    Explanation.Unusable unusable = why.unusable();
    RuleMatch match = why.match();
    if (unusable != null) {
      json.writeNumberField("line", unusable.line());
      json.writeStringField("problem", unusable.detail());
    } else if (match != null) {
      write(match, now, json);
    }
  }

  private static void write(RuleMatch match, Limits now, JsonGenerator json) throws IOException {
    json.writeNumberField("line", match.line());
    json.writeStringField("verdict", match.verdict().name().toLowerCase(Locale.ROOT));
    String problem = null;
    json.writeArrayFieldStart("charges");
    for (RuleCharge charge : match.charges()) {
      try {
        Transaction meant = charge.transaction(now, 1);
        json.writeStartObject();
        json.writeStringField("limit", charge.limit());
        json.writeStringField("id", meant.id());
        json.writeNumberField("cost", meant.cost());
        json.writeBooleanField("shadow", charge.shadow());
        json.writeEndObject();
      } catch (InvalidRequestException e) {
        problem = charge.shadow() ? problem : String.valueOf(e.getMessage());
      }
    }
    json.writeEndArray();
    if (problem != null) {
      json.writeStringField("problem", problem);
    }
  }
}
