// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP request in the form that rules use. Each framework has an adapter; {@link #builder} makes
 * a request from its parts, for example a request from a log.
 *
 * <p>Only one thread at a time uses this object, before the application handles the request. No
 * method blocks, and no method reads the body.
 */
public interface WebRequest {

  /**
   * Returns a builder for a request from its parts. A {@link RequestLimiter} refuses the request
   * with a 400 if the path of its target is ambiguous or malformed.
   *
   * @param method the method, such as {@code GET}
   * @param target the target of the request line, such as {@code /a%20b?c=d}
   * @return a builder
   */
  static PlainRequest.Builder builder(String method, String target) {
    return new PlainRequest.Builder(method, target);
  }

  /**
   * Returns the method.
   *
   * @return the method, for example {@code GET}
   */
  String method();

  /**
   * Returns the path by which the application finds its handler: decoded, normalized, and relative
   * to the application's context path.
   *
   * @return a path that starts with a slash, or an empty text for the root
   */
  String path();

  /**
   * Returns every path by which a rule can match the request. There are several paths if the
   * container extends the path before a filter runs, or if applications can interpret the path in
   * different ways; see {@link WebPath}.
   *
   * @return the paths, {@link #path} first
   */
  default List<String> paths() {
    return List.of(path());
  }

  /**
   * Returns the values of a header, one per line of the header, in order. The value of {@code Host}
   * is the host that the client asked for: over HTTP/2 and HTTP/3, the {@code :authority}.
   *
   * @param name the name, in upper, lower or mixed case
   * @return the values; empty if the request lacks the header
   */
  List<String> headers(String name);

  /**
   * Returns the names of all headers of the request. If an adapter cannot list the headers' names,
   * each header that a rule needs is looked up, which takes longer.
   *
   * @return the names, in upper, lower or mixed case; null if the names cannot be listed
   */
  default @Nullable Iterable<String> headerNames() {
    return null;
  }

  /**
   * Returns the values of a cookie, in order.
   *
   * @param name the name, case-sensitive
   * @return the values; empty if the request lacks the cookie
   */
  List<String> cookies(String name);

  /**
   * Returns the query as the client sent it, without the question mark.
   *
   * @return the query, null if the request has none
   */
  @Nullable String query();

  /**
   * Returns the address that opened the connection, which can be a proxy's address.
   *
   * @return an IP address as text, null if the connection has none, for example a Unix socket
   */
  @Nullable String peer();

  /**
   * Returns the name of the authenticated user.
   *
   * @return the name, null if no user is logged in
   */
  @Nullable String user();

  /**
   * Returns the framework's request, for values that this interface lacks: {@code
   * request.unwrap(HttpServletRequest.class).getAttribute("tenant")}.
   *
   * @param type the framework's type
   * @param <T> the framework's type
   * @return the framework's request
   * @throws IllegalArgumentException if the framework's request has another type
   */
  default <T> T unwrap(Class<T> type) {
    throw new IllegalArgumentException(
        "this request does not wrap a %s; it is a %s".formatted(type.getName(), getClass()));
  }
}
