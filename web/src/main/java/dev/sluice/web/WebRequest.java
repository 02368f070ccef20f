// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP request as rules see it. Each framework has an adapter; {@link #builder} makes a request
 * from parts, for example one that a proxy describes or a log recorded.
 *
 * <p>A request is read by one thread at a time, before the application handles it. No method
 * blocks, and none reads the body.
 */
public interface WebRequest {

  /**
   * Starts a request that is made from its parts. A {@link RequestLimiter} refuses it with a 400 if
   * nobody can say which path its target names.
   *
   * @param method the method, such as {@code GET}
   * @param target what the request line asks for: {@code /a%20b?c=d}
   * @return a builder
   */
  static PlainRequest.Builder builder(String method, String target) {
    return new PlainRequest.Builder(method, target);
  }

  /**
   * Returns the method.
   *
   * @return for example {@code GET}
   */
  String method();

  /**
   * Returns the path by which the application finds its handler: decoded, normalized, and without
   * the prefix under which the application is installed.
   *
   * @return a path that starts with a slash, or an empty text for the root
   */
  String path();

  /**
   * Returns every path by which a rule may know the request. There are several where the container
   * itself makes the path longer before a filter runs. So there are where an application may read
   * the path in another way; {@link WebPath} knows these ways.
   *
   * @return {@link #path} first
   */
  default List<String> paths() {
    return List.of(path());
  }

  /**
   * Returns the values of a header, one for each line that has it, in order.
   *
   * @param name the name, in any case
   * @return the values; empty if the request lacks the header
   */
  List<String> headers(String name);

  /**
   * Returns the names of all headers of the request. Where an adapter cannot list them, each name
   * that matters is looked up, which takes longer.
   *
   * @return the names, in any case; null if they cannot be listed
   */
  default @Nullable Iterable<String> headerNames() {
    return null;
  }

  /**
   * Returns the values of a cookie, in order.
   *
   * @param name the name, in its case
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
   * Returns the address that opened the connection, which may be a proxy's.
   *
   * @return an IP address as text, null where the connection has none (a Unix socket, for example)
   */
  @Nullable String peer();

  /**
   * Returns the name of the authenticated user.
   *
   * @return the name, null if nobody is logged in
   */
  @Nullable String user();

  /**
   * Returns the request of the framework, for what this view lacks: {@code
   * request.unwrap(HttpServletRequest.class).getAttribute("tenant")}.
   *
   * @param type the framework's type
   * @param <T> the framework's type
   * @return the framework's request
   * @throws IllegalArgumentException if this request comes from another framework
   */
  default <T> T unwrap(Class<T> type) {
    throw new IllegalArgumentException(
        "this request does not wrap a %s; it is a %s".formatted(type.getName(), getClass()));
  }
}
