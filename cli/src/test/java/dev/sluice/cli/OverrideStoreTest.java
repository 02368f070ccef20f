// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers as processes of their own, with overrides in a file. */
@Tag("slow")
final class OverrideStoreTest {

  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final Pattern READY = Pattern.compile(".*listening on (http://\\S+) .*");
  private static final String OVERRIDE = "{\"burst\":7,\"count\":7,\"period\":\"1m\"}";
  private static final String NAMES = "names:\n  - {number: 101, name: A, id: string}\n";
  private static final String NAME_OF_B = "  - {number: 102, name: B, id: string}\n";
  private static final String LIMIT = "A: {burst: 3, count: 3, period: 1m}\n";
  private static final String LIMIT_B = "B: {burst: 3, count: 3, period: 1m}\n";
  private static final int CHANGES = 25;

  @TempDir private Path folder;
  private Path limits;
  private Path kept;

  @BeforeEach
  void limitsAAndB() throws IOException {
    kept = folder.resolve("kept.yml");
    limits = Files.writeString(folder.resolve("limits.yml"), NAMES + NAME_OF_B + LIMIT + LIMIT_B);
  }

  private CliProcess serve() throws IOException {
    return CliProcess.start(
        "serve",
        "--http",
        "127.0.0.1:0",
        "--limits",
        limits.toString(),
        "--override-store",
        kept.toString());
  }

  private static String untilReady(BufferedReader err) throws IOException {
    for (String line = err.readLine(); line != null; line = err.readLine()) {
      Matcher ready = READY.matcher(line);
      if (ready.matches()) {
        return ready.group(1);
      }
    }
    throw new IOException("the server ended before it was ready");
  }

  private static CompletableFuture<HttpResponse<String>> send(
      String method, String server, String entry) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server + "/v1/admin/overrides/" + entry))
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(method.equals("PUT") ? OVERRIDE : ""))
            .build();
    return CLIENT.sendAsync(request, BodyHandlers.ofString());
  }

  private static int status(String method, String server, String entry) throws Exception {
    return send(method, server, entry).get(60, TimeUnit.SECONDS).statusCode();
  }

  /** One after another: a server refuses a change that waits for others longer than 10 s. */
  private static CompletableFuture<Void> putAll(String server, String entries) {
    CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
    for (int i = 0; i < CHANGES; i++) {
      String entry = entries + i;
      all =
          all.thenCompose(done -> send("PUT", server, entry))
              .thenAccept(answer -> assertThat(answer.statusCode()).isEqualTo(200));
    }
    return all;
  }

  @Test
  void twoServersOfOneFile_loseNoChangeThatWasAnswered() throws Exception {
    try (CliProcess one = serve();
        CliProcess other = serve();
        BufferedReader errOfOne = one.err();
        BufferedReader errOfOther = other.err()) {
      List<String> servers = List.of(untilReady(errOfOne), untilReady(errOfOther));
      CompletableFuture.allOf(putAll(servers.get(0), "A/of-0-"), putAll(servers.get(1), "A/of-1-"))
          .get(240, TimeUnit.SECONDS);
      String file = Files.readString(kept);
      for (int i = 0; i < CHANGES; i++) {
        assertThat(file).contains("of-0-" + i, "of-1-" + i);
      }
    }
  }

  @Test
  void limitThatIsGone_stopsNeitherTheNextStart_norChanges_andItsEntryCanBeRemoved()
      throws Exception {
    try (CliProcess cli = serve();
        BufferedReader err = cli.err()) {
      assertThat(status("PUT", untilReady(err), "B/bob")).isEqualTo(200);
    }
    Files.writeString(limits, NAMES + LIMIT);
    try (CliProcess cli = serve();
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(status("PUT", server, "A/ann")).isEqualTo(200);
      assertThat(Files.readString(kept)).contains("ann", "bob");
      assertThat(status("DELETE", server, "B/bob")).isEqualTo(200);
      assertThat(Files.readString(kept)).contains("ann").doesNotContain("bob");
    }
  }
}
