// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import com.linecorp.armeria.common.HttpStatus;
import dev.sluice.store.StoreException;
import org.jspecify.annotations.Nullable;

/** Thrown if the server refuses a request before it decides. */
public final class RefusedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient HttpStatus status;
  private final String type;
  private final String title;
  private final @Nullable String role;
  private final long retryAfterSeconds;

  public RefusedException(HttpStatus status, String type, String title, String detail) {
    this(status, type, title, detail, null, 0);
  }

  private RefusedException(
      HttpStatus status,
      String type,
      String title,
      String detail,
      @Nullable String role,
      long retryAfterSeconds) {
    super(detail, null, false, false); // no stack trace: clients cause these
    this.status = status;
    this.type = type;
    this.title = title;
    this.role = role;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Refuses a caller without a known token or certificate. */
  public static RefusedException unauthenticated(String detail) {
    return new RefusedException(
        HttpStatus.UNAUTHORIZED, "unauthenticated", "The caller is not known", detail);
  }

  public static RefusedException forbidden(String detail, @Nullable String role) {
    return new RefusedException(
        HttpStatus.FORBIDDEN, "forbidden", "The caller may not do this", detail, role, 0);
  }

  public static RefusedException tooManyRequests(String detail, long retryAfterSeconds) {
    return new RefusedException(
        HttpStatus.TOO_MANY_REQUESTS,
        "too-many-requests",
        "Too many requests to this server",
        detail,
        null,
        retryAfterSeconds);
  }

  /** Refuses a request for which the server has no memory or no thread now. */
  public static RefusedException overloaded(String detail) {
    return new RefusedException(
        HttpStatus.SERVICE_UNAVAILABLE, "overloaded", "The server is overloaded", detail);
  }

  /** Refuses a request that a web page of another site sent through a browser. */
  public static RefusedException crossSite(String site) {
    return new RefusedException(
        HttpStatus.FORBIDDEN,
        "wrong-origin",
        "Web pages of this origin may not call this server",
        "a web page of another site sent this request (Sec-Fetch-Site: %s); a proxy must send X-Forwarded-For, or be named by --trusted-proxies"
            .formatted(site));
  }

  /** Returns the role that the caller lacks, null if no role is missing. */
  public @Nullable String role() {
    return role;
  }

  /** Returns how many seconds the client must wait, 0 if waiting does not help. */
  public long retryAfterSeconds() {
    return retryAfterSeconds;
  }

  public HttpStatus status() {
    return status;
  }

  /** Returns the last segment of the URI of the problem's type, such as {@code overloaded}. */
  public String type() {
    return type;
  }

  /** Returns the problem's title, the same for all problems of a type. */
  public String title() {
    return title;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }

  /** Thrown if the server is not ready. Clients see the message: it must name no address. */
  public static final class NotReadyException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public NotReadyException(String message) {
      super(message);
    }

    public NotReadyException(String message, StoreException cause) {
      super(message, cause);
    }
  }
}
