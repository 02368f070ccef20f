// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A port of the server, with TLS or without. Immutable and thread-safe.
 *
 * @param tls the server's certificate, which its clients trust; null for no TLS
 * @param protocol what the TLS handshake asks for (ALPN); empty for a protocol without a name
 */
record Wire(InetSocketAddress address, @Nullable TlsIdentity tls, String protocol) {

  static final String HTTP1 = "http/1.1";
  static final String HTTP2 = "h2";

  private static final int PATIENCE_MILLIS = 5_000;
  private static final int SMALL_BUFFER = 4096;

  /** The same port, with another protocol asked for. */
  Wire speaking(String other) {
    return new Wire(address, tls, other);
  }

  /**
   * Connects, and shakes hands.
   *
   * @param from the last number of the address 127.0.0.x that the server sees
   */
  Socket connect(int from) throws IOException {
    Socket plain = plain(from);
    if (tls == null) {
      return plain;
    }
    try {
      SSLSocket socket =
          (SSLSocket)
              tls.trusting()
                  .getSocketFactory()
                  .createSocket(plain, "localhost", address.getPort(), true);
      socket.setSSLParameters(asking(socket.getSSLParameters()));
      socket.startHandshake();
      return socket;
    } catch (IOException e) {
      plain.close();
      throw e;
    }
  }

  /** Makes the client's side of a handshake that has not begun; null for no TLS. */
  @Nullable SSLEngine engine() {
    return tls == null ? null : tls.engine(protocol);
  }

  private SSLParameters asking(SSLParameters parameters) {
    if (!protocol.isEmpty()) {
      parameters.setApplicationProtocols(new String[] {protocol});
    }
    return parameters;
  }

  /** Returns where a client of HTTP finds a path. */
  URI uri(String path) {
    return URI.create(
        "%s://127.0.0.1:%s%s".formatted(tls == null ? "http" : "https", address.getPort(), path));
  }

  private Socket plain(int from) throws IOException {
    Socket socket = new Socket();
    try {
      if (from >= Attack.FIRST_ADDRESS) {
        socket.setReceiveBufferSize(SMALL_BUFFER); // what an attacker leaves unread stays there
      }
      socket.bind(new InetSocketAddress("127.0.0." + from, 0));
      socket.connect(address, PATIENCE_MILLIS);
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket.setTcpNoDelay(true);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }
}
