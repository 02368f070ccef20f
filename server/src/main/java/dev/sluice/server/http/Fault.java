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
import org.jspecify.annotations.Nullable;

/**
 * The reason why a request failed, for a response with problem details (RFC 9457).
 *
 * @param type the last segment of the problem's type, a word for programs
 * @param title the type in words for people, equal for all faults of a type
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

  private static final int SHOWN = 200;

  /**
   * The detail for a change or a reload that timed out in the queue. Nothing was changed, so the
   * client can send the request again.
   */
  static final String TOO_LATE = "the request timed out in the queue; send it again";

  private Fault(
      HttpStatus status, String type, String title, String detail, @Nullable String field) {
    this(status, type, title, detail, field, List.of(), null, null);
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
    return new Fault(HttpStatus.BAD_REQUEST, "invalid-request", "Invalid request", detail, field);
  }

  static Fault unknownLimit(@Nullable String field, String detail) {
    return new Fault(HttpStatus.NOT_FOUND, "unknown-limit", "Unknown limit", detail, field);
  }

  static Fault notFound(String path) {
    return new Fault(
        HttpStatus.NOT_FOUND,
        "not-found",
        "Unknown path",
        "found the path %s, expected one of the paths that GET / lists".formatted(shown(path)),
        null);
  }

  static Fault notThere(String detail) {
    return new Fault(HttpStatus.NOT_FOUND, "not-there", "Nothing is set", detail, null);
  }

  /**
   * Returns the fault of a change that could not be saved. Only the log contains the file's name.
   */
  static Fault notKept(String incident) {
    return new Fault(
            HttpStatus.SERVICE_UNAVAILABLE,
            "not-kept",
            "The change could not be saved",
            "the change could not be saved, so it is not in force; the server's log has the cause,"
                + " under the incident",
            null)
        .withIncident(incident);
  }

  private static String shown(String path) {
    return JsonLines.shown(path, SHOWN);
  }

  static Fault wrongMethod(String method, String allowed) {
    return new Fault(
        HttpStatus.METHOD_NOT_ALLOWED,
        "wrong-method",
        "Wrong method",
        "found " + method + ", expected one of " + allowed,
        null);
  }

  static Fault tunnel() {
    return new Fault(
        HttpStatus.METHOD_NOT_ALLOWED,
        "wrong-method",
        "Wrong method",
        "found CONNECT, expected another method: this server opens no tunnels",
        null);
  }

  static Fault wrongMediaType(@Nullable String found, MediaType expected) {
    return new Fault(
        HttpStatus.UNSUPPORTED_MEDIA_TYPE,
        "wrong-media-type",
        "Wrong media type",
        "found %s, expected the header Content-Type: %s"
            .formatted(found == null ? "no Content-Type" : "Content-Type: " + found, expected),
        null);
  }

  static Fault wrongEncoding(String found) {
    return new Fault(
        HttpStatus.UNSUPPORTED_MEDIA_TYPE,
        "wrong-encoding",
        "Compressed body",
        "found Content-Encoding: %s, expected uncompressed JSON".formatted(shown(found)),
        null);
  }

  static Fault tooLarge(long maxBytes) {
    return new Fault(
        HttpStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        "Body too large",
        "the body has more than %1$s bytes, %1$s are allowed".formatted(maxBytes),
        null);
  }

  /** Returns the fault of a failed store. Only the log contains the store's name and address. */
  static Fault storeUnreachable(String charged, String incident) {
    return new Fault(
            HttpStatus.SERVICE_UNAVAILABLE,
            "store-unreachable",
            "The store could not decide",
            "the store could not decide; " + charged,
            null)
        .withIncident(incident);
  }

  static Fault notReady(String detail) {
    return new Fault(HttpStatus.SERVICE_UNAVAILABLE, "not-ready", "Not ready", detail, null);
  }

  /**
   * Returns the fault of a reservation token that cannot be cancelled. All guessed tokens get the
   * same fault.
   */
  static Fault ofToken(TokenException token) {
    String detail = String.valueOf(token.getMessage());
    return switch (token.reason()) {
      case UNKNOWN ->
          new Fault(
              HttpStatus.NOT_FOUND, "unknown-reservation", "Unknown reservation", detail, "token");
      case EXPIRED ->
          new Fault(HttpStatus.GONE, "expired-reservation", "Reservation expired", detail, "token");
      case USED ->
          new Fault(
              HttpStatus.CONFLICT,
              "cancelled-reservation",
              "Reservation cancelled or settled already",
              detail,
              "token");
    };
  }

  /**
   * Returns the fault of a change that would lower an override; the detail contains the current
   * quota.
   */
  static Fault lowered(LoweredException lowered) {
    return new Fault(
        HttpStatus.CONFLICT,
        "lowered-override",
        "The override would be lowered",
        lowered.getMessage() + "; add force=true to the query to lower it",
        null);
  }

  static Fault internal(String incident) {
    return new Fault(
            HttpStatus.INTERNAL_SERVER_ERROR,
            "internal",
            "Internal server error",
            "the request was not decided; the server's log has the cause, under the incident",
            null)
        .withIncident(incident);
  }

  /** Returns the fault of a request that the server refused before a resource handled it. */
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
    return new Fault(status, "http-" + status.code(), title, detail, null);
  }

  /** Returns the fault of a request that the client must change. */
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
