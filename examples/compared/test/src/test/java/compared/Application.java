// SPDX-License-Identifier: Apache-2.0
package compared;

import dev.sluice.testkit.servers.FreePort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** One of the applications in a process of its own, asked as a proxy would ask it. */
final class Application implements AutoCloseable {

  /** Longer than a login may take; for an answer that never comes. */
  static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final Duration LONGEST_START = Duration.ofMinutes(3);
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final Process process;
  private final int port;

  private Application(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  /** Starts an application, and returns when it answers or has ended. */
  static Application start(String name, int redis, int backend) {
    try {
      int port = FreePort.next();
      Path log = Files.createDirectories(Path.of("target")).resolve(name + "-" + port + ".log");
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:TieredStopAtLevel=1",
                  "-XX:+UseSerialGC",
                  "-jar",
                  "../" + name + "/target/application.jar",
                  "--server.address=127.0.0.1",
                  "--server.port=" + port,
                  "--spring.data.redis.host=127.0.0.1",
                  "--spring.data.redis.port=" + redis,
                  "--backend=http://127.0.0.1:" + backend)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      Application application = new Application(process, port);
      application.awaitStart(log);
      return application;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void awaitStart(Path log) throws IOException {
    long start = System.nanoTime();
    while (process.isAlive() && !Files.readString(log).contains("Started LoginApplication")) {
      if (System.nanoTime() - start > LONGEST_START.toNanos()) {
        throw new IllegalStateException("not started within " + LONGEST_START + "; see " + log);
      }
      pause(Duration.ofMillis(50));
    }
  }

  boolean isUp() {
    return process.isAlive();
  }

  /** Posts a login from a client behind a proxy; -1 is the status of an answer that never comes. */
  Login login(String forwardedFor) {
    return later(forwardedFor).join();
  }

  private CompletableFuture<Login> later(String forwardedFor) {
    return CLIENT
        .sendAsync(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/login"))
                .header("X-Forwarded-For", forwardedFor)
                .timeout(PATIENCE)
                .POST(BodyPublishers.noBody())
                .build(),
            BodyHandlers.discarding())
        .handle(
            (response, failure) ->
                new Login(
                    response == null ? -1 : response.statusCode(),
                    response == null ? "" : retryAfter(response)));
  }

  private static String retryAfter(HttpResponse<?> response) {
    return response.headers().firstValue("Retry-After").orElse("");
  }

  /** Posts logins from several clients at once. */
  static List<Login> atOnce(List<Application> applications, Stream<String> clients) {
    List<CompletableFuture<Login>> logins = new ArrayList<>();
    clients.forEach(
        client -> logins.add(applications.get(logins.size() % applications.size()).later(client)));
    return logins.stream().map(CompletableFuture::join).toList();
  }

  /** Lets time pass between two questions about another process. */
  static void pause(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }

  record Login(int status, String retryAfter) {

    boolean passed() {
      return status == 200;
    }

    /** Denied, with the time to come back; 503 where Redis was not asked. */
    boolean isDenied() {
      return status == 429 || (status == 503 && !retryAfter.isEmpty());
    }

    boolean isLost() {
      return status == -1;
    }
  }
}
