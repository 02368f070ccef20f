package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpStatus;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.wire.WireException;
import dev.sluice.store.StoreException;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Why a request was not answered, as problem details (RFC 9457) tell it. Immutable.
 *
 * @param status the HTTP status
 * @param type a word for programs, the last part of the problem's type
 * @param title the same for people, equal for all faults of a type
 * @param detail what was found and what was expected in this request
 * @param field the part of the request that is wrong, null where it is not one part
 */
record Fault(HttpStatus status, String type, String title, String detail, @Nullable String field) {

  /** A name, not an address: nothing has to be looked up to tell one type from another. */
  private static final String TYPES = "tag:sluice.dev,2026:";

  private static final int SHOWN = 200;

  String typeUri() {
    return TYPES + type;
  }

  static Fault invalid(@Nullable String field, String detail) {
    return new Fault(
        HttpStatus.BAD_REQUEST,
        "invalid-request",
        "The request can't be decided on",
        detail,
        field);
  }

  static Fault unknownLimit(@Nullable String field, String detail) {
    return new Fault(
        HttpStatus.NOT_FOUND, "unknown-limit", "There is no such limit", detail, field);
  }

  static Fault notFound(String path) {
    return new Fault(
        HttpStatus.NOT_FOUND,
        "not-found",
        "There is nothing at this path",
        "found the path %s, expected one of those that / lists".formatted(shown(path)),
        null);
  }

  private static String shown(String path) {
    return path.length() > SHOWN ? path.substring(0, SHOWN) + "…" : path;
  }

  static Fault wrongMethod(String method, String allowed) {
    return new Fault(
        HttpStatus.METHOD_NOT_ALLOWED,
        "wrong-method",
        "The path has no such method",
        "found " + method + ", expected one of " + allowed,
        null);
  }

  static Fault wrongMediaType(@Nullable String found) {
    return new Fault(
        HttpStatus.UNSUPPORTED_MEDIA_TYPE,
        "wrong-media-type",
        "The body is not declared as JSON",
        "found %s, expected the header Content-Type: application/json"
            .formatted(found == null ? "no Content-Type" : "Content-Type: " + found),
        null);
  }

  static Fault wrongEncoding(String found) {
    return new Fault(
        HttpStatus.UNSUPPORTED_MEDIA_TYPE,
        "wrong-encoding",
        "The body is compressed",
        "found Content-Encoding: %s, expected JSON as it is".formatted(shown(found)),
        null);
  }

  static Fault tooLarge(long maxBytes) {
    return new Fault(
        HttpStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        "The body is too large",
        "found more than %s bytes, expected at most that".formatted(maxBytes),
        null);
  }

  static Fault storeUnreachable(String detail) {
    return new Fault(
        HttpStatus.SERVICE_UNAVAILABLE,
        "store-unreachable",
        "The store could not decide",
        detail,
        null);
  }

  /** Nothing of what went wrong inside is told outside. */
  static Fault internal() {
    return new Fault(
        HttpStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "The server made a mistake",
        "the request was not decided; the server's log says why",
        null);
  }

  /** What the HTTP library refused by itself. */
  static Fault ofStatus(HttpStatus status, @Nullable String description) {
    String title = status.reasonPhrase();
    String detail = description == null ? title : description;
    return new Fault(status, "http-" + status.code(), title, detail, null);
  }

  static Fault of(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof WireException wire) {
      String detail = String.valueOf(wire.getMessage());
      return wire.unknownLimit()
          ? unknownLimit(wire.field(), detail)
          : invalid(wire.field(), detail);
    }
    if (cause instanceof InvalidRequestException invalid) {
      return of(WireException.of(invalid, ""));
    }
    if (cause instanceof StoreException) {
      return storeUnreachable(String.valueOf(cause.getMessage()));
    }
    return internal();
  }
}
