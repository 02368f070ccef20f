// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.RequestHeaders;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A load of gRPC requests, sent by the program h2load with 4 connections and 16 requests in flight
 * on each.
 *
 * @param body a file with one framed gRPC request
 * @param perSecond the number of requests per second; 0 for as many as possible
 * @param scratch a folder for the log of h2load
 */
record GrpcLoad(int port, Path body, long perSecond, Path scratch) implements Load {

  private static final int CONNECTIONS = 4;
  private static final String METHOD =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  @Override
  public Sent run(double seconds) throws IOException, InterruptedException {
    requireAnswer();
    Path log = scratch.resolve("h2load.log");
    Files.deleteIfExists(log);
    List<String> words = new ArrayList<>(List.of("h2load", "-t1", "-c" + CONNECTIONS, "-m16"));
    words.addAll(List.of("-D", String.valueOf(Math.max(1, Math.round(seconds)))));
    words.addAll(List.of("--log-file=" + log, "-d", body.toString()));
    words.addAll(List.of("-H", "content-type: application/grpc", "-H", "te: trailers"));
    if (perSecond > 0) {
      words.add("--rps=" + perSecond / CONNECTIONS);
    }
    words.add("http://127.0.0.1:" + port + METHOD);
    String printed = Program.run(Map.of(), words.toArray(String[]::new));
    long[] micros;
    try (var lines = Files.lines(log)) {
      micros =
          lines
              .map(line -> List.of(line.split("\t", -1)))
              .filter(line -> line.get(1).equals("200"))
              .mapToLong(line -> Long.parseLong(line.get(2)))
              .sorted()
              .toArray();
    }
    if (Load.number(printed, "(\\d+) failed") > 0) {
      throw new IOException("requests failed:\n" + printed);
    }
    return new Sent(
        micros.length,
        Load.number(printed, "finished in ([0-9.]+)s"),
        at(micros, 0.5),
        at(micros, 0.99),
        at(micros, 0.999));
  }

  /**
   * Throws unless the server sends a valid response. The load generator h2load does not detect gRPC
   * errors, which have the HTTP status 200.
   */
  private void requireAnswer() throws IOException {
    RequestHeaders headers =
        RequestHeaders.of(
            HttpMethod.POST, METHOD, "content-type", "application/grpc", "te", "trailers");
    AggregatedHttpResponse answer =
        WebClient.of("h2c://127.0.0.1:" + port)
            .execute(HttpRequest.of(headers, HttpData.wrap(Files.readAllBytes(body))))
            .aggregate()
            .join();
    String status = answer.trailers().get("grpc-status", answer.headers().get("grpc-status", ""));
    if (!status.equals("0") || answer.content().isEmpty()) {
      throw new IOException(
          "unexpected response of the server on port %s to a rate limit request: HTTP %s, grpc-status \"%s\": %s"
              .formatted(
                  port,
                  answer.status(),
                  status,
                  answer.trailers().get("grpc-message", answer.headers().get("grpc-message", ""))));
    }
  }

  private static double at(long[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[(int) (sorted.length * share)];
  }
}
