// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Text files are as {@code .editorconfig} asks for, and every program names its license in its
 * first line, or in its second where the first names its interpreter.
 */
class TextFilesTest {

  private static final String LICENSE = "SPDX-License-Identifier: Apache-2.0";

  /** Programs: by the ending of their names, or by the line that names their interpreter. */
  private static final Pattern PROGRAM =
      Pattern.compile(".*\\.(go|java|js|kt|lua|mjs|proto|py|sql)");

  /** Written by others, or what a test gives to a reader of files. */
  private static final Pattern NOT_OURS =
      Pattern.compile(
          "mvnw|mvnw\\.cmd|.*\\.(png|jar)|.*/src/(main|test)/resources/.*\\b(bad|vectors)/.*|.*FuzzTestInputs/.*");

  @Test
  void files_areAsTheEditorConfigAsks() {
    Map<Pattern, Map<String, String>> sections = sections();
    List<String> found = new ArrayList<>();
    for (Path file : RepositoryFiles.all()) {
      String name = RepositoryFiles.name(file);
      if (!NOT_OURS.matcher(name).matches()) {
        faults(RepositoryFiles.read(file), settings(sections, name))
            .forEach(fault -> found.add(name + ": " + fault));
      }
    }

    assertThat(found).as("files that break .editorconfig").isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'a'        | no end of line at the end",
        "'a\r\n'    | a carriage return",
        "'a\n b \n' | line 2: a blank at its end",
        "'a\n\tb\n' | line 2: a tab",
      })
  void faults_ofABadText_nameThem(String text, String fault) {
    String unescaped = text.translateEscapes();

    assertThat(faults(unescaped, settings(sections(), "A.java"))).containsExactly(fault);
    assertThat(faults("a\n  b\n", settings(sections(), "A.java"))).isEmpty();
  }

  @Test
  void faults_ofALongLine_nameItsLength() {
    assertThat(faults("a".repeat(100) + "\n", settings(sections(), "A.java"))).isEmpty();
    assertThat(faults("a".repeat(101) + "\n", settings(sections(), "A.java")))
        .containsExactly("line 1: 101 characters, of which 100 are allowed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a(\"%s\");", "// http://%s", "import a.%s;", "\"\"\"\n%s\n\"\"\""})
  void faults_ofALongLine_thatNothingBreaks_areNone(String text) {
    String longer = text.formatted("a".repeat(101)) + "\n";

    assertThat(faults(longer, settings(sections(), "A.java"))).isEmpty();
    assertThat(faults("a".repeat(101) + "\n", settings(sections(), "a.md"))).isEmpty();
  }

  @Test
  void programs_nameTheirLicense() {
    List<String> found = new ArrayList<>();
    for (Path file : RepositoryFiles.all()) {
      String name = RepositoryFiles.name(file);
      if (!NOT_OURS.matcher(name).matches()) {
        List<String> start = RepositoryFiles.read(file).lines().limit(2).toList();
        boolean script = !start.isEmpty() && start.get(0).startsWith("#!");
        boolean named = start.stream().skip(script ? 1 : 0).limit(1).anyMatch(this::isLicense);
        if ((script || PROGRAM.matcher(name).matches()) && !named) {
          found.add(name);
        }
      }
    }

    assertThat(found).as("programs without a comment \"%s\"", LICENSE).isEmpty();
  }

  private boolean isLicense(String line) {
    return line.matches("(//|#|--) " + LICENSE);
  }

  /** Every way in which a text differs from what is asked for. */
  private static List<String> faults(String text, Map<String, String> settings) {
    List<String> faults = new ArrayList<>();
    if (!text.isEmpty() && !text.endsWith("\n") && asks(settings, "insert_final_newline", "true")) {
      faults.add("no end of line at the end");
    }
    if (text.indexOf('\r') >= 0 && asks(settings, "end_of_line", "lf")) {
      return List.of("a carriage return");
    }
    String[] lines = text.split("\n", -1);
    for (int i = 0; i < lines.length; i++) {
      String line = lines[i];
      if (!line.stripTrailing().equals(line)
          && asks(settings, "trim_trailing_whitespace", "true")) {
        faults.add("line " + (i + 1) + ": a blank at its end");
      }
      if (line.startsWith("\t") && asks(settings, "indent_style", "space")) {
        faults.add("line " + (i + 1) + ": a tab");
      }
    }
    addLongLines(lines, Integer.parseInt(settings.getOrDefault("max_line_length", "0")), faults);
    return faults;
  }

  /** A string, a link and an import may be longer: nothing breaks them. */
  private static void addLongLines(String[] lines, int longest, List<String> faults) {
    boolean inTextBlock = false;
    for (int i = 0; i < lines.length && longest > 0; i++) {
      String line = lines[i];
      boolean unbroken = line.contains("\"") || line.contains("://") || line.startsWith("import ");
      if (line.length() > longest && !unbroken && !inTextBlock) {
        faults.add(
            "line %s: %s characters, of which %s are allowed"
                .formatted(i + 1, line.length(), longest));
      }
      inTextBlock ^= line.split("\"\"\"", -1).length % 2 == 0;
    }
  }

  private static boolean asks(Map<String, String> settings, String name, String value) {
    return value.equals(settings.get(name));
  }

  private static Map<String, String> settings(
      Map<Pattern, Map<String, String>> sections, String name) {
    Map<String, String> settings = new HashMap<>();
    sections.forEach(
        (pattern, those) -> {
          if (pattern.matcher(name.substring(name.lastIndexOf('/') + 1)).matches()) {
            settings.putAll(those);
          }
        });
    return settings;
  }

  /** The sections, whose patterns here are names of files with stars. */
  private static Map<Pattern, Map<String, String>> sections() {
    Map<Pattern, Map<String, String>> sections = new LinkedHashMap<>();
    Map<String, String> section = new HashMap<>();
    for (String line : RepositoryFiles.read(Path.of("../.editorconfig")).lines().toList()) {
      if (line.startsWith("[")) {
        section = new HashMap<>();
        String glob = line.substring(1, line.length() - 1);
        assertThat(glob).as("a pattern that this test understands").matches("[\\w.*]+");
        sections.put(Pattern.compile(glob.replace(".", "\\.").replace("*", ".*")), section);
      } else if (line.contains("=")) {
        section.put(line.split("=", 2)[0].strip(), line.split("=", 2)[1].strip());
      }
    }
    return sections;
  }
}
