// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import dev.sluice.benchmarks.report.ServerFlags;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A {@code sluice serve} in a separate process, with HTTP, the Redis protocol and gRPC on free
 * loopback ports. Thread-safe.
 */
public final class Server implements AutoCloseable {

  /** The exit code after SIGTERM: 128 plus the number of the signal, as in a shell. */
  public static final int STOPPED = 143;

  private static final Pattern LISTENING = Pattern.compile("listening on https?://.*");
  private static final Pattern PORT = Pattern.compile("://[^ ]*:(\\d+)");
  private static final Pattern REMAINING = Pattern.compile("\"remaining\":(\\d+)");
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int MOST_LINES_KEPT = 10_000;
  private static final int KIB_PER_MIB = 1024;

  private final Process process;
  private final Launch launch;
  private final List<Integer> ports;
  private final HttpClient http;
  private final Queue<String> log = new ConcurrentLinkedQueue<>(); // the first lines of the log
  // Counts only the log lines since the server began to listen.
  private final AtomicInteger logLines = new AtomicInteger();
  private final Thread reader;

  private Server(
      Process process, Launch launch, List<Integer> ports, List<String> said, BufferedReader out) {
    this.process = process;
    this.launch = launch;
    this.ports = ports;
    log.addAll(said);
    HttpClient.Builder client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE);
    this.http =
        launch.trust == null ? client.build() : client.sslContext(launch.trust.context()).build();
    this.reader = new Thread(() -> follow(out), "server-log");
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * The settings with which a server process is started.
   *
   * @param heap the heap size, such as 256m, with no bound on other memory; null for the JVM flags
   *     for a machine with {@value ServerFlags#SMALL_MIB} MiB
   * @param trust the certificates that clients trust; null for a server without TLS
   * @param keys the access tokens of the server
   * @param environment additional environment variables of the process
   * @param shell a shell command to run before the server, such as {@code ulimit -n 64}; empty for
   *     none
   * @param options the command-line options that every start uses
   */
  public record Launch(
      @Nullable String heap,
      @Nullable Trust trust,
      Keys keys,
      Map<String, String> environment,
      String shell,
      List<String> options) {

    /** The settings for a small machine, without TLS, access control and further options. */
    public static final Launch SMALL = new Launch(null, null, Keys.NONE, Map.of(), "", List.of());

    public Launch withHeap(String size) {
      return new Launch(size, trust, keys, environment, shell, options);
    }

    /**
     * Adds TLS. Makes the server use the certificate files in a folder, and clients trust the given
     * certificates. A test can replace the certificate files while the server runs.
     */
    public Launch withTls(Folder folder, Trust trusted) {
      return new Launch(heap, trusted, keys, environment, shell, joined(folder.tls()));
    }

    /** Adds TLS. Creates a certificate and writes it into a folder. */
    public Launch withTls(Folder folder)
        throws IOException, InterruptedException, GeneralSecurityException {
      TlsIdentity identity = TlsIdentity.make(folder);
      identity.install(folder);
      return withTls(folder, Trust.in(identity));
    }

    /** Adds access control with a token file in a folder. */
    public Launch withKeys(Folder folder, Keys fresh) throws IOException {
      List<String> more = List.of("--tokens", fresh.write(folder));
      return new Launch(heap, trust, fresh, environment, shell, joined(more));
    }

    public Launch withEnvironment(Map<String, String> variables) {
      return new Launch(heap, trust, keys, variables, shell, options);
    }

    public Launch withShell(String command) {
      return new Launch(heap, trust, keys, environment, command, options);
    }

    private List<String> joined(List<String> more) {
      return Stream.concat(options.stream(), more.stream()).toList();
    }

    /** Returns whether a peak of the process's memory is within the promised bound. */
    public boolean allows(long peakMib) {
      return heap != null || peakMib <= ServerFlags.SMALL_MIB;
    }

    /** Describes the promised memory bound, such as "stays within 256 MiB of memory". */
    public String promise() {
      return heap == null
          ? String.format(Locale.ROOT, "stays within %d MiB of memory", ServerFlags.SMALL_MIB)
          : "runs with a heap of " + heap + " and no other memory bound";
    }

    /** Starts a server that must fail to start. Returns the exit code of the process. */
    public int refusal(String... more) throws IOException, InterruptedException {
      try (Server unexpected = start(more)) {
        return unexpected.isAlive() ? -1 : unexpected.exitCode();
      } catch (NotStarted e) {
        return e.exitCode();
      }
    }

    /**
     * Starts a server.
     *
     * @throws NotStarted if the process ends before the server begins to listen
     */
    public Server start(String... more) throws IOException, InterruptedException {
      List<String> command = new ArrayList<>();
      command.addAll(List.of("/bin/sh", "-c", shell + "\nexec \"$@\"", "sh"));
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(heap == null ? ServerFlags.small() : ServerFlags.asLaunched("-Xmx" + heap));
      command.addAll(List.of("-cp", System.getProperty("sluice.server.classpath")));
      command.addAll(List.of("dev.sluice.cli.Main", "serve"));
      for (String door : List.of("--http", "--resp", "--grpc")) {
        command.addAll(List.of(door, "127.0.0.1:0"));
      }
      command.addAll(joined(List.of(more)));
      ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
      builder.environment().putAll(heap == null ? ServerFlags.SMALL_ENVIRONMENT : Map.of());
      builder.environment().putAll(environment);
      Process process = builder.start();
      BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
      List<String> said = new ArrayList<>();
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        said.add(line);
        if (LISTENING.matcher(line).matches()) {
          List<Integer> ports =
              PORT.matcher(line).results().map(port -> Integer.parseInt(port.group(1))).toList();
          Server server = new Server(process, this, ports, said, out);
          server.warmUp();
          return server;
        }
      }
      throw new NotStarted(process.waitFor(), said);
    }
  }

  /** Thrown if the process ended before the server began to listen. */
  public static final class NotStarted extends IOException {

    private static final long serialVersionUID = 1;

    private final int exitCode;

    NotStarted(int exitCode, List<String> said) {
      super("exit code %s: %s".formatted(exitCode, String.join(" / ", said)));
      this.exitCode = exitCode;
    }

    public int exitCode() {
      return exitCode;
    }
  }

  /** Starts a server with the settings for a small machine, without TLS and access control. */
  public static Server start(String... options) throws IOException, InterruptedException {
    return Launch.SMALL.start(options);
  }

  /**
   * Sends the first requests, during which the server loads classes. On a busy machine, the first
   * requests are slow.
   */
  private void warmUp() throws IOException, InterruptedException {
    for (String path : List.of("/readyz", "/metrics", "/v1/admin/overrides")) {
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (ask("GET", path, "").statusCode() != 200 && System.nanoTime() < end) {
        TimeUnit.MILLISECONDS.sleep(100);
      }
    }
  }

  private void follow(BufferedReader out) {
    try {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (logLines.incrementAndGet() <= MOST_LINES_KEPT) {
          log.add(line);
        }
        if (Boolean.getBoolean("proof.log")) {
          System.err.println("  | " + line);
        }
      }
    } catch (IOException e) {
      // The process has ended.
    }
  }

  /** Returns the endpoint to which the clients of a protocol connect. */
  public Endpoint endpoint(Door door) {
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(door.port));
    return new Endpoint(address, launch.trust, door.protocol);
  }

  /** Returns the URI of a path on the HTTP port. */
  public URI uri(String path) {
    return URI.create(
        "%s://localhost:%s%s".formatted(launch.trust == null ? "http" : "https", httpPort(), path));
  }

  /** Returns the HTTP port, on which the server also serves gRPC. */
  public int httpPort() {
    return ports.get(Door.HTTP.port);
  }

  public Keys keys() {
    return launch.keys;
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Returns the lines logged since the process started. */
  public List<String> log() {
    return List.copyOf(log);
  }

  /** Returns how many lines the server has logged since it began to listen. */
  public int logLines() {
    return logLines.get();
  }

  /** Returns how many lines of the log contain a text. */
  public long logged(String text) {
    return log.stream().filter(line -> line.contains(text)).count();
  }

  /**
   * Sends a request with the JDK's HTTP client, which reuses connections.
   *
   * @param headers the headers: a name, its value, the next name, and so on
   */
  public HttpResponse<String> ask(String method, String path, String body, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(path))
            .timeout(PATIENCE)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    if (!keys().operator().isEmpty()) {
      request.header("Sluice-Token", keys().operator());
    }
    return http.send(request.build(), BodyHandlers.ofString());
  }

  /** Returns how many tokens of a bucket are spent. */
  public long spent(String id, long burst) throws IOException, InterruptedException {
    String path = "/v1/limits/%s/buckets/%s".formatted(Door.LIMIT, id);
    Matcher remaining = REMAINING.matcher(ask("GET", path, "").body());
    if (!remaining.find()) {
      throw new IOException("the response does not say how many tokens the bucket has");
    }
    return burst - Long.parseLong(remaining.group(1));
  }

  /** Returns the sum of all series of a metric; 0 if the metric has no series. */
  public double metric(String series) throws IOException, InterruptedException {
    return ask("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(series))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Returns a field of {@code /proc/PID/status}, such as {@code VmRSS} in KiB. */
  public long status(String field) throws IOException {
    try (Stream<String> all = Files.lines(Path.of("/proc/" + pid() + "/status"))) {
      return all.filter(line -> line.startsWith(field + ":"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .sum();
    }
  }

  /** Returns the peak resident memory of the process in MiB; -1 if the process has ended. */
  public long peakMib() throws IOException {
    return isAlive() ? status("VmHWM") / KIB_PER_MIB : -1;
  }

  /** Returns the number of open file descriptors. */
  public long descriptors() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/" + pid() + "/fd"))) {
      return all.count();
    }
  }

  /** Sends SIGTERM, as a process supervisor does. */
  public void terminate() {
    process.destroy();
  }

  /**
   * Waits until the process has ended, and returns its exit code; returns -1 if the process does
   * not end within a minute. When this method returns, the log is complete.
   */
  public int exitCode() throws InterruptedException {
    if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      return -1;
    }
    reader.join(PATIENCE.toMillis());
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
