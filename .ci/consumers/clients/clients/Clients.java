// SPDX-License-Identifier: Apache-2.0
package clients;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import dev.sluice.grpc.PacedGrpc;
import dev.sluice.kotlin.Limiters;
import dev.sluice.outbound.PacedHttpClient;
import dev.sluice.outbound.PacedRestClient;
import dev.sluice.outbound.PacedWebClient;
import dev.sluice.outbound.Pacer;
import dev.sluice.spring.RateLimited;
import dev.sluice.webflux.RateLimitWebFilter;
import io.grpc.ClientInterceptor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.http.client.reactive.JdkClientHttpConnector;
import org.springframework.web.client.RestClient;
import org.springframework.web.reactive.function.client.WebClient;

/**
 * Three clients behind one pacer ask a local server; the fourth request may not wait for its turn.
 * OkHttp is left out: two of the jars that it brings name their module okio, and one is empty.
 */
public final class Clients {

  private Clients() {}

  public static void main(String[] args) {
    try {
      System.exit(fourthIsRefused() ? 0 : 1);
    } catch (Exception | LinkageError e) {
      e.printStackTrace();
      System.exit(1); // the server has a thread of its own
    }
  }

  private static boolean fourthIsRefused() throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    server.start();
    URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    Pacer pacer =
        Pacer.builder(Limit.of(Quota.burst(3).refill(1, Duration.ofHours(1))), Duration.ofSeconds(1))
            .build();

    PacedHttpClient.of(HttpClient.newHttpClient(), pacer)
        .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.discarding());
    RestClient.builder()
        .requestFactory(new JdkClientHttpRequestFactory())
        .requestInterceptor(PacedRestClient.interceptor(pacer))
        .build()
        .get()
        .uri(uri)
        .retrieve()
        .toBodilessEntity();
    WebClient web =
        WebClient.builder()
            .clientConnector(new JdkClientHttpConnector())
            .filter(PacedWebClient.filter(pacer))
            .build();
    web.get().uri(uri).retrieve().toBodilessEntity().block(Duration.ofSeconds(10));
    boolean fourthLeft = true;
    try {
      web.get().uri(uri).retrieve().toBodilessEntity().block(Duration.ofSeconds(10));
    } catch (RuntimeException refused) {
      fourthLeft = false;
    }

    ClientInterceptor grpc = PacedGrpc.interceptor(pacer);
    System.out.printf(
        "3 clients asked, the fourth request was %s; %s, %s, %s and %s are there%n",
        fourthLeft ? "sent" : "refused",
        grpc.getClass().getModule().getName(),
        Limiters.class.getModule().getName(),
        RateLimited.class.getModule().getName(),
        RateLimitWebFilter.class.getModule().getName());
    return !fourthLeft;
  }
}
