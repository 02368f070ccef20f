// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.outboundworker;

import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import dev.sluice.outbound.PacedHttpClient;
import dev.sluice.outbound.Pacer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** Sends requests, no more than 10 a second to each host. */
public final class Worker {

  private final HttpClient client;

  Worker() {
    // begin: client
    Limit perHost = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1))); // evenly
    Pacer pacer = Pacer.builder(perHost, Duration.ofMinutes(1)).build();
    HttpClient client = PacedHttpClient.of(HttpClient.newHttpClient(), pacer);
    // end: client
    this.client = client;
  }

  /**
   * Sends requests to one address.
   *
   * @param args the URI, and the number of requests
   * @throws IOException if a request fails
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    Worker worker = new Worker();
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      System.out.println(worker.work(URI.create(args[0])));
    }
  }

  int work(URI uri) throws IOException, InterruptedException {
    // begin: send
    HttpRequest request = HttpRequest.newBuilder(uri).build();
    HttpResponse<Void> response = client.send(request, BodyHandlers.discarding()); // waits its turn
    // end: send
    return response.statusCode();
  }
}
