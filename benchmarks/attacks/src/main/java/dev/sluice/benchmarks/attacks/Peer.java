// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.attacks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** One hostile connection that writes as much as the server takes, and reads only when told to. */
final class Peer implements AutoCloseable {

  private static final int SMALL_BUFFER = 4096;

  private final SocketChannel channel;
  private ByteBuffer unsent = ByteBuffer.allocate(0);
  private boolean broken;
  private long sentBytes;

  private Peer(SocketChannel channel, boolean broken) {
    this.channel = channel;
    this.broken = broken;
  }

  /**
   * Connects.
   *
   * @param from the last number of the address 127.0.0.x that the server sees
   * @throws IOException if there is no connection; a server that accepts it and resets it at once
   *     had one, which is broken
   */
  static Peer connect(InetSocketAddress server, int from) throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      channel.setOption(StandardSocketOptions.SO_RCVBUF, SMALL_BUFFER); // unread bytes stay there
      channel.bind(new InetSocketAddress("127.0.0." + from, 0));
      channel.connect(server);
      channel.configureBlocking(false);
      return new Peer(channel, false);
    } catch (IOException e) {
      channel.close();
      if (String.valueOf(e.getMessage()).contains("reset")) {
        return new Peer(channel, true);
      }
      throw e;
    }
  }

  /** Adds bytes to be sent. */
  void send(byte[]... parts) {
    byte[] more = Http2.joined(parts);
    ByteBuffer all = ByteBuffer.allocate(unsent.remaining() + more.length);
    unsent = all.put(unsent).put(more).flip();
  }

  /** Writes what the network takes now; true if something was written. */
  boolean pump() {
    if (isIdle()) {
      return false;
    }
    try {
      int sent = channel.write(unsent);
      sentBytes += sent;
      return sent > 0;
    } catch (IOException e) {
      broken = true; // the server hung up
      return false;
    }
  }

  /** Whether the server hung up, as far as a read or a write has shown. */
  boolean isBroken() {
    return broken;
  }

  boolean isIdle() {
    return broken || !unsent.hasRemaining();
  }

  /** How many bytes the network took. */
  long sentBytes() {
    return sentBytes;
  }

  /** Reads what is there; -1 if the server hung up. */
  int read(ByteBuffer into) {
    try {
      int read = channel.read(into);
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
      // closed already
    }
  }
}
