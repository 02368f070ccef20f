// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import dev.sluice.Decision;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.WholeAnswer;
import dev.sluice.server.reservation.Reservations.Held;
import dev.sluice.web.ProblemDetails;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.Mistakes.Mistake;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Makes responses. None of them may be cached: a decision is true only at its moment. */
final class Answers {

  private static final JsonFactory JSON = new JsonFactory();
  static final MediaType NDJSON = MediaType.create("application", "x-ndjson");

  private static final MediaType PROBLEM = MediaType.parse(ProblemDetails.MEDIA_TYPE);
  private static final int USUAL_SIZE = 512;

  /** Stands for any body that a caller may have. */
  private static final String ANY_TAG = "*";

  private Answers() {}

  /** Writes a body. */
  interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  static AggregatedHttpResponse decision(Decision decision, boolean batch, AnswerForm form) {
    return of(headers(decision, form), bytes(json -> DecisionWriter.write(decision, batch, json)));
  }

  /** A decision that can be taken back, with what is needed for that. */
  static AggregatedHttpResponse held(Held held, boolean batch, AnswerForm form) {
    return of(
        headers(held.decision(), form),
        bytes(
            json -> {
              json.writeStartObject();
              DecisionWriter.writeInto(held.decision(), batch, json);
              if (held.token() != null) {
                json.writeStringField("token", held.token());
                DecisionWriter.writeSeconds("expiresInSeconds", held.life().toNanos(), json);
              }
              json.writeEndObject();
            }));
  }

  private static ResponseHeadersBuilder headers(Decision decision, AnswerForm form) {
    ResponseHeadersBuilder headers = headers(form.status(decision), MediaType.JSON);
    DecisionFields.set(form.headers().headers(decision), headers);
    return headers;
  }

  /** The start of a stream of JSON objects, a line each. */
  static ResponseHeaders stream() {
    return headers(HttpStatus.OK, NDJSON).build();
  }

  /** The start of a text that may be compressed. */
  static ResponseHeaders metrics(MediaType type, boolean gzip) {
    ResponseHeadersBuilder headers =
        headers(HttpStatus.OK, type)
            .set(HttpHeaderNames.VARY, HttpHeaderNames.ACCEPT_ENCODING.toString());
    if (gzip) {
      headers.set(HttpHeaderNames.CONTENT_ENCODING, "gzip");
    }
    return headers.build();
  }

  /** A line of such a stream. */
  static byte[] line(Body body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_SIZE);
    write(body, bytes);
    bytes.write('\n');
    return bytes.toByteArray();
  }

  /** Returns the mistake in a line, as a line. */
  static byte[] line(Fault fault, int number) {
    return line(json -> write(fault, number, json));
  }

  static AggregatedHttpResponse json(HttpStatus status, Body body) {
    return of(headers(status, MediaType.JSON), bytes(body));
  }

  /** The same with an ETag, which a caller may send back to learn that nothing has changed. */
  static AggregatedHttpResponse tagged(@Nullable String noneMatch, Body body) {
    HttpData bytes = bytes(body);
    String tag = tag(bytes);
    boolean isKnown = isKnown(noneMatch, tag);
    ResponseHeadersBuilder headers =
        headers(isKnown ? HttpStatus.NOT_MODIFIED : HttpStatus.OK, MediaType.JSON)
            .set(HttpHeaderNames.CACHE_CONTROL, "no-cache")
            .set(HttpHeaderNames.ETAG, tag);
    return of(headers, isKnown ? HttpData.empty() : bytes);
  }

  /** The ETag of a body. */
  static String tag(HttpData bytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes.array());
    return "\"" + Long.toHexString(checksum.getValue()) + "-" + bytes.length() + "\"";
  }

  /** Whether a caller that sent {@code If-None-Match} has the body already. */
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

  private static void write(Fault fault, int line, JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeStringField("type", fault.typeUri());
    json.writeStringField("title", fault.title());
    json.writeNumberField("status", fault.status().code());
    json.writeStringField("detail", fault.detail());
    if (line > 0) {
      json.writeNumberField("line", line);
    }
    if (fault.field() != null) {
      json.writeStringField("field", fault.field());
    }
    if (!fault.mistakes().isEmpty()) {
      writeMistakes(fault.mistakes(), json);
    }
    if (fault.refused() != null && fault.refused().role() != null) {
      json.writeStringField("role", fault.refused().role());
    }
    if (fault.incident() != null) {
      json.writeStringField("incident", fault.incident());
    }
    json.writeEndObject();
  }

  private static void writeMistakes(List<Mistake> mistakes, JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("errors");
    for (Mistake mistake : mistakes) {
      json.writeStartObject();
      json.writeStringField("detail", mistake.message());
      if (mistake.field() != null) {
        json.writeStringField("field", mistake.field());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
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

  private static HttpData bytes(Body body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_SIZE);
    write(body, bytes);
    return HttpData.wrap(bytes.toByteArray());
  }

  private static void write(Body body, ByteArrayOutputStream bytes) {
    try (JsonGenerator json = JSON.createGenerator(bytes)) {
      body.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
    }
  }
}
