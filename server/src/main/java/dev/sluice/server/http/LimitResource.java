// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code GET /v1/limits/{name}}, what a limit is, and {@code GET /v1/limits/{name}/buckets/{id}},
 * the state of a bucket, which spends nothing.
 *
 * <p>The path is taken apart here, as the client sent it: an id may hold anything that is
 * percent-encoded, slashes and semicolons too. (Not so two dots between slashes: the HTTP library
 * refuses them in every spelling.)
 */
final class LimitResource extends Resource {

  static final String UNDER = "/v1/limits/";

  private static final Pattern PATH =
      Pattern.compile(UNDER + "(?<limit>[^/?]+)(?:/buckets/(?<id>[^?]*))?\\??");

  private final CurrentLimits limits;
  private final AsyncLimiter limiter;

  LimitResource(Limiter limiter) {
    super(HttpMethod.GET);
    this.limits = limiter.limits();
    this.limiter = limiter.async();
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    AnswerForm form = AnswerForm.fixed(context);
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    Matcher path = PATH.matcher(rawPath);
    if (!path.matches()) {
      return CompletableFuture.completedFuture(Answers.fault(Fault.notFound(rawPath)));
    }
    String limit = decoded(path.group("limit"), "limit");
    String id = path.group("id");
    AccessPart.caller(context).lookUp(List.of(limit), () -> limits.get().catalogue().get(limit));
    return id == null
        ? CompletableFuture.completedFuture(described(limit))
        : limiter
            .check(limit, decoded(id, "id"), 0)
            .thenApply(decision -> Answers.decision(decision, false, form));
  }

  private AggregatedHttpResponse described(String limit) {
    Limits now = limits.get();
    LimitName name = now.configured(limit);
    return Answers.json(HttpStatus.OK, json -> LimitsResource.write(name, now, json));
  }

  /** In a path a "+" is itself; the decoder is one of forms, where it is a space. */
  private static String decoded(String encoded, String field) {
    return Queries.decoded(encoded.replace("+", "%2B"), field, field);
  }
}
