// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * A proxy that forwards bytes between clients and one server, and injects faults: delays, closed
 * connections, and connections on which no bytes are forwarded. Thread-safe.
 */
final class Proxy implements AutoCloseable {

  private static final int BACKLOG = 50;
  private static final int BUFFER = 8192;

  private final ServerSocket door;
  private final int serverPort;
  private final List<Pair> pairs = new CopyOnWriteArrayList<>();
  private volatile long delayMillis;

  private Proxy(ServerSocket door, int serverPort) {
    this.door = door;
    this.serverPort = serverPort;
  }

  static Proxy before(int serverPort) throws IOException {
    Proxy proxy =
        new Proxy(new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress()), serverPort);
    start(proxy::accept);
    return proxy;
  }

  String address() {
    return "127.0.0.1:" + door.getLocalPort();
  }

  void delay(long millis) {
    delayMillis = millis;
  }

  /** From now on, drops all bytes on the open connections, but keeps the connections open. */
  void silence() {
    pairs.forEach(pair -> pair.silent = true);
  }

  /** Closes all open connections. Requests and responses in flight are lost. */
  void cut() {
    pairs.forEach(Pair::close);
    pairs.clear();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = door.accept();
        try {
          Pair pair = new Pair(client, new Socket(InetAddress.getLoopbackAddress(), serverPort));
          pairs.add(pair);
          start(() -> pass(pair, pair.client, pair.server));
          start(() -> pass(pair, pair.server, pair.client));
        } catch (IOException e) {
          client.close(); // the server is unreachable
        }
      }
    } catch (IOException e) {
      // The proxy was closed.
    }
  }

  private void pass(Pair pair, Socket from, Socket to) {
    byte[] bytes = new byte[BUFFER];
    try (InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream()) {
      for (int length = in.read(bytes); length >= 0; length = in.read(bytes)) {
        if (delayMillis > 0) {
          TimeUnit.MILLISECONDS.sleep(delayMillis);
        }
        if (!pair.silent) {
          out.write(bytes, 0, length);
        }
      }
    } catch (IOException e) {
      // One side closed its connection.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      pair.close();
    }
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "proxy");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    door.close();
    cut();
  }

  /** The two sockets of a forwarded connection: to the client and to the server. */
  private static final class Pair {
    private final Socket client;
    private final Socket server;
    private volatile boolean silent;

    Pair(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void close() {
      try {
        client.close();
        server.close();
      } catch (IOException e) {
        // The connection is already closed.
      }
    }
  }
}
