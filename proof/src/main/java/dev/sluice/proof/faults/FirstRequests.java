// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Sends its first requests to a {@link ColdBoot}, all at once, each on its own connection. */
final class FirstRequests {

  private static final int OK = 200;

  private FirstRequests() {}

  /** Starts an application, and returns how many of its first requests were not answered well. */
  static long failed(URI store, int requests) throws IOException {
    Process application = Log.start(ColdBoot.class, store.toString());
    try (BufferedReader out = application.inputReader()) {
      String port = out.readLine();
      if (port == null) {
        throw new IOException("the application did not start");
      }
      URI page = URI.create("http://127.0.0.1:" + port + ColdBoot.PATH);
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
