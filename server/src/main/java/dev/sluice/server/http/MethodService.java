// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.server.net.WholeResponse;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A service for one HTTP method, and for {@code HEAD} and {@code OPTIONS}. Must not block. */
abstract class MethodService implements HttpService {

  private final HttpMethod method;
  private final String allowed;

  MethodService(HttpMethod method) {
    this.method = method;
    this.allowed = method == HttpMethod.GET ? "GET, HEAD, OPTIONS" : method + ", OPTIONS";
  }

  /** Responds to a request whose method is the path's method; must not throw. */
  abstract HttpResponse respond(ServiceRequestContext context, HttpRequest request);

  @Override
  public final HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    HttpMethod asked = request.method();
    if (asked == HttpMethod.OPTIONS) {
      return Answers.methods(allowed).toHttpResponse();
    }
    boolean head = asked == HttpMethod.HEAD && method == HttpMethod.GET;
    if (asked != method && !head) {
      return Answers.wrongMethod(asked.name(), allowed).toHttpResponse();
    }
    return respond(context, request);
  }

  /** A service that sends each response as a whole, and reports failures as problem details. */
  abstract static class Resource extends MethodService {

    Resource(HttpMethod method) {
      super(method);
    }

    /** Responds to a request with this resource's method; may throw, or return a failing stage. */
    abstract CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request);

    @Override
    final HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
      return WholeResponse.of(
          caught(context, request)
              .handle(
                  (answer, failure) ->
                      failure == null ? answer : HttpFailures.answer(context, failure)),
          context);
    }

    /** Returns a resource for GET whose answers are known at once. */
    static Resource get(Function<ServiceRequestContext, AggregatedHttpResponse> answer) {
      return new Resource(HttpMethod.GET) {
        @Override
        CompletionStage<AggregatedHttpResponse> answer(
            ServiceRequestContext context, HttpRequest request) {
          return CompletableFuture.completedFuture(answer.apply(context));
        }
      };
    }

    /** Returns a resource for GET that makes its answers on threads that may block. */
    static Resource blocking(Function<ServiceRequestContext, AggregatedHttpResponse> answer) {
      return new Resource(HttpMethod.GET) {
        @Override
        CompletionStage<AggregatedHttpResponse> answer(
            ServiceRequestContext context, HttpRequest request) {
          return CompletableFuture.supplyAsync(
              () -> answer.apply(context), context.blockingTaskExecutor());
        }
      };
    }

    /** Declares that the body arrives in pieces, and that the response is sent as a whole. */
    @Override
    public final ExchangeType exchangeType(RoutingContext context) {
      return ExchangeType.REQUEST_STREAMING;
    }

    private CompletionStage<AggregatedHttpResponse> caught(
        ServiceRequestContext context, HttpRequest request) {
      try {
        return answer(context, request);
      } catch (RuntimeException e) {
        return CompletableFuture.failedFuture(e);
      }
    }
  }

  /** Reads query parameters as strictly as the server reads request bodies. */
  static final class Queries {

    private Queries() {}

    /** Refuses a request with an unknown or a repeated query parameter. */
    static void require(ServiceRequestContext context, List<String> known) {
      Mistakes mistakes = new Mistakes();
      require(context, known, mistakes);
      if (!mistakes.none()) {
        throw mistakes.exception();
      }
    }

    /** Adds a mistake for each unknown or repeated query parameter. */
    static void require(ServiceRequestContext context, List<String> known, Mistakes mistakes) {
      QueryParams parameters = context.queryParams();
      for (String name : parameters.names()) {
        if (!known.contains(name)) {
          mistakes.add(
              name,
              "found an unknown query parameter, expected %s%s"
                  .formatted(
                      known.isEmpty() ? "none" : String.join(", ", known),
                      Suggestion.didYouMean(name, known)));
        } else if (parameters.getAll(name).size() > 1) {
          mistakes.add(name, "found the query parameter twice, expected it once");
        }
      }
    }

    /** Returns the percent-encoded value of a parameter; null if the parameter is missing. */
    static @Nullable String encoded(ServiceRequestContext context, String name) {
      String query = context.query();
      for (String pair : query == null ? new String[0] : query.split("&", -1)) {
        if (pair.startsWith(name + "=")) {
          return pair.substring(name.length() + 1);
        }
      }
      return null;
    }

    /** Decodes percent-encoded UTF-8; {@code what} names the text in the message of a mistake. */
    static String decoded(String encoded, String field, String what) {
      try {
        String text = URLDecoder.decode(encoded, StandardCharsets.UTF_8);
        // The decoder replaces invalid UTF-8 by U+FFFD, so different invalid ids would share a
        // bucket.
        if (text.indexOf('\uFFFD') < 0) {
          return text;
        }
      } catch (IllegalArgumentException e) {
        // A malformed percent-encoding gets the same message as invalid UTF-8.
      }
      throw new WireException(field, "the %s must be percent-encoded UTF-8".formatted(what));
    }
  }
}
