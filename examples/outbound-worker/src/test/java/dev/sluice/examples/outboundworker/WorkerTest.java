// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.outboundworker;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class WorkerTest {

  private final List<Long> arrivals = new CopyOnWriteArrayList<>();
  private final AtomicBoolean isBusy = new AtomicBoolean();
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          arrivals.add(System.nanoTime());
          boolean refused = isBusy.getAndSet(false);
          if (refused) {
            exchange.getResponseHeaders().set("Retry-After", "1");
          }
          exchange.sendResponseHeaders(refused ? 429 : 200, -1);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private URI uri() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
  }

  private Duration since(long start) {
    return Duration.ofNanos(arrivals.get(arrivals.size() - 1) - start);
  }

  @Test
  void main_elevenRequests_takeASecond() throws Exception {
    long start = System.nanoTime();
    Worker.main(new String[] {uri().toString(), "11"});
    assertThat(arrivals).hasSize(11);
    assertThat(since(start)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void work_otherSideAsksForASecond_leavesItAlone() throws Exception {
    Worker worker = new Worker();
    isBusy.set(true);
    assertThat(worker.work(uri())).isEqualTo(429);
    assertThat(worker.work(uri())).isEqualTo(200);
    assertThat(since(arrivals.get(0))).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
  }
}
