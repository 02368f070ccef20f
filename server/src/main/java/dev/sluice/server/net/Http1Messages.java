// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;

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
}
