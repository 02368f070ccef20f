// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A client that does nothing wrong: a spend every few milliseconds, on a connection that it keeps,
 * and every tenth on a new one. Each request must be answered with 200.
 */
final class WellBehaved implements AutoCloseable {

  private static final byte[] SPEND = request("127.0.0.1");
  private static final int PAUSE_MILLIS = 5;
  private static final int NEW_CONNECTION_EVERY = 10;
  private static final double NANOS_PER_MILLI = 1e6;

  private final Wire server;
  private final Thread thread = new Thread(this::run, "well-behaved");
  private volatile boolean over;
  private final List<Long> waitsNanos = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private Socket kept = new Socket();

  private WellBehaved(Wire server) {
    this.server = server;
  }

  static WellBehaved start(Wire server) {
    WellBehaved client = new WellBehaved(server);
    client.thread.start();
    return client;
  }

  static byte[] request(String id) {
    String body = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"%s\",\"cost\":0}".formatted(id);
    return ("POST /v1/spend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: "
            + body.length()
            + "\r\n\r\n"
            + body)
        .getBytes(StandardCharsets.US_ASCII);
  }

  private void run() {
    kept = reopened(kept);
    for (int i = 1; !over; i++) {
      long start = System.nanoTime();
      String failure = "";
      try {
        if (i % NEW_CONNECTION_EVERY == 0) {
          kept = reopened(kept);
        }
        ask(kept);
      } catch (IOException e) {
        failure = e.toString();
        kept = reopened(kept);
      }
      add(System.nanoTime() - start, failure);
      try {
        Thread.sleep(PAUSE_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private synchronized void add(long nanos, String failure) {
    waitsNanos.add(nanos);
    if (!failure.isEmpty()) {
      failures.add(failure);
    }
  }

  private Socket reopened(Socket old) {
    try {
      old.close();
      return server.connect(Attack.GOOD_ADDRESS);
    } catch (IOException e) {
      return old; // the next request fails
    }
  }

  private static void ask(Socket socket) throws IOException {
    socket.getOutputStream().write(SPEND);
    String status = Answer.read(new BufferedInputStream(socket.getInputStream())).status();
    if (!status.contains(" 200 ")) {
      throw new IOException("answered " + status);
    }
  }

  /** An answer's first line and headers; its body is read and dropped. */
  record Answer(String status, boolean closes) {
    static Answer read(InputStream in) throws IOException {
      String status = line(in);
      boolean closes = false;
      int length = 0;
      for (String header = line(in); !header.isEmpty(); header = line(in)) {
        String lower = header.toLowerCase(Locale.ROOT);
        if (lower.startsWith("content-length:")) {
          length = Integer.parseInt(lower.substring("content-length:".length()).strip());
        }
        closes |= lower.startsWith("connection:") && lower.contains("close");
      }
      if (in.readNBytes(length).length < length) {
        throw new IOException("closed amid an answer");
      }
      return new Answer(status, closes);
    }

    static String line(InputStream in) throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0) {
          throw new IOException(line.isEmpty() ? "closed without an answer" : "closed amid a line");
        }
        if (c != '\r') {
          line.append((char) c);
        }
      }
      return line.toString();
    }
  }

  /**
   * The client's view of a while.
   *
   * @param failures what each failed request met instead of its answer
   */
  record Figures(int requests, List<String> failures, double p99Millis) {}

  /** The figures since the last time. */
  synchronized Figures take() {
    long[] sorted = waitsNanos.stream().mapToLong(Long::longValue).sorted().toArray();
    int requests = sorted.length;
    Figures figures =
        new Figures(
            requests,
            List.copyOf(failures),
            requests == 0 ? Double.NaN : sorted[(int) (requests * 0.99)] / NANOS_PER_MILLI);
    waitsNanos.clear();
    failures.clear();
    return figures;
  }

  @Override
  public void close() {
    over = true;
    try {
      thread.join();
      kept.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      // closed already
    }
  }
}
