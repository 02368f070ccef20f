// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.limit.LimitName;
import dev.sluice.server.RefusedException;
import dev.sluice.server.Requests;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.RuntimeLimits;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One thing that is set for an id of a limit, at {@code /v1/admin/…/{limit}/{id}}: GET, PUT and
 * DELETE. What blocks runs on the threads that may. Thread-safe.
 */
abstract class AdminResource implements HttpService {

  private static final String ALLOWED = "GET, HEAD, PUT, DELETE, OPTIONS";

  final RuntimeLimits limits;
  private final AuditLog audit;
  private final Pattern path;
  private final String thing;

  /**
   * Makes a resource.
   *
   * @param under the path before the limit
   * @param thing the word for what is set: override or penalty
   */
  AdminResource(RuntimeLimits limits, AuditLog audit, String under, String thing) {
    this.limits = limits;
    this.audit = audit;
    this.path = Pattern.compile(under + "(?<limit>[^/?]+)/(?<id>[^?]+)\\??");
    this.thing = thing;
  }

  /** Makes an id canonical. */
  abstract String canonical(LimitName name, String id);

  /** Writes what is set, null if nothing is. */
  abstract Answers.@Nullable Body get(LimitName name, String id);

  /** Sets it. */
  abstract Done put(LimitName name, String id, AdminBody body);

  /** Removes it; false if nothing was set. */
  abstract boolean delete(LimitName name, String id);

  /** Finds what removes one that is kept for a limit that is gone; null if none is kept. */
  abstract @Nullable BooleanSupplier leftOut(String limit, String id);

  /**
   * The settings that were made.
   *
   * @param body what is answered
   * @param detail what is noted
   */
  record Done(Answers.Body body, String detail) {}

  /** Never, as for all resources: the library keeps a path as it was first spelled. */
  @Override
  public final boolean shouldCachePath(String anyPath, @Nullable String query, Route route) {
    return false;
  }

  @Override
  public final HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    HttpMethod method = request.method();
    if (method == HttpMethod.OPTIONS) {
      return Answers.methods(ALLOWED).toHttpResponse();
    }
    boolean reads = method == HttpMethod.GET || method == HttpMethod.HEAD;
    if (!reads && method != HttpMethod.PUT && method != HttpMethod.DELETE) {
      return Answers.wrongMethod(Fault.wrongMethod(method.name(), ALLOWED), ALLOWED)
          .toHttpResponse();
    }
    Fault unreadable = method == HttpMethod.PUT ? Bodies.unreadable(request, MediaType.JSON) : null;
    byte[] body = Requests.body(context);
    CompletableFuture<AggregatedHttpResponse> answer =
        CompletableFuture.supplyAsync(
            () -> unreadable == null ? answer(context, method, body) : Answers.fault(unreadable),
            context.blockingTaskExecutor());
    return HttpResponse.of(
        answer.exceptionally(Failures::answer).thenApply(AggregatedHttpResponse::toHttpResponse));
  }

  private AggregatedHttpResponse answer(
      ServiceRequestContext context, HttpMethod method, byte[] json) {
    Queries.require(context, List.of());
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    Matcher matcher = path.matcher(rawPath);
    if (!matcher.matches()) {
      return Answers.fault(Fault.notFound(rawPath));
    }
    String limit = decoded(matcher.group("limit"), "limit");
    String asGiven = decoded(matcher.group("id"), "id");
    Caller caller = AccessPart.caller(context);
    BooleanSupplier leftOut = method == HttpMethod.DELETE ? leftOut(limit, asGiven) : null;
    if (leftOut != null) {
      caller.requireLimit(limit);
      return noted(
          caller, "remove " + thing, limit, asGiven, () -> removed(leftOut.getAsBoolean()));
    }
    LimitName name =
        caller.lookUp(List.of(limit), () -> limits.limits().get().catalogue().get(limit));
    String id = canonical(name, asGiven);
    if (method == HttpMethod.PUT) {
      return noted(caller, "set " + thing, limit, id, () -> put(name, id, AdminBody.read(json)));
    }
    if (method == HttpMethod.DELETE) {
      return noted(caller, "remove " + thing, limit, id, () -> removed(delete(name, id)));
    }
    Answers.Body found = get(name, id);
    return found == null ? Answers.fault(notThere(limit)) : Answers.json(HttpStatus.OK, found);
  }

  private Fault notThere(String limit) {
    return Fault.notThere("there is no %s of %s for this id".formatted(thing, limit));
  }

  private static @Nullable Done removed(boolean wasThere) {
    return wasThere
        ? new Done(
            json -> {
              json.writeStartObject();
              json.writeBooleanField("removed", true);
              json.writeEndObject();
            },
            "")
        : null;
  }

  /** Something that is done to a bucket, and noted whether it succeeds or not. */
  private interface Change {
    @Nullable Done make();
  }

  private AggregatedHttpResponse noted(
      Caller caller, String what, String limit, String id, Change change) {
    Noted noted = new Noted(what, limit, id);
    Done done;
    try {
      done = change.make();
    } catch (RuntimeException e) {
      // What is wrong with the request, or was not done with a good one.
      boolean refused = e instanceof IllegalArgumentException || e instanceof RefusedException;
      audit.note(
          caller, "http", noted, refused ? "refused" : "failed", String.valueOf(e.getMessage()));
      throw e;
    }
    if (done == null) {
      audit.note(caller, "http", noted, "not there", "");
      return Answers.fault(notThere(limit));
    }
    audit.note(caller, "http", noted, "done", done.detail());
    return Answers.json(HttpStatus.OK, done.body());
  }

  /** In a path a "+" is itself; the decoder is one of forms, where it is a space. */
  private static String decoded(String encoded, String field) {
    return Queries.decoded(encoded.replace("+", "%2B"), field, field);
  }
}
