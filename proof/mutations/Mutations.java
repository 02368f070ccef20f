// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Plants one mutation after the other, and says who notices: the simulator, the tests. The script
 * run starts this class and explains the format of the mutations.
 *
 * <p>Usage: {@code java Mutations.java SUITE CLASSPATH [NAME...]}. The class path has the compiled
 * classes, the test classes and what they need; a mutated class is put before them.
 */
public final class Mutations {

  /** The simulator stops after a minute, or after one of processor time. */
  private static final long SIMULATOR_SECONDS = 600;

  private static final long TESTS_SECONDS = 300;

  /** {@code -Dsimulator.only} leaves the tests out, {@code -Dtests.only} the simulator. */
  private static final boolean SIMULATES = System.getProperty("tests.only") == null;

  private static final boolean TESTS = System.getProperty("simulator.only") == null;

  private record Mutation(
      String name, Path file, String before, String after, List<String> tests) {}

  private final Path suite;
  private final String classPath;
  private final Path work;
  private final List<Mutation> mutations = new ArrayList<>();
  private List<String> simulator = List.of();

  private Mutations(Path suite, String classPath) throws IOException {
    this.suite = suite;
    this.classPath = classPath;
    this.work = Files.createTempDirectory("mutations");
    read();
  }

  public static void main(String[] args) throws Exception {
    Mutations all = new Mutations(Path.of(args[0]), args[1]);
    System.exit(all.run(List.of(args).subList(2, args.length)) ? 0 : 1);
  }

  private void read() throws IOException {
    String name = "";
    Path file = suite;
    List<String> tests = List.of();
    List<String> before = new ArrayList<>();
    List<String> after = new ArrayList<>();
    List<String> lines = new ArrayList<>(Files.readAllLines(suite));
    lines.add("");
    for (String line : lines) {
      String value = line.substring(line.indexOf(' ') + 1);
      if (line.startsWith("simulator ")) {
        simulator = List.of(value.split(" "));
      } else if (line.startsWith("tests ")) {
        tests = List.of(value.split(" "));
      } else if (line.startsWith("mutation ")) {
        name = value;
      } else if (line.startsWith("file ")) {
        file = Path.of(value);
      } else if (line.startsWith("- ")) {
        before.add(line.substring(2));
      } else if (line.startsWith("+ ")) {
        after.add(line.substring(2));
      } else if (line.isBlank() && !before.isEmpty()) {
        mutations.add(new Mutation(name, file, text(before), text(after), tests));
        before.clear();
        after.clear();
      }
    }
  }

  private static String text(List<String> lines) {
    return String.join("\n", lines).strip();
  }

  /** Returns whether the simulator noticed each mutation, or the tests if it is left out. */
  private boolean run(List<String> names) throws Exception {
    List<Mutation> planted =
        mutations.stream().filter(one -> names.isEmpty() || names.contains(one.name)).toList();
    if (TESTS) {
      requireThatTestsPass(planted);
    }
    int bySimulator = 0;
    int byTests = 0;
    System.out.printf(
        "%-55s %-22s %s%n",
        "mutation", SIMULATES ? "simulator" : "tests", SIMULATES && TESTS ? "tests" : "");
    for (Mutation mutation : planted) {
      String path = mutated(mutation) + File.pathSeparator + classPath;
      System.out.printf("%-55s ", mutation.name);
      if (SIMULATES) {
        Verdict simulated = simulated(mutation, path);
        System.out.printf("%-22s ", simulated);
        bySimulator += simulated.killed() ? 1 : 0;
      }
      if (TESTS) {
        Verdict tested = tested(mutation.tests, path);
        System.out.print(tested);
        byTests += tested.killed() ? 1 : 0;
      }
      System.out.println();
    }
    int count = planted.size();
    if (SIMULATES) {
      System.out.printf("the simulator kills %d of %d%n", bySimulator, count);
    }
    if (TESTS) {
      System.out.printf("the tests kill %d of %d%n", byTests, count);
    }
    return (SIMULATES ? bySimulator : byTests) == count;
  }

  /** A test that fails without a mutation would seem to notice each of them. */
  private void requireThatTestsPass(List<Mutation> planted) throws Exception {
    for (List<String> tests : planted.stream().map(Mutation::tests).distinct().toList()) {
      if (tested(tests, classPath).exitCode != 0) { // one fails, none ran, or they did not end
        throw new IllegalStateException(
            "the tests do not pass without a mutation:\n"
                + String.join("\n", Files.readAllLines(work.resolve("last.log"))));
      }
    }
  }

  private Verdict simulated(Mutation mutation, String path) throws Exception {
    Verdict verdict = java(path, simulator, SIMULATOR_SECONDS);
    if (!verdict.ended) { // it says nothing: neither a seed nor that nothing was found
      throw new IllegalStateException(mutation.name + ": the simulator did not end");
    }
    requireSeed(mutation, verdict);
    return verdict;
  }

  private Verdict tested(List<String> tests, String path) throws Exception {
    List<String> runTests = new ArrayList<>(List.of("RunTests"));
    runTests.addAll(tests);
    return java(path, runTests, TESTS_SECONDS);
  }

  /** A simulator that could not start has the same exit code as one that found something. */
  private void requireSeed(Mutation mutation, Verdict simulated) throws IOException {
    List<String> told = Files.readAllLines(work.resolve("last.log"));
    boolean hasSeed = !told.isEmpty() && told.get(told.size() - 1).startsWith("seed ");
    if (simulated.killed() && !hasSeed) {
      throw new IllegalStateException(
          mutation.name + ": the simulator ended without a seed:\n" + String.join("\n", told));
    }
  }

  /** Compiles the mutated file. Returns the folder with its classes. */
  private Path mutated(Mutation mutation) throws Exception {
    String source = Files.readString(mutation.file);
    int at = source.indexOf(mutation.before);
    if (at < 0 || source.indexOf(mutation.before, at + 1) >= 0) {
      throw new IllegalArgumentException(
          "%s: %s has this %s, expected it once; correct %s:%n%s"
              .formatted(
                  mutation.name,
                  mutation.file,
                  at < 0 ? "nowhere" : "more than once",
                  suite,
                  mutation.before));
    }
    Path folder = Files.createDirectories(work.resolve(mutation.name));
    Path file = folder.resolve(mutation.file.getFileName());
    Files.writeString(file, source.replace(mutation.before, mutation.after));
    Process javac =
        new ProcessBuilder(
                tool("javac"),
                "-nowarn",
                "-proc:none",
                "-cp",
                classPath,
                "-d",
                folder.toString(),
                file.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("javac.log").toFile())
            .start();
    if (javac.waitFor() != 0) {
      throw new IllegalArgumentException(
          mutation.name + " does not compile:\n" + Files.readString(folder.resolve("javac.log")));
    }
    return folder;
  }

  private Verdict java(String path, List<String> command, long seconds) throws Exception {
    List<String> all = new ArrayList<>(List.of(tool("java"), "-Xmx1g", "-cp", path));
    all.addAll(command);
    long began = System.nanoTime();
    Process process =
        new ProcessBuilder(all)
            .redirectErrorStream(true)
            .redirectOutput(work.resolve("last.log").toFile())
            .start();
    boolean ended = process.waitFor(seconds, TimeUnit.SECONDS);
    if (!ended) {
      process.destroyForcibly().waitFor();
    }
    long took = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began);
    return new Verdict(ended, ended ? process.exitValue() : -1, took);
  }

  private static String tool(String name) {
    return Path.of(System.getProperty("java.home"), "bin", name).toString();
  }

  private record Verdict(boolean ended, int exitCode, long seconds) {

    /** A run that does not end is noticed as well. */
    boolean killed() {
      return !ended || exitCode == 1;
    }

    @Override
    public String toString() {
      return (killed() ? "killed in " : "lives after ") + seconds + " s";
    }
  }
}
