// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.io.UncheckedIOException;
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
 * A real Redis, Valkey or Sentinel on a free port of this machine, for tests. A test can stop,
 * kill, freeze and restart the server. The server leaves no files behind.
 *
 * <p>Not thread-safe. Each method blocks until its effect is visible, and throws an exception if
 * the effect is not visible within a minute and a half.
 */
public final class LocalRedis implements AutoCloseable {

  // A Sentinel that was late by two seconds does nothing for half a minute.
  private static final Duration PATIENCE = Duration.ofSeconds(90);
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
   * Starts a server without persistence.
   *
   * @param binary the path of the server program, see {@link RedisBinary}
   * @param arguments additional settings in the form of command-line arguments: {@code
   *     "--maxmemory", "1mb"}. With {@code "--requirepass"}, {@link #command} sends the password
   *     too
   * @return the server, ready for commands
   */
  public static LocalRedis start(Path binary, String... arguments) {
    List<String> words = List.of(arguments);
    int at = words.indexOf(PASSWORD);
    String password = at < 0 ? null : words.get(at + 1);
    LocalRedis redis = new LocalRedis(binary, FreePort.next(), words, password);
    redis.startAgain();
    return redis;
  }

  /**
   * Starts a Sentinel.
   *
   * @param binary the path of the server program, see {@link RedisBinary}
   * @param password the password of the Sentinel; null for no password
   * @param settings the lines of the Sentinel's configuration file
   * @return the Sentinel, ready for commands
   */
  static LocalRedis startSentinel(Path binary, @Nullable String password, List<String> settings) {
    LocalRedis sentinel = new LocalRedis(binary, FreePort.next(), List.of("--sentinel"), password);
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

  /** Restarts a {@linkplain #kill killed} server on its previous port, with its previous files. */
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

  /**
   * If the program is Redis 6.2, removes the setting {@code enable-debug-command}, with which only
   * Redis 7 and later versions start.
   */
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
      throw new IllegalStateException("the server has ended: " + log());
    }
    try {
      return command("PING");
    } catch (IllegalStateException e) {
      return null; // the server has not started yet
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
   * Waits until a condition is true.
   *
   * @param what the condition for the error message, beginning with a verb in the third person
   * @param condition the condition, which is checked every few milliseconds
   */
  void await(String what, java.util.function.BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > PATIENCE.toNanos()) {
        throw new IllegalStateException(
            "expected within %s that %s %s; its log: %s"
                .formatted(PATIENCE, address(), what, log()));
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }

  /**
   * Sends a command to the server on a new connection.
   *
   * @param words the command and its arguments
   * @return the reply: a String, a Long, a List of these types, or null
   * @throws IllegalStateException with the server's error if the server rejects the command, or if
   *     the server is unreachable
   */
  @CanIgnoreReturnValue
  public @Nullable Object command(String... words) {
    return RespCall.ask(port, password, words);
  }

  /**
   * Returns the port.
   *
   * @return the port on the loopback address
   */
  public int port() {
    return port;
  }

  /**
   * Returns the host and the port of the server.
   *
   * @return the host and the port in the form {@code 127.0.0.1:port}
   */
  public String address() {
    return "127.0.0.1:" + port;
  }

  /**
   * Returns the URI of the server.
   *
   * @return {@code redis://127.0.0.1:port/0}
   */
  public String uri() {
    return "redis://" + address() + "/0";
  }

  /** Kills the server without warning, like a power failure. */
  public void kill() {
    Process running = process;
    if (running != null) {
      running.destroyForcibly().onExit().join();
      process = null;
    }
  }

  /** Freezes the server: connections to the server stay open, but it sends nothing. */
  public void freeze() {
    signal("STOP");
  }

  /** Resumes a frozen server. */
  public void thaw() {
    signal("CONT");
  }

  private void signal(String name) {
    Process running = process;
    if (running == null) {
      throw new IllegalStateException("the server is not running");
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
