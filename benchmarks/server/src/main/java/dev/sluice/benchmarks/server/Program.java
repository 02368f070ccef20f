// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import dev.sluice.benchmarks.report.ServerFlags;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A server in a separate process, which prints its ports. Closing ends the process. */
final class Program implements AutoCloseable {

  /**
   * The flags of the launcher, with the heap of the Debian package: the default heap depends on the
   * machine, so its figures would not be comparable.
   */
  private static final List<String> FLAGS = ServerFlags.asLaunched("-Xmx128m");

  private final Process process;
  private final List<Integer> ports;

  private Program(Process process, List<Integer> ports) {
    this.process = process;
    this.ports = ports;
  }

  /**
   * Starts a Java program of this class path.
   *
   * @param line the prefix of the line with which the program prints its ports
   */
  static Program start(String line, String main, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(FLAGS);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
    command.addAll(arguments);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    StringBuilder said = new StringBuilder();
    for (String told = out.readLine(); told != null; told = out.readLine()) {
      if (told.startsWith(line)) {
        drain(out);
        Matcher port = Pattern.compile(":(\\d+)").matcher(told);
        return new Program(
            process, port.results().map(found -> Integer.parseInt(found.group(1))).toList());
      }
      said.append(told).append('\n');
    }
    throw new IOException(main + " did not start:\n" + said);
  }

  private static void drain(BufferedReader out) {
    Thread reader =
        new Thread(
            () -> {
              try {
                while (out.readLine() != null) {
                  // Reads on, since a full pipe would block the program.
                }
              } catch (IOException e) {
                // The program has ended.
              }
            },
            "drain");
    reader.setDaemon(true);
    reader.start();
  }

  /** Runs a program of the machine to its end, and returns its output. */
  static String run(Map<String, String> environment, String... command)
      throws IOException, InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    Process process = builder.start();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String printed = String.join("\n", out.lines().toList());
      if (process.waitFor() != 0) {
        throw new IOException(
            String.join(" ", command) + " ended with " + process.exitValue() + ":\n" + printed);
      }
      return printed;
    } finally {
      process.destroy();
    }
  }

  /** Returns whether the PATH has a program. */
  static boolean has(String name) {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, name)));
  }

  /** Returns one of the printed ports, by its position. */
  int port(int index) {
    return ports.get(index);
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    process.destroy();
  }
}
