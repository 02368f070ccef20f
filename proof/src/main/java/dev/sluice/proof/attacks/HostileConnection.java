// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Http2Frames;
import dev.sluice.proof.Trust;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * An attacker's connection, which writes as much as the server accepts, and reads only in {@link
 * #read}.
 */
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
   * @throws IOException if the server refuses the connection; if the server accepts the connection
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

  /**
   * Writes as many bytes as the network accepts without waiting. Returns whether bytes were
   * written.
   */
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

  /**
   * Returns whether the server has closed the connection, as far as a read or a write has detected
   * this.
   */
  boolean isBroken() {
    return broken;
  }

  boolean isIdle() {
    return broken || (!unsent.hasRemaining() && (tls == null || !tls.holds()));
  }

  /**
   * Returns the number of bytes written to the network; with TLS, the number of encrypted bytes.
   */
  long sentBytes() {
    return sentBytes;
  }

  /** Reads the available bytes without waiting. Returns -1 if the server closed the connection. */
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

  /**
   * The TLS layer of one hostile connection. After the handshake, the TLS layer reads only when the
   * attack calls {@link #read(SocketChannel, ByteBuffer)}. Not thread-safe.
   */
  private static final class TlsLayer {

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    private static final int HANDSHAKE_MILLIS = 15_000;

    private final SSLEngine engine;
    private ByteBuffer encrypted = NOTHING; // encrypted bytes that are not sent yet
    private ByteBuffer arrived = NOTHING;

    TlsLayer(SSLEngine engine) {
      this.engine = engine;
    }

    /**
     * Makes the handshake. Blocks until the handshake is complete, and then frees the handshake's
     * buffers, since an attack can have thousands of idle connections.
     *
     * @param channel in blocking mode
     */
    void shakeHands(SocketChannel channel) throws IOException {
      channel.socket().setSoTimeout(HANDSHAKE_MILLIS);
      InputStream in = channel.socket().getInputStream();
      arrived = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      ByteBuffer plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize());
      engine.beginHandshake();
      HandshakeStatus status = engine.getHandshakeStatus();
      boolean starved = true;
      while (status != HandshakeStatus.NOT_HANDSHAKING && status != HandshakeStatus.FINISHED) {
        switch (status) {
          case NEED_WRAP -> {
            status = wrap(NOTHING).getHandshakeStatus();
            while (encrypted.hasRemaining()) {
              var unused = channel.write(encrypted);
            }
          }
          case NEED_TASK -> {
            runTasks();
            status = engine.getHandshakeStatus();
          }
          default -> {
            if (starved) {
              int more = in.read(arrived.array(), arrived.position(), arrived.remaining());
              if (more < 0) {
                throw new EOFException("closed amid the handshake");
              }
              arrived.position(arrived.position() + more);
            }
            SSLEngineResult result = engine.unwrap(arrived.flip(), plain);
            arrived.compact();
            starved =
                result.getStatus() == SSLEngineResult.Status.BUFFER_UNDERFLOW
                    || arrived.position() == 0;
            status = result.getHandshakeStatus();
          }
        }
      }
      arrived = arrived.position() == 0 ? NOTHING : arrived;
      encrypted = NOTHING;
    }

    private void runTasks() {
      for (Runnable task = engine.getDelegatedTask();
          task != null;
          task = engine.getDelegatedTask()) {
        task.run();
      }
    }

    private SSLEngineResult wrap(ByteBuffer plain) throws SSLException {
      ByteBuffer record = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      SSLEngineResult result = engine.wrap(plain, record);
      encrypted = record.flip();
      return result;
    }

    /** Returns whether a part of an encrypted record has not been sent yet. */
    boolean holds() {
      return encrypted.hasRemaining();
    }

    /**
     * Encrypts a record, and writes as much of the record as the network accepts without waiting.
     *
     * @return the number of encrypted bytes that were written
     */
    int write(SocketChannel channel, ByteBuffer plain) throws IOException {
      if (!encrypted.hasRemaining()) {
        SSLEngineResult unused = wrap(plain);
      }
      int sent = channel.write(encrypted);
      if (!encrypted.hasRemaining()) {
        encrypted = NOTHING;
      }
      return sent;
    }

    /**
     * Reads and decrypts the available bytes.
     *
     * @param into the buffer, which must have room for a record
     * @return the number of plain bytes; -1 if the server closed the connection
     */
    int read(SocketChannel channel, ByteBuffer into) throws IOException {
      if (arrived.capacity() == 0) {
        arrived = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      }
      int more = channel.read(arrived);
      int before = into.position();
      arrived.flip();
      SSLEngineResult.Status status = SSLEngineResult.Status.OK;
      while (arrived.hasRemaining() && status == SSLEngineResult.Status.OK) {
        status = engine.unwrap(arrived, into).getStatus();
        runTasks();
      }
      arrived.compact();
      int read = into.position() - before;
      boolean over = more < 0 || status == SSLEngineResult.Status.CLOSED;
      return read == 0 && over ? -1 : read;
    }
  }
}
