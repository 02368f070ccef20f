// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every example of {@code docs/limit-files.md} is true: the files of a section load together
 * without a problem, unless the section shows what a command says about them.
 */
class DocumentationTest {

  private static final Pattern BLOCK = Pattern.compile("(?ms)^```(yaml|console)\n(.*?)^```$");
  private static final Pattern TITLE = Pattern.compile("# (limits|overrides|names)\\.yml");

  private static final Pattern FOR = Pattern.compile("--for ([A-Za-z]+)");

  @TempDir Path folder;

  @TestFactory
  List<DynamicTest> example_ofEachSection_isTrue() {
    String page = TestFiles.read(Path.of("..", "docs", "limit-files.md"));
    List<DynamicTest> tests = new ArrayList<>();
    for (String section : page.split("(?m)^## ", -1)) {
      if (BLOCK.matcher(section).find()) {
        tests.add(DynamicTest.dynamicTest(section.lines().findFirst().get(), () -> check(section)));
      }
    }
    assertThat(tests).hasSizeGreaterThan(6);
    return tests;
  }

  private void check(String section) throws IOException {
    Map<String, Path> files = new HashMap<>();
    String shown = "";
    for (MatchResult block : BLOCK.matcher(section).results().toList()) {
      if (block.group(1).equals("yaml")) {
        var title = TITLE.matcher(block.group(2));
        assertThat(title.lookingAt()).as(block.group(2)).isTrue();
        Path file = TestFiles.write(folder.resolve(title.group(1) + ".yml"), block.group(2));
        assertThat(files.put(title.group(1), file)).isNull();
      } else {
        shown = block.group(2);
      }
    }
    String output = shown.substring(shown.indexOf('\n') + 1);
    StringBuilder lines = new StringBuilder();
    for (Problem problem : files(files, asked(shown)).lint()) {
      lines.append(problem.toString().substring(folder.toString().length() + 1)).append('\n');
    }
    assertThat(output).isEqualTo(lines.toString());
  }

  /** The limits behind {@code --for} in a command. */
  private static List<Requirement> asked(String shown) {
    return FOR.matcher(shown.lines().findFirst().orElse(""))
        .results()
        .map(one -> new Requirement(one.group(1), "--for", MissingDefault.REFUSE))
        .toList();
  }

  private static LimitFiles files(Map<String, Path> files, List<Requirement> required) {
    LimitFiles.Builder builder = TestFiles.builder().require(required);
    if (files.containsKey("limits")) {
      builder.defaults(files.get("limits"));
    }
    if (files.containsKey("overrides")) {
      builder.overrides(files.get("overrides"));
    }
    if (files.containsKey("names")) {
      builder.names(files.get("names"));
    }
    return builder.build();
  }
}
