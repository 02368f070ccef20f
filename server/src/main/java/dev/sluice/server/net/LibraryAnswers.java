// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Headers.PseudoHeaderName;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/*
 * The library answers OPTIONS * itself, without the checks of this server: the request asks for the
 * root in its place. The library refuses the target of a CONNECT, which is not a path, before it
 * looks at the method: with a path, the answer is a 405. It asks for the body of each request that
 * expects 100 Continue, and forward-auth reads no body.
 */
/** Changes requests that the library would answer by rules of its own. Stateless. */
final class LibraryAnswers {

  private static final String ROOT = "/";
  private static final String SERVER = "*";

  private LibraryAnswers() {}

  /** Changes a request of HTTP/1. */
  static void avoid(HttpRequest request) {
    if (isWithoutPath(request.method().asciiName(), request.uri())) {
      request.setUri(ROOT);
    }
    if (AnyMethod.isAsked(request.uri()) && waits(request.headers().get(HttpHeaderNames.EXPECT))) {
      request.headers().remove(HttpHeaderNames.EXPECT);
    }
  }

  /** Changes a request of HTTP/2. */
  static void avoid(Http2Headers headers) {
    CharSequence method = headers.method();
    CharSequence path = headers.path();
    boolean isTunnel = headers.contains(PseudoHeaderName.PROTOCOL.value()); // which has a path
    if (method != null && !isTunnel && isWithoutPath(method, path)) {
      headers.path(ROOT);
    }
    if (path != null
        && AnyMethod.isAsked(path.toString())
        && waits(headers.get(HttpHeaderNames.EXPECT))) {
      headers.remove(HttpHeaderNames.EXPECT);
    }
  }

  private static boolean isWithoutPath(CharSequence method, @Nullable CharSequence target) {
    return HttpMethod.CONNECT.asciiName().contentEquals(method)
        || (HttpMethod.OPTIONS.asciiName().contentEquals(method)
            && target != null
            && AsciiString.contentEquals(SERVER, target));
  }

  private static boolean waits(@Nullable CharSequence expectation) {
    return expectation != null
        && AsciiString.contentEqualsIgnoreCase(HttpHeaderValues.CONTINUE, expectation);
  }
}
