// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.benchmarks.report.ServerFlags;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A {@code sluice serve} in a process of its own, with the bounds of {@code sluice prove attacks}:
 * 256 MiB for it. Has the doors for HTTP, gRPC and Redis clients on free ports of loopback.
 * Thread-safe.
 */
final class Server implements AutoCloseable {

  /** The exit code after SIGTERM: 128 and the number of the signal, as a shell has it. */
  static final int STOPPED = 143;

  private static final Pattern LISTENING =
      Pattern.compile(
          "listening on https?://[^ ]*:(\\d+) and rediss?://[^ ]*:(\\d+) and grpcs?://[^ ]*:(\\d+) .*");
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Process process;
  private final int httpPort;
  private final int respPort;
  private final int grpcPort;
  private final @Nullable SSLContext trust;
  private final Keys keys;
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final HttpClient http;

  private Server(Process process, Matcher listening, @Nullable SSLContext trust, Keys keys) {
    this.process = process;
    this.httpPort = Integer.parseInt(listening.group(1));
    this.respPort = Integer.parseInt(listening.group(2));
    this.grpcPort = Integer.parseInt(listening.group(3));
    this.trust = trust;
    this.keys = keys;
    HttpClient.Builder client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE);
    this.http = trust == null ? client.build() : client.sslContext(trust).build();
  }

  /** Thrown when the process ended instead of listening. */
  static final class NotStarted extends IOException {

    private static final long serialVersionUID = 1;

    private final int exitCode;

    NotStarted(int exitCode, List<String> said) {
      super("exit code %s: %s".formatted(exitCode, String.join(" / ", said)));
      this.exitCode = exitCode;
    }

    int exitCode() {
      return exitCode;
    }
  }

  /** Starts a server without TLS. */
  static Server start(String... options) throws IOException, InterruptedException {
    return start(Map.of(), "", null, options);
  }

  /** Starts a server without access control. */
  static Server start(
      Map<String, String> environment, String limits, @Nullable SSLContext trust, String... options)
      throws IOException, InterruptedException {
    return start(environment, limits, trust, Keys.NONE, options);
  }

  /**
   * Starts a server.
   *
   * @param environment more variables of its process
   * @param limits what its shell runs before it, such as {@code ulimit -n 64}
   * @param trust trusts its certificates; null where it has none
   * @param keys the tokens that it asks for
   * @throws NotStarted if it ends instead
   */
  static Server start(
      Map<String, String> environment,
      String limits,
      @Nullable SSLContext trust,
      Keys keys,
      String... options)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.addAll(List.of("/bin/sh", "-c", limits + "\nexec \"$@\"", "sh"));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ServerFlags.small());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "dev.sluice.cli.Main"));
    command.add("serve");
    for (String door : List.of("--http", "--resp", "--grpc")) {
      command.addAll(List.of(door, "127.0.0.1:0"));
    }
    command.addAll(List.of(options));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(ServerFlags.SMALL_ENVIRONMENT);
    builder.environment().putAll(environment);
    Process process = builder.start();
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    List<String> said = new ArrayList<>();
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      said.add(line);
      Matcher listening = LISTENING.matcher(line);
      if (listening.matches()) {
        Server server = new Server(process, listening, trust, keys);
        server.lines.addAll(said);
        server.follow(out);
        server.warmUp();
        return server;
      }
    }
    throw new NotStarted(process.waitFor(), said);
  }

  /** The first requests load classes, which takes long where other work has the processors. */
  private void warmUp() throws IOException, InterruptedException {
    for (String path : List.of("/readyz", "/metrics", "/v1/admin/overrides")) {
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (ask("GET", path, "").statusCode() != 200 && System.nanoTime() < end) {
        TimeUnit.MILLISECONDS.sleep(100);
      }
    }
  }

  private void follow(BufferedReader out) {
    Thread reader =
        new Thread(
            () -> {
              try {
                for (String line = out.readLine(); line != null; line = out.readLine()) {
                  lines.add(line);
                  if (Boolean.getBoolean("production.log")) {
                    System.err.println("  | " + line);
                  }
                }
              } catch (IOException e) {
                // the process ended
              }
            },
            "server-log");
    reader.setDaemon(true);
    reader.start();
  }

  /** The port of HTTP, which answers gRPC too. */
  int httpPort() {
    return httpPort;
  }

  /** The port of Redis clients. */
  int respPort() {
    return respPort;
  }

  /** The port of gRPC alone. */
  int grpcPort() {
    return grpcPort;
  }

  Keys keys() {
    return keys;
  }

  @Nullable SSLContext trust() {
    return trust;
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** All that it has logged so far, the line where it listens included. */
  List<String> log() {
    return List.copyOf(lines);
  }

  /** How many lines of the log contain a text. */
  long logged(String text) {
    return lines.stream().filter(line -> line.contains(text)).count();
  }

  /** Sends a request on a connection of the JDK's pool. */
  HttpResponse<String> ask(String method, String path, String body)
      throws IOException, InterruptedException {
    String url = "%s://localhost:%s%s".formatted(trust == null ? "http" : "https", httpPort, path);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .timeout(PATIENCE)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body));
    if (!keys.operator().isEmpty()) {
      request.header("Sluice-Token", keys.operator());
    }
    return http.send(request.build(), BodyHandlers.ofString());
  }

  /** How many tokens were spent of a bucket that was full at first. */
  long spent(String id, long burst) throws IOException, InterruptedException {
    String path = "/v1/limits/%s/buckets/%s".formatted(Door.LIMIT, id);
    Matcher remaining =
        Pattern.compile("\"remaining\":(\\d+)").matcher(ask("GET", path, "").body());
    if (!remaining.find()) {
      throw new IOException("a bucket without a level");
    }
    return burst - Long.parseLong(remaining.group(1));
  }

  /** The sum of all series of a metric, 0 where there is none. */
  double metric(String series) throws IOException, InterruptedException {
    return ask("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(series))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** A number of the process' status as the kernel has it, such as {@code VmRSS} in KiB. */
  long status(String field) throws IOException {
    try (Stream<String> all = Files.lines(Path.of("/proc/" + pid() + "/status"))) {
      return all.filter(line -> line.startsWith(field + ":"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .sum();
    }
  }

  /** How many files and connections it has open. */
  long descriptors() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/" + pid() + "/fd"))) {
      return all.count();
    }
  }

  /** Asks it to end, as a supervisor does. */
  void terminate() {
    process.destroy();
  }

  /** Ends it as a power cut would, and waits until it is gone. */
  void kill() throws InterruptedException {
    var unused = process.destroyForcibly().waitFor();
  }

  /** The exit code, or -1 if it does not end within a minute. */
  int exitCode() throws InterruptedException {
    return process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
