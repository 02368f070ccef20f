// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.Immutable;
import dev.sluice.proof.Http1Client.Kind;
import java.io.IOException;

/** A protocol of the server, with the client that the campaigns use for the protocol. */
public enum Door {
  HTTP(0, Endpoint.HTTP1, 1, (server, keys) -> new Http1Client(server.connect(), Kind.SPEND, keys)),
  NDJSON(
      0, Endpoint.HTTP1, 1, (server, keys) -> new Http1Client(server.connect(), Kind.STREAM, keys)),
  FORWARD_AUTH(
      0,
      Endpoint.HTTP1,
      1,
      (server, keys) -> new Http1Client(server.connect(), Kind.FORWARD_AUTH, keys)),
  HTTP2(0, Endpoint.HTTP2, 4, (server, keys) -> new Http2Client(server, false, keys)),
  GRPC(2, Endpoint.HTTP2, 4, (server, keys) -> new Http2Client(server, true, keys)),
  GRPC_AT_HTTP(0, Endpoint.HTTP2, 4, (server, keys) -> new Http2Client(server, true, keys)),
  RESP(1, "", 16, (server, keys) -> new RespClient(server.connect(), keys));

  /** The limit from which all clients spend. */
  public static final String LIMIT = "ApiCallsPerKey";

  final int port;
  final String protocol;
  private final int atOnce;
  private final Opening opening;

  /**
   * Describes a protocol.
   *
   * @param port the index of the server's port: 0 for HTTP, 1 for Redis clients, 2 for gRPC alone
   * @param protocol the protocol that the client requests in a TLS handshake (ALPN)
   * @param atOnce the number of requests that a client sends before it reads the responses
   * @param opening connects a client
   */
  Door(int port, String protocol, int atOnce, Opening opening) {
    this.port = port;
    this.protocol = protocol;
    this.atOnce = atOnce;
    this.opening = opening;
  }

  /**
   * Returns how many requests a client sends before it reads the responses; 1 if the server can
   * send responses in any order.
   */
  public int atOnce() {
    return atOnce;
  }

  /**
   * Connects a client. If this method throws an {@link IOException}, no request was sent, so no
   * request was lost.
   */
  public Client open(Server server) throws IOException {
    return opening.open(server.endpoint(this), server.keys());
  }

  @Immutable
  private interface Opening {
    Client open(Endpoint server, Keys keys) throws IOException;
  }
}
