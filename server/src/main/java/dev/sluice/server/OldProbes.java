// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;

/**
 * Names this host where a request of HTTP/1.0 names none, as probes of load balancers do. The
 * library knows no versions, and a request of HTTP/1.1 without a host is refused (RFC 9112, section
 * 3.2). Stateless.
 */
@Sharable
final class OldProbes extends ChannelInboundHandlerAdapter {

  static final OldProbes INSTANCE = new OldProbes();

  private OldProbes() {}

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof HttpRequest request
        && request.protocolVersion().compareTo(HttpVersion.HTTP_1_1) < 0
        && !request.headers().contains(HttpHeaderNames.HOST)) {
      request.headers().set(HttpHeaderNames.HOST, RequestChecks.LOCALHOST);
    }
    context.fireChannelRead(message);
  }
}
