// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A port of the server, with or without TLS.
 *
 * @param trust the certificates that clients trust; null for a port without TLS
 * @param protocol the protocol that the client requests in the TLS handshake (ALPN); empty to
 *     request none
 */
public record Endpoint(InetSocketAddress address, @Nullable Trust trust, String protocol) {

  public static final String HTTP1 = "http/1.1";
  public static final String HTTP2 = "h2";

  /** The last number of the IP address 127.0.0.x from which well-behaved clients connect. */
  public static final int GOOD_ADDRESS = 1;

  /** The last number of the first IP address 127.0.0.x from which attackers connect. */
  public static final int FIRST_HOSTILE_ADDRESS = 2;

  /**
   * The size of an attacker's receive buffer in bytes. The receive buffer is small, so that data
   * that the attacker does not read fills the server's buffers.
   */
  public static final int HOSTILE_BUFFER = 4096;

  private static final int PATIENCE_MILLIS = 60_000;

  /**
   * Returns an endpoint that equals this endpoint, except that its clients request another protocol
   * in the TLS handshake.
   */
  public Endpoint speaking(String other) {
    return new Endpoint(address, trust, other);
  }

  /** Connects from the address of well-behaved clients. A read times out after a minute. */
  public Connection connect() throws IOException {
    return connect(GOOD_ADDRESS, PATIENCE_MILLIS);
  }

  /**
   * Connects, and completes the TLS handshake if the port has TLS.
   *
   * @param from the last number of the client's address 127.0.0.x
   * @param patienceMillis the time-out of connecting and of each read
   */
  public Connection connect(int from, int patienceMillis) throws IOException {
    Socket plain = new Socket();
    try {
      if (from >= FIRST_HOSTILE_ADDRESS) {
        plain.setReceiveBufferSize(HOSTILE_BUFFER);
      }
      plain.bind(new InetSocketAddress("127.0.0." + from, 0));
      plain.connect(address, patienceMillis);
      plain.setSoTimeout(patienceMillis);
      plain.setTcpNoDelay(true);
      return new Connection(trust == null ? plain : encrypted(plain, trust));
    } catch (IOException e) {
      plain.close();
      throw e;
    }
  }

  private SSLSocket encrypted(Socket plain, Trust trusted) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            trusted
                .context()
                .getSocketFactory()
                .createSocket(plain, "localhost", address.getPort(), true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    if (!protocol.isEmpty()) {
      parameters.setApplicationProtocols(new String[] {protocol});
    }
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    return socket;
  }
}
