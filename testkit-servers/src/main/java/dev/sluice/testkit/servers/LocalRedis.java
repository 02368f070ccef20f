// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis (or Valkey, or Sentinel) on a free port of this machine, for tests: started, and
 * stopped, killed, frozen and started again as the test likes. It leaves nothing behind.
 *
 * <p>Not thread-safe. Methods block until what they say is true, and fail where it doesn't come
 * true within ten seconds.
 */
public final class LocalRedis implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int BUS_OFFSET = 10_000; // the second port of a server in a Cluster
  private static final int HIGHEST_PORT = 65_535;
  private static final int ATTEMPTS = 50;
  private static final String PASSWORD = "--requirepass";

  private final Path binary;
  private final int port;
  private final List<String> arguments;
  private final @Nullable String password;
  private final Path folder;
  private final Thread hook = new Thread(this::destroy);
  private @Nullable Process process;

  private LocalRedis(Path binary, int port, List<String> arguments, @Nullable String password) {
    this.binary = binary;
    this.port = port;
    this.arguments = List.copyOf(arguments);
    this.password = password;
    try {
      this.folder = Files.createTempDirectory("local-redis-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /**
   * Starts a server that keeps nothing on the disk.
   *
   * @param binary of {@link RedisBinary}
   * @param arguments more settings, as on the command line of a server: {@code "--maxmemory",
   *     "1mb"}; with {@code "--requirepass"}, {@link #command} logs in
   * @return the server, which answers
   */
  public static LocalRedis start(Path binary, String... arguments) {
    List<String> words = List.of(arguments);
    int at = words.indexOf(PASSWORD);
    String password = at < 0 ? null : words.get(at + 1);
    LocalRedis redis = new LocalRedis(binary, freePort(), words, password);
    redis.startAgain();
    return redis;
  }

  /**
   * Starts a Sentinel.
   *
   * @param binary of {@link RedisBinary}
   * @param password which it asks for, null for none
   * @param settings the lines of its file of settings
   * @return the Sentinel, which answers
   */
  static LocalRedis startSentinel(Path binary, @Nullable String password, List<String> settings) {
    LocalRedis sentinel = new LocalRedis(binary, freePort(), List.of("--sentinel"), password);
    try {
      List<String> lines = new ArrayList<>(settings);
      if (password != null) {
        lines.add("requirepass " + password);
      }
      lines.add("port " + sentinel.port);
      lines.add("bind 127.0.0.1");
      Files.write(sentinel.folder.resolve("sentinel.conf"), lines);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    sentinel.startAgain();
    return sentinel;
  }

  /** A port that is free, and so is the one that a Cluster adds to it. */
  private static int freePort() {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        int port = socket.getLocalPort();
        if (port + BUS_OFFSET <= HIGHEST_PORT) {
          try (ServerSocket bus =
              new ServerSocket(port + BUS_OFFSET, 1, InetAddress.getLoopbackAddress())) {
            return bus.getLocalPort() - BUS_OFFSET;
          }
        }
      } catch (IOException e) {
        // Taken: another one.
      }
    }
    throw new IllegalStateException("no free port after " + ATTEMPTS + " attempts");
  }

  /** Starts the server on its old port after it was {@link #kill killed}; its disk is as it was. */
  public void startAgain() {
    List<String> command = new ArrayList<>(List.of(binary.toString()));
    if (arguments.contains("--sentinel")) {
      command.add("sentinel.conf");
    } else {
      command.addAll(
          List.of(
              "--port",
              "" + port,
              "--bind",
              "127.0.0.1",
              "--save",
              "",
              "--enable-debug-command",
              "yes"));
    }
    command.addAll(arguments);
    try {
      process =
          new ProcessBuilder(withoutWhatItDoesNotKnow(command))
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("log").toFile())
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    await("answers", () -> "PONG".equals(tryPing()));
  }

  /** Redis 6.2 refuses to start with a setting of 7. */
  private List<String> withoutWhatItDoesNotKnow(List<String> command) {
    int at = command.indexOf("--enable-debug-command");
    if (at < 0 || RedisBinary.hasEnableDebugCommand(binary)) {
      return command;
    }
    List<String> less = new ArrayList<>(command);
    less.subList(at, at + 2).clear();
    return less;
  }

  private @Nullable Object tryPing() {
    Process running = process;
    if (running == null || !running.isAlive()) {
      throw new IllegalStateException("the server ended: " + log());
    }
    try {
      return command("PING");
    } catch (IllegalStateException e) {
      return null; // not yet
    }
  }

  private String log() {
    try {
      return Files.readString(folder.resolve("log"));
    } catch (IOException e) {
      return "(no log)";
    }
  }

  /**
   * Waits until something is true.
   *
   * @param what for the message, in the third person
   * @param condition polled every few milliseconds
   */
  void await(String what, java.util.function.BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > PATIENCE.toNanos()) {
        throw new IllegalStateException(
            "waited %s until %s %s; its log: %s".formatted(PATIENCE, address(), what, log()));
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }

  /**
   * Asks the server, over a connection of its own.
   *
   * @param words the command and its arguments
   * @return a String, a Long, a List of them, or null
   * @throws IllegalStateException with the server's words if it refuses, or is not there
   */
  @CanIgnoreReturnValue
  public @Nullable Object command(String... words) {
    return RespCall.ask(port, password, words);
  }

  /**
   * The port.
   *
   * @return on the loopback address
   */
  public int port() {
    return port;
  }

  /**
   * Host and port.
   *
   * @return as they stand in a URI
   */
  public String address() {
    return "127.0.0.1:" + port;
  }

  /**
   * The address of the server.
   *
   * @return {@code redis://127.0.0.1:port/0}
   */
  public URI uri() {
    return URI.create("redis://" + address() + "/0");
  }

  /** Ends the server as a power cut would. */
  public void kill() {
    Process running = process;
    if (running != null) {
      running.destroyForcibly().onExit().join();
      process = null;
    }
  }

  /** Freezes the server: it holds its connections and says nothing. */
  public void freeze() {
    signal("STOP");
  }

  /** Lets a frozen server go on. */
  public void thaw() {
    signal("CONT");
  }

  private void signal(String name) {
    Process running = process;
    if (running == null) {
      throw new IllegalStateException("the server does not run");
    }
    try {
      int code = new ProcessBuilder("kill", "-" + name, "" + running.pid()).start().waitFor();
      if (code != 0) {
        throw new IllegalStateException("kill -%s ended with %s".formatted(name, code));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private void destroy() {
    kill();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    if (Runtime.getRuntime().removeShutdownHook(hook)) {
      destroy();
    }
  }
}
