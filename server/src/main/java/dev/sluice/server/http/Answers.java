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
import dev.sluice.server.wire.DecisionWriter;
import dev.sluice.server.wire.Mistake;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Problem;
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
  private static final MediaType PROBLEM = MediaType.parse(Problem.MEDIA_TYPE);
  private static final int USUAL_SIZE = 512;

  private Answers() {}

  /** Writes a body. */
  interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  static AggregatedHttpResponse decision(
      Decision decision, boolean batch, HttpStatus status, HeaderProfile profile) {
    ResponseHeadersBuilder headers = headers(status, MediaType.JSON);
    profile.headers(decision).forEach(headers::set);
    return of(headers, bytes(json -> DecisionWriter.write(decision, batch, json)));
  }

  static AggregatedHttpResponse json(HttpStatus status, Body body) {
    return of(headers(status, MediaType.JSON), bytes(body));
  }

  /** The same with an ETag, which a caller may send back to learn that nothing has changed. */
  static AggregatedHttpResponse tagged(@Nullable String noneMatch, Body body) {
    HttpData bytes = bytes(body);
    CRC32C checksum = new CRC32C();
    checksum.update(bytes.array());
    String tag = "\"" + Long.toHexString(checksum.getValue()) + "-" + bytes.length() + "\"";
    boolean isKnown =
        noneMatch != null && List.of(noneMatch.replace("W/", "").split("\\s*,\\s*")).contains(tag);
    ResponseHeadersBuilder headers =
        headers(isKnown ? HttpStatus.NOT_MODIFIED : HttpStatus.OK, MediaType.JSON)
            .set(HttpHeaderNames.CACHE_CONTROL, "no-cache")
            .set(HttpHeaderNames.ETAG, tag);
    return of(headers, isKnown ? HttpData.empty() : bytes);
  }

  static AggregatedHttpResponse text(MediaType type, String text) {
    return of(headers(HttpStatus.OK, type), HttpData.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  static AggregatedHttpResponse fault(Fault fault) {
    return of(headers(fault.status(), PROBLEM), body(fault));
  }

  static AggregatedHttpResponse wrongMethod(Fault fault, String allowed) {
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
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeStringField("type", fault.typeUri());
          json.writeStringField("title", fault.title());
          json.writeNumberField("status", fault.status().code());
          json.writeStringField("detail", fault.detail());
          if (fault.field() != null) {
            json.writeStringField("field", fault.field());
          }
          if (!fault.mistakes().isEmpty()) {
            writeMistakes(fault.mistakes(), json);
          }
          if (fault.incident() != null) {
            json.writeStringField("incident", fault.incident());
          }
          json.writeEndObject();
        });
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
    return AggregatedHttpResponse.of(headers.build(), body);
  }

  private static HttpData bytes(Body body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_SIZE);
    try (JsonGenerator json = JSON.createGenerator(bytes)) {
      body.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
    }
    return HttpData.wrap(bytes.toByteArray());
  }
}
