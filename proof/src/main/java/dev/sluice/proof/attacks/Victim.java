// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The server under attack: a process of its own. Thread-safe. */
final class Victim implements AutoCloseable {

  private static final Pattern LISTENING = Pattern.compile("listening on https?://.*");
  private static final Pattern PORT = Pattern.compile("://[^ ]*:(\\d+)");
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s*(\\d+) kB");
  private static final int KIB_PER_MIB = 1024;
  private static final long PATIENCE_SECONDS = 20;
  private static final List<String> PROTOCOLS = List.of(Wire.HTTP1, "", Wire.HTTP2);
  private static final int MOST_LINES_KEPT = 1_000;

  private final Process process;
  private final Victims kind;
  private final List<Integer> ports;
  private final HttpClient http;
  private final AtomicInteger logLines = new AtomicInteger();
  private final Queue<String> log = new ConcurrentLinkedQueue<>(); // its beginning
  private final Thread reader;

  private Victim(Process process, Victims kind, BufferedReader err, List<Integer> ports) {
    this.process = process;
    this.kind = kind;
    this.ports = ports;
    HttpClient.Builder client = HttpClient.newBuilder();
    this.http =
        kind.tls() == null ? client.build() : client.sslContext(kind.tls().trusting()).build();
    this.reader = new Thread(() -> countLines(err), "victim-log");
    reader.setDaemon(true);
    reader.start();
  }

  /** {@link Victims} says which options it needs for TLS. */
  static Victim start(Victims kind, List<String> options) throws IOException {
    Process process = builder(kind.memory(), options).start();
    BufferedReader err =
        new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
    for (String line = err.readLine(); line != null; line = err.readLine()) {
      Matcher listening = LISTENING.matcher(line);
      if (listening.matches()) {
        List<Integer> ports =
            PORT.matcher(line).results().map(port -> Integer.parseInt(port.group(1))).toList();
        return new Victim(process, kind, err, ports);
      }
    }
    process.destroyForcibly();
    throw new IOException("the server did not start");
  }

  /** Starts a server that is to refuse its options, and returns its exit code. */
  static int exitOf(Memory memory, List<String> options) throws IOException, InterruptedException {
    Process process =
        builder(memory, options)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) ? process.exitValue() : -1;
    } finally {
      process.destroyForcibly();
    }
  }

  private static ProcessBuilder builder(Memory memory, List<String> options) {
    ProcessBuilder builder = new ProcessBuilder(command(memory, options));
    builder.environment().putAll(memory.environment());
    return builder;
  }

  private static List<String> command(Memory memory, List<String> options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(memory.flags());
    command.add("-cp");
    command.add(System.getProperty("attacks.classpath", System.getProperty("java.class.path")));
    command.addAll(List.of("dev.sluice.cli.Main", "serve", "--http", "127.0.0.1:0"));
    command.addAll(List.of("--resp", "127.0.0.1:0", "--grpc", "127.0.0.1:0"));
    command.addAll(options);
    return command;
  }

  private void countLines(BufferedReader err) {
    try {
      for (String line = err.readLine(); line != null; line = err.readLine()) {
        if (logLines.incrementAndGet() <= MOST_LINES_KEPT) {
          log.add(line);
        }
        if (Boolean.getBoolean("attacks.log")) {
          System.err.println("  | " + line);
        }
      }
    } catch (IOException e) {
      // the process ended
    }
  }

  /** The port of HTTP. */
  Wire wire() {
    return wire(0);
  }

  /** The port of HTTP (0), of the Redis protocol (1), or of gRPC (2). */
  Wire wire(int door) {
    return new Wire(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(door)),
        kind.tls(),
        PROTOCOLS.get(door));
  }

  /** A client of its port for HTTP. */
  HttpClient http() {
    return http;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  int logLines() {
    return logLines.get();
  }

  /** The first lines of the log after its start. */
  List<String> log() {
    return List.copyOf(log);
  }

  /** The most memory that the process ever had, heap and all the rest. */
  long peakMib() throws IOException {
    Path status = Path.of("/proc", String.valueOf(process.pid()), "status");
    if (!Files.exists(status)) {
      return -1;
    }
    Matcher peak = PEAK.matcher(Files.readString(status));
    return peak.find() ? Long.parseLong(peak.group(1)) / KIB_PER_MIB : -1;
  }

  /** Asks the process to end, as a supervisor does. */
  void terminate() {
    process.destroy();
  }

  /** The exit code, or -1 if the process does not end. Its log is complete then. */
  int exitCode() throws InterruptedException {
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      return -1;
    }
    reader.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
