// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Http2Frames;
import dev.sluice.proof.Trust;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** A hostile connection that writes as much as the server accepts, and reads only on request. */
final class HostileConnection implements AutoCloseable {

  private final SocketChannel channel;
  private final @Nullable TlsLayer tls;
  private ByteBuffer unsent = ByteBuffer.allocate(0);
  private boolean broken;
  private long sentBytes;

  private HostileConnection(SocketChannel channel, @Nullable TlsLayer tls, boolean broken) {
    this.channel = channel;
    this.tls = tls;
    this.broken = broken;
  }

  /**
   * Connects, and completes the TLS handshake if the endpoint has TLS.
   *
   * @param from the last number of the client's address 127.0.0.x
   * @throws IOException if the server refuses the connection. If the server accepts the connection
   *     and resets it at once, the method returns a broken connection
   */
  static HostileConnection connect(Endpoint server, int from) throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      channel.setOption(StandardSocketOptions.SO_RCVBUF, Endpoint.HOSTILE_BUFFER);
      channel.bind(new InetSocketAddress("127.0.0." + from, 0));
      channel.connect(server.address());
      Trust trust = server.trust();
      TlsLayer tls = trust == null ? null : new TlsLayer(trust.engine(server.protocol()));
      boolean broken = tls != null && !shookHands(tls, channel);
      channel.configureBlocking(false);
      return new HostileConnection(channel, tls, broken);
    } catch (IOException e) {
      channel.close();
      if (String.valueOf(e.getMessage()).contains("reset")) {
        return new HostileConnection(channel, null, true);
      }
      throw e;
    }
  }

  private static boolean shookHands(TlsLayer tls, SocketChannel channel) {
    try {
      tls.shakeHands(channel);
      return true;
    } catch (IOException e) {
      return false; // the server closed the connection
    }
  }

  void send(byte[]... parts) {
    byte[] more = Http2Frames.joined(parts);
    ByteBuffer all = ByteBuffer.allocate(unsent.remaining() + more.length);
    unsent = all.put(unsent).put(more).flip();
  }

  /** Writes as many bytes as the network accepts now. Returns true if bytes were written. */
  boolean pump() {
    if (isIdle()) {
      return false;
    }
    try {
      int sent = tls == null ? channel.write(unsent) : tls.write(channel, unsent);
      sentBytes += sent;
      return sent > 0;
    } catch (IOException e) {
      broken = true; // the server closed the connection
      return false;
    }
  }

  /** Whether a read or a write has shown that the server has closed the connection. */
  boolean isBroken() {
    return broken;
  }

  boolean isIdle() {
    return broken || (!unsent.hasRemaining() && (tls == null || !tls.holds()));
  }

  /** Returns the number of bytes written to the network; with TLS, of encrypted bytes. */
  long sentBytes() {
    return sentBytes;
  }

  /** Reads the available bytes; returns -1 if the server closed the connection. */
  int read(ByteBuffer into) {
    try {
      int read = tls == null ? channel.read(into) : tls.read(channel, into);
      broken |= read < 0;
      return read;
    } catch (IOException e) {
      broken = true;
      return -1;
    }
  }

  @Override
  public void close() {
    try {
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      channel.close();
    } catch (IOException e) {
      // The connection is already closed.
    }
  }
}
