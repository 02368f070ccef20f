// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import dev.sluice.outbound.Pacer;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import java.net.URI;

/**
 * An interceptor for gRPC clients: calls wait for a {@link Pacer} before they leave. The pacer
 * learns when the other side wants to be left alone, from {@code google.rpc.RetryInfo} and from
 * rate limit fields in metadata.
 *
 * <p>A call that would have to wait for longer than the pacer or its own deadline allows fails at
 * once, without having left. Its status is {@code RESOURCE_EXHAUSTED}, with a {@link
 * dev.sluice.outbound.RefusedRequestException} as the cause. A call that is cancelled while it
 * waits gives up its turn.
 *
 * <p>The pacer's id is made of the URI {@code grpc://authority/package.Service/Method}; by default
 * it is the host. Stateless and thread-safe; never blocks.
 */
public final class PacedGrpc {

  private PacedGrpc() {}

  /**
   * Returns an interceptor.
   *
   * @param pacer says when calls may leave
   * @return to be given to {@code ManagedChannelBuilder.intercept}
   */
  public static ClientInterceptor interceptor(Pacer pacer) {
    return new ClientInterceptor() {
      @Override
      public <Q, A> ClientCall<Q, A> interceptCall(
          MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        URI uri = URI.create("grpc://" + next.authority() + "/" + method.getFullMethodName());
        return new PacedCall<>(pacer, uri, options, () -> next.newCall(method, options));
      }
    };
  }
}
