// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The command as a process of its own, as people run it. */
final class CliProcess implements AutoCloseable {

  private final Process process;

  private CliProcess(Process process) {
    this.process = process;
  }

  static CliProcess start(String... args) throws IOException {
    return start(Map.of(), args);
  }

  static CliProcess start(Map<String, String> environment, String... args) throws IOException {
    return start(List.of(), environment, Main.class, args);
  }

  /** Starts a class with more options of the JVM. */
  static CliProcess start(
      List<String> options, Map<String, String> environment, Class<?> main, String... args)
      throws IOException {
    return start("--default-signal=HUP", options, environment, main, args);
  }

  /** Starts the command as nohup does, where SIGHUP is ignored. */
  static CliProcess startIgnoringHangUp(String... args) throws IOException {
    return start("--ignore-signal=HUP", List.of(), Map.of(), Main.class, args);
  }

  private static CliProcess start(
      String signal,
      List<String> options,
      Map<String, String> environment,
      Class<?> main,
      String... args)
      throws IOException {
    List<String> command = new ArrayList<>();
    if (System.getProperty("os.name").equals("Linux")) {
      // Where the build ignores SIGHUP (nohup), its children would too.
      command.addAll(List.of("env", signal));
    }
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    if (Runtime.version().feature() >= 24) { // as in the script sluice; the JVM would warn
      command.add("--enable-native-access=ALL-UNNAMED");
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    command.addAll(options);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.addAll(List.of(args));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().remove("JAVA_TOOL_OPTIONS"); // the JVM would say so on standard error
    builder.environment().putAll(environment);
    return new CliProcess(builder.redirectInput(new File("/dev/null")).start());
  }

  BufferedReader out() {
    return new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  BufferedReader err() {
    return new BufferedReader(
        new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
  }

  Process process() {
    return process;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
