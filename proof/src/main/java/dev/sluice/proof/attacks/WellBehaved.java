// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Connection;
import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Server;
import java.util.ArrayList;
import java.util.List;

/**
 * A well-behaved client of one protocol, which sends a request every few milliseconds. If the
 * protocol allows several requests on a connection, the client sends ten requests on each. The
 * server must decide each request.
 */
final class WellBehaved implements AutoCloseable {

  private static final int PATIENCE_MILLIS = 5_000;
  private static final int REQUESTS_A_CONNECTION = 10;
  private static final double NANOS_PER_MILLI = 1e6;

  private final Target target;
  private final Endpoint server;
  private final int pauseMillis;
  private final Thread thread = new Thread(this::run, "well-behaved");
  private final List<Long> waitsNanos = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private volatile boolean over;

  private WellBehaved(Target target, Endpoint server, int pauseMillis) {
    this.target = target;
    this.server = server;
    this.pauseMillis = pauseMillis;
  }

  static WellBehaved start(Server server) {
    return start(Target.HTTP, server.endpoint(Target.HTTP.door()), 5);
  }

  static WellBehaved start(Target target, Endpoint server, int pauseMillis) {
    WellBehaved client = new WellBehaved(target, server, pauseMillis);
    client.thread.start();
    return client;
  }

  private void run() {
    while (!over) {
      long start = System.nanoTime();
      try (Connection connection = server.connect(Endpoint.GOOD_ADDRESS, PATIENCE_MILLIS)) {
        int requests = target.keepsConnection() ? REQUESTS_A_CONNECTION : 1;
        for (int i = 0; i < requests && !over; i++) {
          connection.write(target.request());
          target.readAnswer(connection);
          add(System.nanoTime() - start, "");
          Thread.sleep(pauseMillis);
          start = System.nanoTime();
        }
      } catch (InterruptedException e) {
        return;
      } catch (Throwable e) { // also a response that cannot be parsed is a failure
        add(System.nanoTime() - start, target.text() + ": " + e);
      }
    }
  }

  private synchronized void add(long nanos, String failure) {
    waitsNanos.add(nanos);
    if (!failure.isEmpty()) {
      failures.add(failure);
    }
  }

  /**
   * The measurements of several clients.
   *
   * @param failures the failures of all requests that did not get the expected response
   */
  record Figures(int requests, List<String> failures, double p99Millis) {}

  /** Returns the measurements of several clients since the previous call. */
  static Figures take(List<WellBehaved> clients) {
    List<Long> waits = new ArrayList<>();
    List<String> failed = new ArrayList<>();
    clients.forEach(client -> client.take(waits, failed));
    long[] sorted = waits.stream().mapToLong(Long::longValue).sorted().toArray();
    int requests = sorted.length;
    double p99Nanos = requests == 0 ? Double.NaN : sorted[(int) (requests * 0.99)];
    return new Figures(requests, List.copyOf(failed), p99Nanos / NANOS_PER_MILLI);
  }

  private synchronized void take(List<Long> waits, List<String> failed) {
    waits.addAll(waitsNanos);
    failed.addAll(failures);
    waitsNanos.clear();
    failures.clear();
  }

  @Override
  public void close() {
    over = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
