// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Decision;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.net.WholeResponse.WholeAnswer;
import dev.sluice.server.reservation.Reservations.Held;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProblemDetails;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireRequest;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Makes HTTP responses. The responses must not be cached, since a decision is soon outdated. */
final class Answers {

  static final MediaType NDJSON = MediaType.create("application", "x-ndjson");

  private static final MediaType PROBLEM = MediaType.parse(ProblemDetails.MEDIA_TYPE);

  private static final String ANY_TAG = "*";

  private Answers() {}

  static AggregatedHttpResponse decision(Decision decision, WireRequest request, AnswerForm form) {
    return of(
        headers(decision, form),
        HttpData.wrap(
            Json.written(json -> DecisionWriter.write(decision, request, json)).toByteArray()));
  }

  static AggregatedHttpResponse reset(Optional<Decision> penalized) {
    return of(
        headers(HttpStatus.OK, MediaType.JSON),
        HttpData.wrap(
            Json.written(json -> DecisionWriter.writeReset(penalized, json)).toByteArray()));
  }

  /** Returns the state of a bucket; {@code overrideId} is null for a bucket without an override. */
  static AggregatedHttpResponse bucket(
      Decision decision, @Nullable String overrideId, AnswerForm form) {
    return of(
        headers(decision, form),
        bytes(json -> fields(decision, false, json).put("overrideId", overrideId)));
  }

  private static Json fields(Decision decision, boolean batch, Json json) {
    return json.raw(raw -> DecisionWriter.writeInto(decision, batch, raw));
  }

  /** Returns the response to a reservation: the decision, and the token to cancel it. */
  static AggregatedHttpResponse held(Held held, boolean batch, AnswerForm form) {
    return of(
        headers(held.decision(), form),
        bytes(
            json -> {
              fields(held.decision(), batch, json).put("token", held.token());
              if (held.token() != null) {
                json.putSeconds("expiresInSeconds", held.life().toNanos());
              }
            }));
  }

  /** Returns the response to a settlement; its status is 202 if the store is unreachable. */
  static AggregatedHttpResponse settled(Settlement settlement) {
    return json(
        settlement.waiting() ? HttpStatus.ACCEPTED : HttpStatus.OK,
        json ->
            json.put("settled", settlement.settled())
                .put("waiting", settlement.waiting() ? true : null)
                .putEach("limits", settlement.parts(), Answers::write));
  }

  private static void write(Settlement.Part part, Json json) {
    Transaction transaction = part.transaction();
    Quota quota = transaction.quotas().size() > 1 ? transaction.quota() : null;
    json.put("limit", transaction.name().name())
        .put("id", transaction.id())
        .put("period", quota == null ? null : GoDuration.format(quota.period()))
        .put("charged", part.charged())
        .put("givenBack", part.givenBack())
        .put("owed", part.owed())
        .put("cut", part.cut())
        .put("remaining", part.remaining());
  }

  private static ResponseHeadersBuilder headers(Decision decision, AnswerForm form) {
    ResponseHeadersBuilder headers = headers(form.status(decision), MediaType.JSON);
    DecisionFields.set(form.headers().headers(decision), headers);
    return headers;
  }

  static ResponseHeaders stream() {
    return headers(HttpStatus.OK, NDJSON).build();
  }

  static ResponseHeaders metrics(MediaType type, boolean gzip) {
    ResponseHeadersBuilder headers =
        headers(HttpStatus.OK, type)
            .set(HttpHeaderNames.VARY, HttpHeaderNames.ACCEPT_ENCODING.toString());
    if (gzip) {
      headers.set(HttpHeaderNames.CONTENT_ENCODING, "gzip");
    }
    return headers.build();
  }

  static byte[] line(Json.Raw body) {
    ByteArrayOutputStream bytes = Json.written(body);
    bytes.write('\n');
    return bytes.toByteArray();
  }

  static byte[] line(Fault fault, int number) {
    return line(Json.of(json -> write(fault, number, json)));
  }

  static AggregatedHttpResponse json(HttpStatus status, Consumer<Json> body) {
    return of(headers(status, MediaType.JSON), bytes(body));
  }

  /** Returns a response with an ETag, or a 304 if {@code noneMatch} contains this ETag. */
  static AggregatedHttpResponse tagged(@Nullable String noneMatch, Consumer<Json> body) {
    HttpData bytes = bytes(body);
    String tag = tag(bytes);
    boolean isKnown = isKnown(noneMatch, tag);
    ResponseHeadersBuilder headers =
        headers(isKnown ? HttpStatus.NOT_MODIFIED : HttpStatus.OK, MediaType.JSON)
            .set(HttpHeaderNames.CACHE_CONTROL, "no-cache")
            .set(HttpHeaderNames.ETAG, tag);
    return of(headers, isKnown ? HttpData.empty() : bytes);
  }

  static String tag(HttpData bytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes.array());
    return "\"" + Long.toHexString(checksum.getValue()) + "-" + bytes.length() + "\"";
  }

  /** Whether the header {@code If-None-Match} shows that the client already has the body. */
  static boolean isKnown(@Nullable String noneMatch, String tag) {
    if (noneMatch == null) {
      return false;
    }
    return noneMatch.strip().equals(ANY_TAG)
        || List.of(noneMatch.replace("W/", "").split("\\s*,\\s*")).contains(tag);
  }

  static AggregatedHttpResponse text(MediaType type, String text) {
    return of(headers(HttpStatus.OK, type), HttpData.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  static AggregatedHttpResponse fault(Fault fault) {
    ResponseHeadersBuilder headers = headers(fault.status(), PROBLEM);
    RefusedException refused = fault.refused();
    if (refused != null && fault.status().equals(HttpStatus.UNAUTHORIZED)) {
      headers.set(HttpHeaderNames.WWW_AUTHENTICATE, "Bearer realm=\"sluice\"");
    }
    if (refused != null && refused.retryAfterSeconds() > 0) {
      headers.setLong(HttpHeaderNames.RETRY_AFTER, refused.retryAfterSeconds());
    }
    return of(headers, body(fault));
  }

  static AggregatedHttpResponse wrongMethod(String method, String allowed) {
    Fault fault = Fault.wrongMethod(method, allowed);
    ResponseHeadersBuilder headers = headers(fault.status(), PROBLEM);
    return of(headers.set(HttpHeaderNames.ALLOW, allowed), body(fault));
  }

  static AggregatedHttpResponse methods(String allowed) {
    ResponseHeadersBuilder headers =
        ResponseHeaders.builder(HttpStatus.NO_CONTENT)
            .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .set(HttpHeaderNames.ALLOW, allowed);
    return AggregatedHttpResponse.of(headers.build());
  }

  private static HttpData body(Fault fault) {
    return bytes(json -> write(fault, 0, json));
  }

  private static void write(Fault fault, int line, Json json) {
    RefusedException refused = fault.refused();
    json.put("type", fault.typeUri())
        .put("title", fault.title())
        .put("status", fault.status().code())
        .put("detail", fault.detail())
        .put("line", line > 0 ? line : null)
        .put("field", fault.field());
    if (!fault.mistakes().isEmpty()) {
      json.putEach(
          "errors",
          fault.mistakes(),
          (mistake, one) -> one.put("detail", mistake.message()).put("field", mistake.field()));
    }
    json.put("role", refused == null ? null : refused.role()).put("incident", fault.incident());
  }

  private static ResponseHeadersBuilder headers(HttpStatus status, MediaType type) {
    return ResponseHeaders.builder(status)
        .contentType(type)
        .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
        .set(HttpHeaderNames.X_CONTENT_TYPE_OPTIONS, "nosniff");
  }

  private static AggregatedHttpResponse of(ResponseHeadersBuilder headers, HttpData body) {
    return WholeAnswer.of(headers, body);
  }

  private static HttpData bytes(Consumer<Json> fields) {
    return HttpData.wrap(Json.object(fields));
  }

  /**
   * The form of the response that a client wants, read from the query of its request.
   *
   * @param denied the status of a denial: 200, or 429 for a proxy that reads only the status; with
   *     429, a denial by the failure rule {@code deny} has the status 503
   * @param headers the profile of the headers that repeat the decision, for clients that pass these
   *     headers on
   */
  record AnswerForm(HttpStatus denied, HeaderProfile headers) {

    private static final String STATUS = "status";
    private static final String HEADERS = "headers";
    private static final AnswerForm USUAL = new AnswerForm(HttpStatus.OK, HeaderProfile.NONE);
    private static final List<String> FAMILIES =
        List.of("none", "ietf", "legacy", "github", "draft03");

    /** Parses the query; {@code more} names further parameters that the resource allows. */
    static AnswerForm of(ServiceRequestContext context, Mistakes mistakes, String... more) {
      if (context.query() == null) {
        return USUAL;
      }
      List<String> known = new ArrayList<>(List.of(STATUS, HEADERS));
      known.addAll(List.of(more));
      Queries.require(context, known, mistakes);
      QueryParams query = context.queryParams();
      return new AnswerForm(
          mistakes.read(() -> status(query.get(STATUS, "200")), USUAL.denied),
          mistakes.read(() -> headers(query.get(HEADERS, "none")), USUAL.headers));
    }

    /** Returns the response form of a resource that allows no query parameters. */
    static AnswerForm fixed(ServiceRequestContext context) {
      Queries.require(context, List.of());
      return USUAL;
    }

    /** Returns the response form of a resource without query parameters. */
    static AnswerForm fixed(ServiceRequestContext context, Mistakes mistakes) {
      Queries.require(context, List.of(), mistakes);
      return USUAL;
    }

    HttpStatus status(Decision decision) {
      boolean cannotDecide = decision.denied() && !decision.decidedBy().knowsBucket();
      return decision.allowed() || denied.equals(HttpStatus.OK)
          ? HttpStatus.OK
          : cannotDecide ? HttpStatus.SERVICE_UNAVAILABLE : denied;
    }

    private static HttpStatus status(String wanted) {
      return switch (wanted) {
        case "200" -> HttpStatus.OK;
        case "429" -> HttpStatus.TOO_MANY_REQUESTS;
        default ->
            throw new WireException(
                STATUS,
                "found %s, expected 200 or 429, the status of a denial"
                    .formatted(SafeText.quote(wanted)));
      };
    }

    static HeaderProfile headers(String wanted) {
      return switch (wanted) {
        case "none" -> HeaderProfile.NONE;
        case "ietf" -> HeaderProfile.IETF;
        case "legacy" -> HeaderProfile.LEGACY;
        case "github" -> HeaderProfile.GITHUB;
        case "draft03" -> HeaderProfile.DRAFT03;
        default ->
            throw new WireException(
                HEADERS,
                "found %s, expected one of %s%s"
                    .formatted(
                        SafeText.quote(wanted),
                        String.join(", ", FAMILIES),
                        Suggestion.didYouMean(wanted, FAMILIES)));
      };
    }
  }

  /** Sets the response headers that report a decision. Thread-safe. */
  static final class DecisionFields {

    /** A small cache of header names in Armeria's form, which is slow to make. */
    private static final Map<String, CharSequence> NAMES = new ConcurrentHashMap<>();

    private DecisionFields() {}

    /** Sets the given response headers; the number of different header names is small. */
    static void set(Map<String, String> fields, ResponseHeadersBuilder headers) {
      for (Map.Entry<String, String> field : fields.entrySet()) {
        headers.set(NAMES.computeIfAbsent(field.getKey(), HttpHeaderNames::of), field.getValue());
      }
    }
  }
}
