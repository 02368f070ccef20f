// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.netty.handler.codec.http.ContentLengthNotAllowedException;
import io.netty.handler.codec.http.InvalidLineSeparatorException;

/**
 * The mistakes of bytes that are not a request of HTTP/1.1, by the exceptions of the library.
 * Stateless.
 */
final class MalformedRequests {

  private MalformedRequests() {}

  /**
   * Describes a mistake.
   *
   * @param cause what the library's reader stopped at
   * @return what is wrong, and what to do
   */
  static String detail(Throwable cause) {
    if (cause instanceof InvalidLineSeparatorException) { // as in most greetings of TLS
      return "found a line that does not end in CR LF; if the client speaks TLS, give this server"
          + " a certificate, or ask it with http://";
    }
    if (cause instanceof ContentLengthNotAllowedException) {
      return "found Content-Length beside Transfer-Encoding, expected one of them";
    }
    String message = String.valueOf(cause.getMessage());
    if (message.startsWith("Content-Length value")) {
      return "found a Content-Length that is not a whole number >= 0";
    }
    if (message.startsWith("Multiple Content-Length")) {
      return "found several values of Content-Length, expected one";
    }
    if (message.startsWith("text is empty") || message.startsWith("invalid version format")) {
      return "found a first line that is not METHOD PATH HTTP/1.1; a client of Redis needs the"
          + " port of --resp";
    }
    return "found bytes that are not HTTP/1.1, expected METHOD PATH HTTP/1.1, headers as"
        + " NAME: VALUE, then a body";
  }
}
