// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.server.base.Plurals;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.reservation.TokenException;
import dev.sluice.wire.Mistakes.Mistake;
import dev.sluice.wire.WireException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why a request was not answered, as problem details (RFC 9457) tell it. Immutable.
 *
 * @param status the HTTP status
 * @param type a word for programs, the last part of the problem's type
 * @param title the same for people, equal for all faults of a type
 * @param detail what was found and what was expected in this request
 * @param field the part of the request that is wrong, null where it is not one part
 * @param mistakes everything that is wrong with the request, where that is more than one thing;
 *     otherwise empty
 * @param incident the id under which the server's log has the cause; null if the client is to blame
 * @param refused what the server refused before it came to a resource, with what else it says
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

  /** A name, not an address: nothing has to be looked up to tell one type from another. */
  private static final String TYPES = "tag:sluice.dev,2026:";

  private static final int SHOWN = 200;

  /** Of what waited for others; its client was told that nothing is certain, and may try again. */
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
        "found the path %s, expected one of those that / lists".formatted(shown(path)),
        null);
  }

  static Fault notThere(String detail) {
    return new Fault(HttpStatus.NOT_FOUND, "not-there", "Nothing is set", detail, null);
  }

  /** The place that keeps what is set is named in the log only. */
  static Fault notKept(String incident) {
    return new Fault(
            HttpStatus.SERVICE_UNAVAILABLE,
            "not-kept",
            "The change could not be kept",
            "the change could not be kept, so it is not in force; the server's log has the cause,"
                + " under the incident",
            null)
        .withIncident(incident);
  }

  private static String shown(String path) {
    return path.length() > SHOWN ? path.substring(0, SHOWN) + "…" : path;
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
        "found Content-Encoding: %s, expected JSON as it is".formatted(shown(found)),
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

  /** The store failed. Names and addresses of stores are for the log alone. */
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

  /** The holder of a token is told why it gives nothing back; all guesses get the same answer. */
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
              "Reservation cancelled already",
              detail,
              "token");
    };
  }

  /** The override stays as it is; the detail tells its quota. */
  static Fault lowered(LoweredException lowered) {
    return new Fault(
        HttpStatus.CONFLICT,
        "lowered-override",
        "The override would be lowered",
        lowered.getMessage() + "; add force=true to the query to lower it",
        null);
  }

  /** Internal details are not exposed. */
  static Fault internal(String incident) {
    return new Fault(
            HttpStatus.INTERNAL_SERVER_ERROR,
            "internal",
            "Internal server error",
            "the request was not decided; the server's log has the cause, under the incident",
            null)
        .withIncident(incident);
  }

  /** The server refused the request before it came to a resource. */
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

  /** A request that the HTTP library rejected before it reached us. */
  static Fault ofStatus(HttpStatus status, @Nullable String description) {
    String title = status.reasonPhrase();
    String detail = description == null ? title : description;
    return new Fault(status, "http-" + status.code(), title, detail, null);
  }

  /** The fault of a request that a client must change. */
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
