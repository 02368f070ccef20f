// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Passes bytes on between clients and a server, until it is told to forget: as a firewall that lost
 * its memory, which swallows what comes on old connections, tells nobody, and lets new ones
 * through.
 */
final class Relay implements AutoCloseable {

  private final ServerSocket door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final List<Pair> pairs = new CopyOnWriteArrayList<>();
  private volatile int serverPort;
  private volatile boolean silent;

  Relay() throws IOException {}

  /** Two sockets that belong together. */
  private static final class Pair {
    private final Socket client;
    private final Socket server;
    private volatile boolean forgotten;

    Pair(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void pass(Socket from, Socket to) {
      byte[] bytes = new byte[8192];
      try (InputStream in = from.getInputStream();
          OutputStream out = to.getOutputStream()) {
        for (int length = in.read(bytes); length >= 0; length = in.read(bytes)) {
          if (!forgotten) {
            out.write(bytes, 0, length);
          }
        }
      } catch (IOException e) {
        // The other side is gone.
      }
    }
  }

  int port() {
    return door.getLocalPort();
  }

  /** Begins. */
  void to(int port) {
    serverPort = port;
    start(this::accept);
  }

  private void accept() {
    try {
      while (true) {
        Socket client = door.accept();
        Pair pair = new Pair(client, new Socket(InetAddress.getLoopbackAddress(), serverPort));
        pair.forgotten = silent;
        pairs.add(pair);
        start(() -> pair.pass(pair.client, pair.server));
        start(() -> pair.pass(pair.server, pair.client));
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "relay");
    thread.setDaemon(true);
    thread.start();
  }

  /** Swallows from now on what comes on the connections that there are. */
  void forget() {
    pairs.forEach(pair -> pair.forgotten = true);
  }

  /** Swallows everything from now on, as a server that froze: it still takes connections. */
  void freeze() {
    silent = true;
    forget();
  }

  /** Whether anybody has connected yet. */
  boolean isUsed() {
    return !pairs.isEmpty();
  }

  /** Ends the connections that there are. */
  void cut() throws IOException {
    for (Pair pair : pairs) {
      pair.client.close();
      pair.server.close();
    }
  }

  @Override
  public void close() {
    try {
      door.close();
      cut();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
