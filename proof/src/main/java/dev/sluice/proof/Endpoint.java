// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/** */
public record Endpoint(InetSocketAddress address, @Nullable Trust trust, String protocol) {

  public static final String HTTP1 = "http/1.1";
  public static final String HTTP2 = "h2";

  public static final int GOOD_ADDRESS = 1;

  public static final int FIRST_HOSTILE_ADDRESS = 2;

  /** */
  public static final int HOSTILE_BUFFER = 4096;

  private static final int PATIENCE_MILLIS = 60_000;

  public Endpoint speaking(String other) {
    return new Endpoint(address, trust, other);
  }

  public Connection connect() throws IOException {
    return connect(GOOD_ADDRESS, PATIENCE_MILLIS);
  }

  /** */
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
