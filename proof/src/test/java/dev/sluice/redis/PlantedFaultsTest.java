// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The lists of {@code proof/mutations} against the code: a text that does not stand there once
 * plants nothing.
 */
final class PlantedFaultsTest {

  private static final Path ROOT = Path.of("..");

  /** A fault, and the text in whose place it is planted. */
  record Fault(String name, Path file, String text, String instead) {

    @Override
    public String toString() {
      return name;
    }
  }

  static List<Fault> faults() throws IOException {
    List<Fault> faults = new ArrayList<>(faults("limiter"));
    faults.addAll(faults("memory"));
    faults.addAll(faults("database"));
    return faults;
  }

  private static List<Fault> faults(String suite) throws IOException {
    List<Fault> faults = new ArrayList<>();
    String all = Files.readString(ROOT.resolve("proof/mutations/" + suite + ".txt"));
    for (String block : all.split("\n\n", -1)) {
      List<String> lines = block.lines().toList();
      String name = texts(lines, "mutation ");
      if (!name.isEmpty()) {
        Path file = ROOT.resolve(texts(lines, "file "));
        faults.add(new Fault(name, file, texts(lines, "- "), texts(lines, "+ ")));
      }
    }
    return faults;
  }

  private static String texts(List<String> lines, String head) {
    return String.join(
            "\n",
            lines.stream()
                .filter(line -> line.startsWith(head))
                .map(line -> line.substring(head.length()))
                .toList())
        .strip();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void text_standsInItsFileOnce(Fault fault) throws IOException {
    String source = Files.readString(fault.file);
    assertThat(fault.text).isNotEmpty().isNotEqualTo(fault.instead);
    assertThat(source.split(Pattern.quote(fault.text), -1))
        .as("the pieces of %s around: %s", fault.file, fault.text)
        .hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"limiter", "memory", "database"})
  void everyMutation_isRead_andHasANameOfItsOwn(String suite) throws IOException {
    Path list = ROOT.resolve("proof/mutations/" + suite + ".txt");
    long named =
        Files.readAllLines(list).stream().filter(line -> line.startsWith("mutation ")).count();
    assertThat(faults(suite).stream().map(Fault::name))
        .hasSize((int) named)
        .doesNotHaveDuplicates();
  }
}
