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
 * Changes two headers of HTTP/1, {@linkplain AnyMethod methods}, and requests that {@linkplain
 * LibraryAnswers the library would answer}, before the library reads them. Tells the connection of
 * each request that comes in and of each answer that goes out. The library keeps answers until
 * those before them are out, also of requests that it refuses on its own. Stateless.
 *
 * <p>Where a request of HTTP/1.0 names no host, this host is named, as probes of load balancers
 * name none. The library knows no versions, and a request of HTTP/1.1 without a host is refused
 * (RFC 9112, section 3.2).
 *
 * <p>{@code Upgrade} is ignored, so the answer comes over HTTP/1.1. RFC 9113, section 3.1, has
 * withdrawn the upgrade to HTTP/2, and it passes a proxy's rules for paths. The JDK's client asks
 * for it by default. With JDK 17 and a response of 40 kB, it waited for ever in about one of a
 * hundred upgrades, also with a plain server of the library. Clients that know HTTP/2 before they
 * connect, such as those of gRPC, need no upgrade.
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
      headers.remove(HttpHeaderNames.UPGRADE);
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
   * The library answers OPTIONS * itself, without the checks of this server: the request asks for the
   * root in its place. The library refuses the target of a CONNECT, which is not a path, before it
   * looks at the method: with a path, the answer is a 405. It asks for the body of each request that
   * expects 100 Continue, and forward-auth reads no body.
   */
  /** Changes requests that the library would answer by rules of its own. Stateless. */
  static final class LibraryAnswers {

    private static final String ROOT = "/";
    private static final String SERVER = "*";

    private LibraryAnswers() {}

    /** Changes a request of HTTP/1. */
    static void avoid(HttpRequest request) {
      if (isWithoutPath(request.method().asciiName(), request.uri())) {
        request.setUri(ROOT);
      }
      if (AnyMethod.isAsked(request.uri())
          && waits(request.headers().get(HttpHeaderNames.EXPECT))) {
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
}
