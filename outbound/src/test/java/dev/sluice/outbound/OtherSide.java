// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A real server that counts requests, and answers as it is told to. */
final class OtherSide implements AutoCloseable {

  private final HttpServer server;
  private final AtomicInteger arrived = new AtomicInteger();
  private final ConcurrentLinkedQueue<Answer> answers = new ConcurrentLinkedQueue<>();

  private record Answer(int status, Map<String, String> fields) {}

  private OtherSide(HttpServer server) {
    this.server = server;
  }

  static OtherSide start() throws IOException {
    OtherSide side =
        new OtherSide(
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
    side.server.createContext(
        "/",
        exchange -> {
          side.arrived.incrementAndGet();
          Answer next = side.answers.poll();
          Answer answer = next == null ? new Answer(200, Map.of()) : next;
          answer.fields().forEach(exchange.getResponseHeaders()::set);
          exchange.sendResponseHeaders(answer.status(), -1);
          exchange.close();
        });
    side.server.start();
    return side;
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
  }

  /** Answers the next request with a 429 and these fields. */
  void refuseNext(Map<String, String> fields) {
    answerNext(429, fields);
  }

  void answerNext(int status, Map<String, String> fields) {
    answers.add(new Answer(status, fields));
  }

  int arrived() {
    return arrived.get();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
