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

/**
 * A server in a separate process. The server prints its ports when it has started. Closing this
 * object ends the process.
 */
final class Program implements AutoCloseable {

  /**
   * The flags of the launcher, with the heap size of the Debian package. The default heap size
   * depends on the machine, so figures of different machines could not be compared.
   */
  private static final List<String> FLAGS = ServerFlags.asLaunched("-Xmx128m");

  private final Process process;
  private final List<Integer> ports;

  private Program(Process process, List<Integer> ports) {
    this.process = process;
    this.ports = ports;
  }

  /**
   * Starts a Java program that is on the class path of this process.
   *
   * @param line the beginning of the line in which the program prints its ports
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
                  // The output is ignored, but must be read: a full pipe would block the program.
                }
              } catch (IOException e) {
                // The program has ended and closed its output.
              }
            },
            "drain");
    reader.setDaemon(true);
    reader.start();
  }

  /** Runs an installed program until it ends, and returns its output. */
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

  /** Returns whether a program is on the {@code PATH}. */
  static boolean has(String name) {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, name)));
  }

  /** Returns the printed port with an index, from 0. */
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

  /** Reads from the kernel's files which resources a process uses. */
  static final class Usage {

    private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s*(\\d+) kB");
    private static final int KIB_PER_MIB = 1_024;
    private static final int USER_TICKS =
        11; // the index of the field, counted after the program's name, since the name can contain
    // spaces
    private static final int SYSTEM_TICKS = 12;
    // Linux reports 100 ticks per second on every machine.
    private static final double MICROS_PER_TICK = 10_000;

    private Usage() {}

    /** Returns the processor time that a process has used, in microseconds. */
    static double processorMicros(long pid) throws IOException {
      String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
      List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
      long ticks =
          Long.parseLong(fields.get(USER_TICKS)) + Long.parseLong(fields.get(SYSTEM_TICKS));
      return ticks * MICROS_PER_TICK;
    }

    /** Returns the resident memory of a process, in MiB. */
    static long residentMib(long pid) throws IOException {
      String status = Files.readString(Path.of("/proc", String.valueOf(pid), "status"));
      Matcher resident = RESIDENT.matcher(status);
      return resident.find() ? Long.parseLong(resident.group(1)) / KIB_PER_MIB : -1;
    }
  }
}
