// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import dev.sluice.outbound.Pacer;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import java.net.URI;
import java.util.Objects;

/**
 * An interceptor for gRPC clients, whose calls wait for a {@link Pacer} before they are sent. The
 * pacer pauses calls when the server requests a wait, with {@code google.rpc.RetryInfo} or with
 * rate limit fields in metadata.
 *
 * <p>If a call would have to wait longer than the pacer or the call's deadline allows, the call
 * fails at once and is not sent. The call's status is {@code RESOURCE_EXHAUSTED}, with a {@link
 * dev.sluice.outbound.RefusedRequestException} as the cause. A call that is cancelled while it
 * waits is not charged.
 *
 * <p>The pacer derives the id of a call from the URI {@code
 * grpc://authority/package.Service/Method}; by default the id is the host. Stateless and
 * thread-safe; never blocks.
 */
public final class PacedGrpc {

  private PacedGrpc() {}

  /**
   * Returns an interceptor.
   *
   * @param pacer the pacer that decides when a call is sent
   * @return the interceptor, for {@code ManagedChannelBuilder.intercept}
   */
  public static ClientInterceptor interceptor(Pacer pacer) {
    Objects.requireNonNull(pacer, "pacer");
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
