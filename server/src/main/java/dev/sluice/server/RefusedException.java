package dev.sluice.server;

import com.linecorp.armeria.common.HttpStatus;

/**
 * Thrown for a request that the server refuses before any part sees it. Carries what a problem
 * document needs. Immutable.
 */
public final class RefusedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient HttpStatus status;
  private final String type;
  private final String title;

  private RefusedException(HttpStatus status, String type, String title, String detail) {
    super(detail, null, false, false); // no stack trace: clients cause these
    this.status = status;
    this.type = type;
    this.title = title;
  }

  static RefusedException overloaded(String detail) {
    return new RefusedException(
        HttpStatus.SERVICE_UNAVAILABLE, "overloaded", "The server is at its bounds", detail);
  }

  static RefusedException stopping() {
    return new RefusedException(
        HttpStatus.SERVICE_UNAVAILABLE,
        "stopping",
        "The server is stopping",
        "the server was told to stop; send new requests to another one");
  }

  static RefusedException wrongHost(String host) {
    return new RefusedException(
        HttpStatus.MISDIRECTED_REQUEST,
        "wrong-host",
        "The Host is not one of this server's",
        "Host %s is neither localhost, nor an IP address, nor a name that the server was given with --host"
            .formatted(host));
  }

  static RefusedException wrongOrigin(String origin) {
    return new RefusedException(
        HttpStatus.FORBIDDEN,
        "wrong-origin",
        "Web pages of this origin may not ask",
        "Origin %s is not one that the server was given with --allow-origin".formatted(origin));
  }

  static RefusedException wrongPath(String path) {
    return new RefusedException(
        HttpStatus.NOT_FOUND,
        "not-found",
        "There is nothing at this path",
        "the path %s is not written as / lists it".formatted(path));
  }

  /**
   * Returns the HTTP status.
   *
   * @return a 4xx or 503
   */
  public HttpStatus status() {
    return status;
  }

  /**
   * Returns the last part of the problem's type.
   *
   * @return a word for programs
   */
  public String type() {
    return type;
  }

  /**
   * Returns the problem's title.
   *
   * @return the same for all problems of a type
   */
  public String title() {
    return title;
  }

  /**
   * Returns what is wrong with this request.
   *
   * @return for people
   */
  public String detail() {
    return String.valueOf(getMessage());
  }
}
