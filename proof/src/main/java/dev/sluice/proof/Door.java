// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import dev.sluice.proof.Http1Client.Kind;
import java.io.IOException;

public enum Door {
  HTTP(0, Endpoint.HTTP1, 1) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http1Client(server.connect(), Kind.SPEND, keys);
    }
  },
  NDJSON(0, Endpoint.HTTP1, 1) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http1Client(server.connect(), Kind.STREAM, keys);
    }
  },
  FORWARD_AUTH(0, Endpoint.HTTP1, 1) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http1Client(server.connect(), Kind.FORWARD_AUTH, keys);
    }
  },
  HTTP2(0, Endpoint.HTTP2, 4) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http2Client(server, false, keys);
    }
  },
  GRPC(2, Endpoint.HTTP2, 4) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http2Client(server, true, keys);
    }
  },
  GRPC_AT_HTTP(0, Endpoint.HTTP2, 4) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new Http2Client(server, true, keys);
    }
  },
  RESP(1, "", 16) {
    @Override
    Client open(Endpoint server, Keys keys) throws IOException {
      return new RespClient(server.connect(), keys);
    }
  };

  /** The limit from which all clients spend. */
  public static final String LIMIT = "ApiCallsPerKey";

  final int port;
  final String protocol;
  private final int atOnce;

  /** Describes a protocol. */
  Door(int port, String protocol, int atOnce) {
    this.port = port;
    this.protocol = protocol;
    this.atOnce = atOnce;
  }

  public int atOnce() {
    return atOnce;
  }

  public Client open(Server server) throws IOException {
    return open(server.endpoint(this), server.keys());
  }

  abstract Client open(Endpoint server, Keys keys) throws IOException;
}
