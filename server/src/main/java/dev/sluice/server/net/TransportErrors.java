// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.handler.codec.http.HttpExpectationFailedEvent;
import io.netty.handler.ssl.SslCompletionEvent;

/**
 * Handles errors before the library's last handler, which logs a stack trace for each. For errors
 * that clients can cause, a paced single line is enough.
 */
final class TransportErrors extends ChannelInboundHandlerAdapter {

  private final ConnectionBudget traffic;
  private final Channel channel;

  TransportErrors(ConnectionBudget traffic, Channel channel) {
    this.traffic = traffic;
    this.channel = channel;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    boolean isDealtWith =
        event instanceof HttpExpectationFailedEvent // answered with 417
            || event instanceof SslCompletionEvent
            || event instanceof ChannelInputShutdownEvent // handled by Connection
            || event instanceof ChannelInputShutdownReadComplete;
    if (!isDealtWith) {
      context.fireUserEventTriggered(event);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    traffic.failed(channel, cause);
    var unused = context.close();
  }
}
