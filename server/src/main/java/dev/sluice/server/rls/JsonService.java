// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.envoy.HeaderValue;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitRequestOrBuilder;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.net.Requests;
import dev.sluice.server.rls.GrpcRequests.GrpcStatuses;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import dev.sluice.server.rls.RateLimitService.RateLimitRequests;
import dev.sluice.web.ProblemDetails;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /json}: accepts Envoy's request as JSON, for clients without gRPC. The statuses are
 * the same as in Envoy's reference server: 200 for {@code OK}, 429 for {@code OVER_LIMIT}, 400 for
 * a request that the client must change, 415 for a compressed body or another charset, 500 if
 * nothing was decided. Thread-safe; runs on event loops and never blocks.
 */
record JsonService(RateLimitRequests requests, RlsMeters meters) implements HttpService {

  private static final String ALLOWED = "POST, OPTIONS";
  private static final JsonFormat.Parser PARSER =
      JsonFormat.parser().ignoringUnknownFields(); // JsonShape refuses some unknown fields
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().omittingInsignificantWhitespace();

  private static final Pattern EXCEPTION = Pattern.compile("\\b[a-z]+\\.[a-zA-Z.]*Exception\\b");

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    if (request.method() == HttpMethod.OPTIONS) {
      return HttpResponse.of(
          ResponseHeaders.of(HttpStatus.NO_CONTENT, HttpHeaderNames.ALLOW, ALLOWED));
    }
    if (request.method() != HttpMethod.POST) {
      return fault(
          HttpStatus.METHOD_NOT_ALLOWED,
          "found %s, expected one of %s".formatted(request.method(), ALLOWED));
    }
    String unreadable = unreadable(request.headers());
    if (unreadable != null) {
      return fault(HttpStatus.UNSUPPORTED_MEDIA_TYPE, unreadable);
    }
    long start = System.nanoTime();
    CompletionStage<RateLimitResponse> decided;
    try {
      decided = decide(context, text(Requests.body(context)));
    } catch (RuntimeException e) {
      return fault(e, start);
    }
    return HttpResponse.of(
        decided.handle(
            (response, failure) ->
                failure == null ? answer(response, start) : fault(failure, start)));
  }

  /** Returns why the headers are not valid for a JSON body; null if they are valid. */
  private static @Nullable String unreadable(RequestHeaders headers) {
    if (!Requests.isUtf8(headers)) {
      return "found Content-Type: %s, expected application/json, whose charset is UTF-8"
          .formatted(Requests.contentTypes(headers));
    }
    String compression = Requests.compression(headers);
    return compression == null
        ? null
        : "found Content-Encoding: %s, expected a body that is not compressed"
            .formatted(compression);
  }

  /** Decodes UTF-8 strictly: a lenient decoder would turn different bytes into the same id. */
  private static String text(byte[] body) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
    } catch (CharacterCodingException e) {
      throw new BadRequest("the body is not valid JSON: expected text in UTF-8");
    }
  }

  /** Refuses half of a surrogate pair, which JSON can escape but UTF-8 cannot encode. */
  private static void requireUnicode(RateLimitRequestOrBuilder request) {
    if (!RequestMessages.isText(request)) {
      throw new BadRequest("found half of a surrogate pair, expected Unicode text");
    }
  }

  private CompletionStage<RateLimitResponse> decide(ServiceRequestContext context, String json) {
    JsonShape.require(json);
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder();
    try {
      PARSER.merge(json, request);
    } catch (InvalidProtocolBufferException e) {
      throw new BadRequest("the body is not a rate limit request in JSON: " + words(e));
    }
    requireUnicode(request);
    return requests.decide(
        request.build(), AccessPart.caller(context), "http", context.whenRequestCancelling());
  }

  /**
   * Returns the message of protobuf's JSON parser; replaces a message that names a Java exception.
   */
  private static String words(InvalidProtocolBufferException e) {
    String message = String.valueOf(e.getMessage());
    return EXCEPTION.matcher(message).find() ? "a field has a value of the wrong type" : message;
  }

  private HttpResponse answer(RateLimitResponse response, long start) {
    meters.answered(response, start);
    boolean passes = response.getOverallCode() == Code.OK;
    ResponseHeadersBuilder headers =
        headers(passes ? HttpStatus.OK : HttpStatus.TOO_MANY_REQUESTS, MediaType.JSON);
    for (HeaderValue header : response.getResponseHeadersToAddList()) {
      // Envoy's Content-Type header describes the body for Envoy's client, not this JSON.
      if (!header.getKey().equals("content-type")) {
        headers.set(header.getKey(), header.getValue());
      }
    }
    try {
      return HttpResponse.of(headers.build(), HttpData.ofUtf8(PRINTER.print(response)));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e); // thrown only for messages of type Any
    }
  }

  private HttpResponse fault(Throwable failure, long start) {
    Status status = GrpcStatuses.status(failure);
    meters.failed(status, start);
    HttpStatus answered =
        switch (status.getCode()) {
          case INVALID_ARGUMENT -> HttpStatus.BAD_REQUEST;
          case PERMISSION_DENIED -> HttpStatus.FORBIDDEN;
          default -> HttpStatus.INTERNAL_SERVER_ERROR;
        };
    return fault(answered, String.valueOf(status.getDescription()));
  }

  private static HttpResponse fault(HttpStatus status, String detail) {
    ResponseHeadersBuilder headers = headers(status, MediaType.parse(ProblemDetails.MEDIA_TYPE));
    if (status.equals(HttpStatus.METHOD_NOT_ALLOWED)) {
      headers.set(HttpHeaderNames.ALLOW, ALLOWED);
    }
    String title = status.reasonPhrase();
    return HttpResponse.of(
        headers.build(), HttpData.ofUtf8(ProblemDetails.of(status.code(), title, detail)));
  }

  private static ResponseHeadersBuilder headers(HttpStatus status, MediaType type) {
    return ResponseHeaders.builder(status)
        .contentType(type)
        .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
        .set(HttpHeaderNames.X_CONTENT_TYPE_OPTIONS, "nosniff");
  }

  /** Refuses JSON that protobuf's parser mishandles, such as {@code 1e100000000}. */
  private static final class JsonShape {

    /**
     * The deepest nesting of the JSON: deeper than in valid requests, less than protobuf allows.
     */
    private static final int DEEPEST = 32;

    private static final JsonFactory JSON =
        JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
            .build();

    /** Matches a number of at most 20 characters without an exponent, or a word, such as a unit. */
    private static final Pattern BOUNDED = Pattern.compile("-?[0-9.]{1,20}|[A-Za-z_]*");

    private static final String OF_DESCRIPTORS = RateLimitDescriptor.getDescriptor().getFullName();

    private JsonShape() {}

    /** Checks the JSON of a request; throws {@link BadRequest} if the JSON is refused. */
    static void require(String json) {
      try (JsonParser parser = JSON.createParser(json)) {
        JsonToken first = parser.nextToken();
        if (first == JsonToken.START_OBJECT) {
          message(RateLimitRequest.getDescriptor(), "", parser);
        } else {
          parser.skipChildren();
        }
        if (parser.nextToken() != null) {
          throw new BadRequest("there is more text after the JSON object");
        }
      } catch (StreamConstraintsException e) {
        throw new BadRequest("the body is nested too deep, or a number or name in it is too long");
      } catch (JsonProcessingException e) {
        JsonLocation at = e.getLocation();
        throw new BadRequest(
            "the body is not JSON at line %s column %s"
                .formatted(at.getLineNr(), at.getColumnNr()));
      } catch (IOException e) {
        throw new UncheckedIOException(e); // cannot happen: the target is in memory
      }
    }

    private static void message(Descriptor type, String path, JsonParser parser)
        throws IOException {
      Set<FieldDescriptor> seen = new HashSet<>();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        FieldDescriptor field = find(type, name);
        parser.nextToken();
        if (field != null && !seen.add(field)) {
          throw new BadRequest(
              "found the field %s again, expected it once".formatted(join(path, field.getName())));
        }
        if (field != null) {
          value(field, join(path, field.getName()), parser);
        } else if (type.getFullName().startsWith(OF_DESCRIPTORS)) {
          throw RequestMessages.unknownField(path, SafeText.quote(name));
        } else {
          parser.skipChildren();
        }
      }
    }

    private static String join(String path, String name) {
      return path.isEmpty() ? name : path + "." + name;
    }

    private static @Nullable FieldDescriptor find(Descriptor type, String name) {
      return type.getFields().stream()
          .filter(field -> field.getName().equals(name) || field.getJsonName().equals(name))
          .findFirst()
          .orElse(null);
    }

    private static void value(FieldDescriptor field, String path, JsonParser parser)
        throws IOException {
      boolean isText = field.getJavaType() == JavaType.STRING;
      boolean isMessage = field.getJavaType() == JavaType.MESSAGE && !isWrapper(field);
      JsonToken token = parser.currentToken();
      if (token == JsonToken.START_ARRAY) { // protobuf also accepts a single number in a list
        for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
          value(field, path + "[" + i + "]", parser);
        }
      } else if (token == JsonToken.START_OBJECT && isMessage) {
        message(field.getMessageType(), path, parser);
      } else if (token.isScalarValue() && !isText && !isMessage) {
        requireBounded(path, parser.getText());
        if (field.getJavaType() == JavaType.ENUM && token == JsonToken.VALUE_STRING) {
          requireKnown(field.getEnumType(), path, parser.getText());
        }
      } else {
        parser.skipChildren();
      }
    }

    /** Whether a field has a protobuf wrapper type, which JSON represents without an object. */
    private static boolean isWrapper(FieldDescriptor field) {
      return field.getMessageType().getFile().getPackage().equals("google.protobuf");
    }

    /** Refuses the name of an unknown enum value, which protobuf's parser would ignore. */
    private static void requireKnown(EnumDescriptor type, String field, String word) {
      if (type.findValueByName(word) == null && !word.matches("-?[0-9]+")) {
        throw new BadRequest(
            "found %s in the field %s, expected one of %s"
                .formatted(
                    SafeText.quote(word),
                    field,
                    type.getValues().stream()
                        .map(EnumValueDescriptor::getName)
                        .collect(Collectors.joining(", "))));
      }
    }

    private static void requireBounded(String field, String value) {
      if (!BOUNDED.matcher(value).matches()) {
        throw new BadRequest(
            "found %s in the field %s, expected a number of at most 20 digits without an exponent"
                .formatted(SafeText.quote(value), field));
      }
    }
  }
}
