// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Makes the class data archive, which speeds up every later start. If the archive is missing and
 * its folder is writable, the launcher passes the path of a program that makes the archive. The
 * program that makes the archive needs several seconds of processor time, so it runs with low
 * priority after the server listens.
 */
final class ClassDataArchive {

  static final String MAKER = "sluice.archive.maker";

  private static final String LIMIT = "LoginsPerIPAddress";
  private static final String ID = "192.0.2.7";
  private static final Pattern LISTENING = Pattern.compile("://127\\.0\\.0\\.1:([0-9]+)");

  /** What a shell returns after SIGINT and SIGTERM: Ctrl-C stops the server and this process. */
  private static final Set<Integer> STOPPED = Set.of(130, 143);

  /** A gRPC frame: not compressed, of length 0. */
  private static final byte[] EMPTY_MESSAGE = new byte[5];

  private static final List<String> PATHS =
      List.of("/", "/metrics", "/readyz", "/v1/limits", "/openapi.json");

  private ClassDataArchive() {}

  /**
   * Starts the process that makes the archive, if the archive is missing, and does not wait for it.
   * If the process fails, {@code warnings} receives one line on another thread. No line is sent if
   * the process was stopped by SIGINT or SIGTERM.
   *
   * @return completes when the process has ended and its line was sent
   */
  @CanIgnoreReturnValue
  static CompletableFuture<Void> make(Consumer<String> warnings) {
    String maker = System.getProperty(MAKER);
    if (maker == null) {
      return CompletableFuture.completedFuture(null);
    }
    try {
      return new ProcessBuilder("nice", "-n", "19", maker, "--class-data-archive")
          .redirectInput(Redirect.from(new File("/dev/null")))
          .redirectOutput(Redirect.DISCARD)
          .redirectError(Redirect.DISCARD)
          .start()
          .onExit()
          .thenAccept(
              made -> {
                if (made.exitValue() != 0 && !STOPPED.contains(made.exitValue())) {
                  warnings.accept(warning(null));
                }
              });
    } catch (IOException e) {
      warnings.accept(warning(e));
      return CompletableFuture.completedFuture(null);
    }
  }

  private static String warning(@Nullable IOException reason) {
    return "warning: the class-data archive could not be made%s; every start is slower"
            .formatted(reason == null ? "" : " (" + reason.getMessage() + ")")
        + " without it. To see why, run sluice --class-data-archive";
  }

  /**
   * Runs the usual commands once, and a server that serves one request on each port, so that the
   * JVM records which classes to archive. Listens on free ports of loopback, writes no files, and
   * ends within seconds with exit code 0, or with {@link Exit#BUG} if a step failed.
   */
  public static void main(String[] args) {
    int code = Exit.DONE;
    try {
      command("key", LIMIT, ID);
      command("help", "serve");
      serve();
    } catch (IOException | InterruptedException | RuntimeException e) {
      e.printStackTrace();
      code = Exit.BUG;
    }
    System.exit(code); // also ends the server's threads
  }

  private static void command(String... args) {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int code = Main.run(InputStream.nullInputStream(), OutputStream.nullOutputStream(), err, args);
    if (code != Exit.DONE) {
      throw new IllegalStateException(
          "sluice %s ended with %s: %s"
              .formatted(String.join(" ", args), code, err.toString(StandardCharsets.UTF_8)));
    }
  }

  private static void serve() throws IOException, InterruptedException {
    try (PipedInputStream read = new PipedInputStream();
        PipedOutputStream err = new PipedOutputStream(read)) {
      Thread server = new Thread(() -> serve(err), "sluice-training");
      server.setDaemon(true);
      server.start();
      Matcher ports = LISTENING.matcher(lineOfPorts(read));
      ask(port(ports), port(ports));
    }
  }

  /** Runs a server; returns only if it fails. */
  private static void serve(OutputStream err) {
    var unused =
        Main.run(
            InputStream.nullInputStream(),
            OutputStream.nullOutputStream(),
            err,
            "serve",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
            "--grpc",
            "127.0.0.1:0");
  }

  /** Returns the line with the ports; on a busy machine, the server can print a warning first. */
  private static String lineOfPorts(InputStream err) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(err, StandardCharsets.UTF_8));
    String line = lines.readLine();
    while (line != null && !LISTENING.matcher(line).find()) {
      line = lines.readLine();
    }
    if (line == null) {
      throw new IOException("the server ended before it listened");
    }
    return line;
  }

  private static int port(Matcher ports) throws IOException {
    if (!ports.find()) {
      throw new IOException("the server did not print its address");
    }
    return Integer.parseInt(ports.group(1));
  }

  private static void ask(int http, int resp) throws IOException, InterruptedException {
    URI server = URI.create("http://127.0.0.1:" + http);
    command("spend", LIMIT, ID, "--server", server.toString());
    HttpClient client = HttpClient.newHttpClient(); // uses HTTP/2, unlike the commands
    for (String path : PATHS) {
      client.send(HttpRequest.newBuilder(server.resolve(path)).build(), BodyHandlers.discarding());
    }
    HttpRequest health =
        HttpRequest.newBuilder(server.resolve("/grpc.health.v1.Health/Check"))
            .header("Content-Type", "application/grpc")
            .POST(BodyPublishers.ofByteArray(EMPTY_MESSAGE))
            .build();
    client.send(health, BodyHandlers.discarding());
    try (Socket redis = new Socket(InetAddress.getLoopbackAddress(), resp)) {
      String question = "SLUICE.SPEND " + LIMIT + " " + ID + "\r\n";
      redis.getOutputStream().write(question.getBytes(StandardCharsets.US_ASCII));
      if (redis.getInputStream().read() < 0) {
        throw new IOException("the port for Redis clients sent no reply");
      }
    }
  }
}
