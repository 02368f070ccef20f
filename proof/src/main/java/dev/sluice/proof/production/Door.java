// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.IOException;

/** A protocol of the server, and how a client of it asks. */
enum Door {
  HTTP(1) {
    @Override
    Client open(Server server) throws IOException {
      return new Http1Client(
          Wire.open(server.httpPort(), server.trust(), "http/1.1"),
          Http1Client.Kind.SPEND,
          server.keys());
    }
  },
  NDJSON(1) {
    @Override
    Client open(Server server) throws IOException {
      return new Http1Client(
          Wire.open(server.httpPort(), server.trust(), "http/1.1"),
          Http1Client.Kind.STREAM,
          server.keys());
    }
  },
  FORWARD_AUTH(1) {
    @Override
    Client open(Server server) throws IOException {
      return new Http1Client(
          Wire.open(server.httpPort(), server.trust(), "http/1.1"),
          Http1Client.Kind.FORWARD_AUTH,
          server.keys());
    }
  },
  HTTP2(4) {
    @Override
    Client open(Server server) throws IOException {
      return new Http2Client(
          Wire.open(server.httpPort(), server.trust(), "h2"), false, server.keys());
    }
  },
  GRPC(4) {
    @Override
    Client open(Server server) throws IOException {
      return new Http2Client(
          Wire.open(server.grpcPort(), server.trust(), "h2"), true, server.keys());
    }
  },
  GRPC_AT_HTTP(4) {
    @Override
    Client open(Server server) throws IOException {
      return new Http2Client(
          Wire.open(server.httpPort(), server.trust(), "h2"), true, server.keys());
    }
  },
  RESP(16) {
    @Override
    Client open(Server server) throws IOException {
      return new RespClient(Wire.open(server.respPort(), server.trust(), ""), server.keys());
    }
  };

  /** The limit that all clients spend from. */
  static final String LIMIT = "ApiCallsPerKey";

  private final int atOnce;

  Door(int atOnce) {
    this.atOnce = atOnce;
  }

  /** How many requests a client sends before it reads: 1 where the protocol has no order to it. */
  int atOnce() {
    return atOnce;
  }

  /** Connects; an {@link IOException} here loses no request. */
  abstract Client open(Server server) throws IOException;
}
