// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Headers.PseudoHeaderName;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Changes HTTP/1 requests before Armeria reads them: two headers, {@linkplain AnyMethod unknown
 * methods}, and requests that {@linkplain LibraryAnswers Armeria would answer} itself. Reports each
 * request and each written response to the {@link Connection}, including Armeria's own responses.
 * Armeria sends responses in the order of the requests.
 *
 * <p>An HTTP/1.0 request without a host, such as a load balancer's probe, gets the host {@code
 * localhost}. Armeria cannot add the host, since Armeria does not distinguish HTTP/1.0 from
 * HTTP/1.1, and an HTTP/1.1 request without a host must be refused (RFC 9112, section 3.2).
 *
 * <p>The header {@code Upgrade} is ignored, so the response is sent over HTTP/1.1; only the rules
 * of forward-auth see the header. RFC 9113, section 3.1, has withdrawn the upgrade to HTTP/2; an
 * upgrade also bypasses a proxy's rules for paths. The JDK's HTTP client requests the upgrade to
 * HTTP/2 by default. With JDK 17 and a response of 40 kB, about one upgrade in a hundred never
 * completed, even with a plain Armeria server. Clients that use HTTP/2 from the first byte, such as
 * gRPC clients, need no upgrade.
 */
@Sharable
final class Http1Messages extends ChannelDuplexHandler {

  static final Http1Messages INSTANCE = new Http1Messages();

  private Http1Messages() {}

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof HttpRequest request) {
      HttpHeaders headers = request.headers();
      if (request.protocolVersion().compareTo(HttpVersion.HTTP_1_1) < 0
          && !headers.contains(HttpHeaderNames.HOST)) {
        headers.set(HttpHeaderNames.HOST, RequestChecks.LOCALHOST);
      }
      AnyMethod.hideUpgrade(request);
      LibraryAnswers.avoid(request);
      AnyMethod.accept(request);
      Connection.of(context.channel()).asked();
    }
    context.fireChannelRead(message);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    ChannelPromise written = promise;
    if (message instanceof LastHttpContent && !isInformational(message)) {
      written = promise.unvoid().addListener(Connection.of(context.channel()).answered());
    }
    var unused = context.write(message, written);
  }

  private static boolean isInformational(Object message) {
    return message instanceof HttpResponse response
        && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
  }

  /*
   * Armeria itself answers the request OPTIONS *, without the checks of this server, so the target
   * is changed to the path "/". The target of a CONNECT request is not a path, so Armeria refuses
   * the target before it checks the method. A CONNECT request's target is changed to a path, so
   * that the client gets a 405. Armeria would answer Expect: 100-continue by asking for the body,
   * but forward-auth needs no body.
   */
  /** Changes requests that Armeria would otherwise answer without calling this server. */
  static final class LibraryAnswers {

    private static final String ROOT = "/";
    private static final String SERVER = "*";

    private LibraryAnswers() {}

    static void avoid(HttpRequest request) {
      if (isWithoutPath(request.method().asciiName(), request.uri())) {
        request.setUri(ROOT);
      }
      if (AnyMethod.isAsked(request.uri())
          && waits(request.headers().get(HttpHeaderNames.EXPECT))) {
        request.headers().remove(HttpHeaderNames.EXPECT);
      }
    }

    static void avoid(Http2Headers headers) {
      CharSequence method = headers.method();
      CharSequence path = headers.path();
      // A CONNECT request of RFC 8441 already has a path.
      boolean isTunnel = headers.contains(PseudoHeaderName.PROTOCOL.value());
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
}
