// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.attacks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A port of the server, with TLS or without. Immutable and thread-safe.
 *
 * @param tls trusts the server; null for no TLS
 */
record Wire(InetSocketAddress address, @Nullable SSLContext tls) {

  private static final int PATIENCE_MILLIS = 5_000;
  private static final int SMALL_BUFFER = 4096;

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
      return tls.getSocketFactory().createSocket(plain, "localhost", address.getPort(), true);
    } catch (IOException e) {
      plain.close();
      throw e;
    }
  }

  /** Connects, and says nothing. */
  Socket plain(int from) throws IOException {
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
