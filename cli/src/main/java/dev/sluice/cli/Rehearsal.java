// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs the usual commands once, and a server that answers on each door. A JVM that is told to
 * archive the classes that it loaded learns here which these are.
 *
 * <p>Listens on free ports of loopback, writes nothing, and ends within seconds.
 */
final class Rehearsal {

  private static final String LIMIT = "LoginsPerIPAddress";
  private static final String ID = "192.0.2.7";
  private static final Pattern LISTENING = Pattern.compile("://127\\.0\\.0\\.1:([0-9]+)");

  /** Not compressed, of no bytes. */
  private static final byte[] EMPTY_MESSAGE = new byte[5];

  private static final List<String> PATHS =
      List.of("/", "/metrics", "/readyz", "/v1/limits", "/openapi.json");

  private Rehearsal() {}

  /**
   * Rehearses, and leaves the JVM with 0, or with {@link Exit#BUG} if a step failed.
   *
   * @param args none
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
    System.exit(code); // stops the server
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
      Thread server = new Thread(() -> serve(err), "sluice-rehearsal");
      server.setDaemon(true);
      server.start();
      Matcher ports = LISTENING.matcher(firstLine(read));
      ask(port(ports), port(ports));
    }
  }

  /** Ends when it fails; otherwise never. */
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

  private static String firstLine(InputStream err) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(err, StandardCharsets.UTF_8));
    String line = lines.readLine();
    if (line == null) {
      throw new IOException("the server ended before it listened");
    }
    return line;
  }

  private static int port(Matcher ports) throws IOException {
    if (!ports.find()) {
      throw new IOException("the server did not say where it listens");
    }
    return Integer.parseInt(ports.group(1));
  }

  private static void ask(int http, int resp) throws IOException, InterruptedException {
    URI server = URI.create("http://127.0.0.1:" + http);
    command("spend", LIMIT, ID, "--server", server.toString());
    HttpClient client = HttpClient.newHttpClient(); // by HTTP/2, unlike the command
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
        throw new IOException("the door for Redis clients gave no answer");
      }
    }
  }
}
