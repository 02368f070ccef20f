// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * The TLS layer of one hostile connection. After the handshake, the layer reads only on request, so
 * data from the server stays in the network. Not thread-safe.
 */
final class TlsLayer {

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final int HANDSHAKE_MILLIS = 15_000;

  private final SSLEngine engine;
  private ByteBuffer encrypted = NOTHING; // encrypted bytes that are not yet sent
  private ByteBuffer arrived = NOTHING;

  TlsLayer(SSLEngine engine) {
    this.engine = engine;
  }

  /**
   * Completes the handshake. Blocks until the handshake is complete. Then frees the handshake
   * buffers, since there can be thousands of idle connections.
   *
   * @param channel the channel, in blocking mode
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
              throw new EOFException("the connection was closed during the handshake");
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

  /** Whether a part of an encrypted record is not yet sent. */
  boolean holds() {
    return encrypted.hasRemaining();
  }

  /**
   * Encrypts a record and writes as much of the record as the network accepts now.
   *
   * @return the number of encrypted bytes written
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
   * @param into receives the bytes; must have room for a record
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
