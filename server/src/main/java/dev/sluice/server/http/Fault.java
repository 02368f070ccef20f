// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.Plurals;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.reservation.Reservations.TokenException;
import dev.sluice.wire.Mistakes.Mistake;
import dev.sluice.wire.WireException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The reason why a request failed, for a response with problem details (RFC 9457).
 *
 * @param type the last segment of the problem's type, a word for programs
 * @param title the type as a title for people, equal for all faults of a type
 * @param field the part of the request that is wrong, null if it is not a single part
 * @param mistakes all mistakes of the request if there are several; otherwise empty
 * @param incident the id of the cause in the server's log; null if the client made the mistake
 * @param refused the exception, if the server refused the request before a resource handled it;
 *     otherwise null
 */
record Fault(
    HttpStatus status,
    String type,
    String title,
    String detail,
    @Nullable String field,
    List<Mistake> mistakes,
    @Nullable String incident,
    @Nullable RefusedException refused) {

  /** The start of every problem type: a URI that is a name, and not an address to open. */
  private static final String TYPES = "tag:sluice.dev,2026:";

  /** The error detail of a request that timed out in the queue and changed nothing. */
  static final String TOO_LATE = "the request timed out in the queue; send it again";

  /** The types of faults that resources report. */
  @SuppressWarnings("ImmutableEnumChecker") // HttpStatus is immutable, but does not say so
  private enum Type {
    INVALID_REQUEST(HttpStatus.BAD_REQUEST, "Invalid request"),
    UNKNOWN_LIMIT(HttpStatus.NOT_FOUND, "Unknown limit"),
    NOT_FOUND(HttpStatus.NOT_FOUND, "Unknown path"),
    NOT_THERE(HttpStatus.NOT_FOUND, "Nothing is set"),
    NOT_KEPT(HttpStatus.SERVICE_UNAVAILABLE, "The change may not be saved"),
    WRONG_METHOD(HttpStatus.METHOD_NOT_ALLOWED, "Wrong method"),
    WRONG_MEDIA_TYPE(HttpStatus.UNSUPPORTED_MEDIA_TYPE, "Wrong media type"),
    WRONG_ENCODING(HttpStatus.UNSUPPORTED_MEDIA_TYPE, "Compressed body"),
    TOO_LARGE(HttpStatus.REQUEST_ENTITY_TOO_LARGE, "Body too large"),
    STORE_UNREACHABLE(HttpStatus.SERVICE_UNAVAILABLE, "The store could not decide"),
    NOT_READY(HttpStatus.SERVICE_UNAVAILABLE, "Not ready"),
    UNKNOWN_RESERVATION(HttpStatus.NOT_FOUND, "Unknown reservation"),
    EXPIRED_RESERVATION(HttpStatus.GONE, "Reservation expired"),
    CANCELLED_RESERVATION(HttpStatus.CONFLICT, "Reservation cancelled or settled already"),
    LOWERED_OVERRIDE(HttpStatus.CONFLICT, "The override would be lowered"),
    INTERNAL(HttpStatus.INTERNAL_SERVER_ERROR, "Internal server error");

    private final HttpStatus status;
    private final String title;

    Type(HttpStatus status, String title) {
      this.status = status;
      this.title = title;
    }

    private Fault fault(@Nullable String field, String detail) {
      String word = name().toLowerCase(Locale.ROOT).replace('_', '-');
      return new Fault(status, word, title, detail, field, List.of(), null, null);
    }

    private Fault fault(String detail) {
      return fault(null, detail);
    }
  }

  private Fault with(List<Mistake> all) {
    return new Fault(status, type, title, detail, field, all, incident, refused);
  }

  Fault withIncident(String id) {
    return new Fault(status, type, title, detail, field, mistakes, id, refused);
  }

  String typeUri() {
    return TYPES + type;
  }

  static Fault invalid(@Nullable String field, String detail) {
    return Type.INVALID_REQUEST.fault(field, detail);
  }

  static Fault unknownLimit(@Nullable String field, String detail) {
    return Type.UNKNOWN_LIMIT.fault(field, detail);
  }

  static Fault notFound(String path) {
    return Type.NOT_FOUND.fault(
        "found the path %s, expected one of the paths that GET / lists"
            .formatted(JsonLines.shown(path)));
  }

  static Fault notThere(String detail) {
    return Type.NOT_THERE.fault(detail);
  }

  /** Returns the problem details for a change that could not be saved, without the file's name. */
  static Fault notKept(String incident) {
    return Type.NOT_KEPT
        .fault(
            "the change could not be saved, so it is not in force; the server's log has the cause,"
                + " under the incident")
        .withIncident(incident);
  }

  /** Returns the problem details for a change that did not end before the request timed out. */
  static Fault notInTime(String incident) {
    return Type.NOT_KEPT
        .fault("the change did not end in time, and can still be made; check before you repeat it")
        .withIncident(incident);
  }

  static Fault wrongMethod(String method, String allowed) {
    return Type.WRONG_METHOD.fault("found " + method + ", expected one of " + allowed);
  }

  static Fault tunnel() {
    return Type.WRONG_METHOD.fault(
        "found CONNECT, expected another method: this server opens no tunnels");
  }

  static Fault wrongMediaType(String found, MediaType expected) {
    return Type.WRONG_MEDIA_TYPE.fault(
        "found %s, expected the header Content-Type: %s"
            .formatted(found.isEmpty() ? "no Content-Type" : "Content-Type: " + found, expected));
  }

  static Fault wrongEncoding(String found) {
    return Type.WRONG_ENCODING.fault(
        "found Content-Encoding: %s, expected uncompressed JSON".formatted(JsonLines.shown(found)));
  }

  static Fault tooLarge(long maxBytes) {
    return Type.TOO_LARGE.fault(
        "the body has more than %1$s bytes, %1$s are allowed".formatted(maxBytes));
  }

  /** Returns a failed store's problem details; only the log has the store's name and address. */
  static Fault storeUnreachable(String charged, String incident) {
    return Type.STORE_UNREACHABLE
        .fault("the store could not decide; " + charged)
        .withIncident(incident);
  }

  static Fault notReady(String detail) {
    return Type.NOT_READY.fault(detail);
  }

  /** Returns the problem details for a used, expired or unknown token; all guesses get the same. */
  static Fault ofToken(TokenException token) {
    Type type =
        switch (token.reason()) {
          case UNKNOWN -> Type.UNKNOWN_RESERVATION;
          case EXPIRED -> Type.EXPIRED_RESERVATION;
          case USED -> Type.CANCELLED_RESERVATION;
        };
    return type.fault("token", String.valueOf(token.getMessage()));
  }

  /** Returns the problem details for a lower override; the details have the current quota. */
  static Fault lowered(LoweredException lowered) {
    return Type.LOWERED_OVERRIDE.fault(
        lowered.getMessage() + "; add force=true to the query to lower it");
  }

  static Fault internal(String incident) {
    return Type.INTERNAL
        .fault("the request was not decided; the server's log has the cause, under the incident")
        .withIncident(incident);
  }

  /** Returns the problem details for a request that the server refused before a resource ran. */
  static Fault refused(RefusedException refused) {
    return new Fault(
        refused.status(),
        refused.type(),
        refused.title(),
        refused.detail(),
        /* field= */ null,
        List.of(),
        /* incident= */ null,
        refused);
  }

  static Fault ofStatus(HttpStatus status, @Nullable String description) {
    String title = status.reasonPhrase();
    String detail = description == null ? title : description;
    return new Fault(status, "http-" + status.code(), title, detail, null, List.of(), null, null);
  }

  /** Returns the problem details for a request that the client must change. */
  static Fault of(WireException wire) {
    String detail = String.valueOf(wire.getMessage());
    int more = wire.count() - 1;
    if (more > 0) {
      detail += " (and %s: see errors)".formatted(Plurals.of(more, "more mistake"));
    }
    Fault fault =
        wire.unknownLimit() ? unknownLimit(wire.field(), detail) : invalid(wire.field(), detail);
    return more > 0 ? fault.with(wire.mistakes()) : fault;
  }
}
