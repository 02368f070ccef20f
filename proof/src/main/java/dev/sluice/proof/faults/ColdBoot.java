// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.spring.RateLimited;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * A Spring Boot application that creates its beans only at the first request. The application
 * prints its port, and runs until its standard input ends.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@RestController
public class ColdBoot {

  private static final String PATH = "/page";
  private static final int OK = 200;

  /** Responds with a page. A limit applies to the requests. */
  @GetMapping(PATH)
  @RateLimited(limit = "ApiCallsPerKey", id = "'all'")
  public String page() {
    return "a page";
  }

  /**
   * Starts the application.
   *
   * @param args the address of the store
   */
  public static void main(String[] args) throws IOException {
    try (ConfigurableApplicationContext application =
        new SpringApplicationBuilder(ColdBoot.class)
            .web(WebApplicationType.SERVLET)
            .run(
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--logging.level.root=off",
                "--spring.main.banner-mode=off",
                "--spring.main.lazy-initialization=true",
                "--sluice.store=" + args[0],
                "--sluice.limits.ApiCallsPerKey.burst=1000000",
                "--sluice.limits.ApiCallsPerKey.count=1000000",
                "--sluice.limits.ApiCallsPerKey.period=1h")) {
      System.out.println(application.getEnvironment().getProperty("local.server.port"));
      int unused = System.in.read();
    }
  }

  /**
   * Starts the application in a separate process, and sends the first requests at the same time,
   * each on a separate connection. Returns how many requests failed.
   */
  static long failedRequests(String store, int requests) throws IOException {
    Process application = Log.start(ColdBoot.class, store);
    try (BufferedReader out = application.inputReader()) {
      String port = out.readLine();
      if (port == null) {
        throw new IOException("the application did not start");
      }
      URI page = URI.create("http://127.0.0.1:" + port + PATH);
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
      HttpRequest request = HttpRequest.newBuilder(page).build();
      List<CompletableFuture<Integer>> statuses =
          Stream.generate(() -> client.sendAsync(request, BodyHandlers.discarding()))
              .limit(requests)
              .map(answer -> answer.handle((read, e) -> e == null ? read.statusCode() : 0))
              .toList();
      return statuses.stream().filter(status -> status.join() != OK).count();
    } finally {
      application.destroyForcibly();
    }
  }
}
