// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Each file of {@code bad/} is wrong in one way; beside it stands what must be said about it. */
class BadFilesTest {

  @TestFactory
  Stream<DynamicTest> load_ofABadFile_saysWhatStandsBesideIt() {
    List<Path> files = TestFiles.yaml("bad");
    assertThat(files).hasSizeGreaterThan(50);
    return files.stream()
        .map(f -> DynamicTest.dynamicTest(f.getFileName().toString(), () -> check(f)));
  }

  private static void check(Path file) {
    String name = file.getFileName().toString().replace(".yml", ".txt");
    List<String> expected = TestFiles.read(file.resolveSibling(name)).lines().toList();
    LimitFiles files = TestFiles.alone(file);
    assertThat(expected).isNotEmpty();
    assertThat(TestFiles.lines(files.lint())).isEqualTo(expected);
    var refusal = catchThrowableOfType(LimitFilesException.class, files::load);
    assertThat(TestFiles.lines(refusal.problems())).isEqualTo(expected);
    assertThat(refusal.getMessage().lines())
        .hasSameSizeAs(expected)
        .allMatch(l -> l.startsWith(file + ":"));
  }

  @Test
  void lint_ofTheBadVectors_namesEachMarkedMistakeAtItsLineInOneRun() {
    Path vectors = TestFiles.folder("vectors");
    List<Problem> problems =
        TestFiles.builder()
            .defaults(vectors.resolve("bad-defaults.yml"))
            .overrides(vectors.resolve("bad-overrides.yml"))
            .build()
            .lint();
    assertThat(TestFiles.lines(problems))
        .containsExactly(
            "2:10: found \"twenty\", expected a whole number in digits, such as 20",
            "4:11: found \"1 fortnight\", expected a duration such as 1s, 180m, 1h30m, 7d, 250ms or PT3H",
            "9:1: found \"NewOrdersPerAccount\" again, expected each name once; it is on line 5 too",
            "14:10: found 9223372036854775807, expected at most 15250: the time to fill the bucket"
                + " (burst × period / count) overflows 64 bits of nanoseconds (about 292 years)",
            "2:12: found 0, expected a whole number > 0",
            "8:3: found the name \"UsageRequestsPerIPv10Address\", expected one that is known"
                + " (the line \"id: ipAddress\" in its default would declare it)",
            "13:3: the field period is missing",
            "16:5: found the field \"perriod\", expected one of burst, count, period, quotas, ids; did you"
                + " mean \"period\"?",
            "19:13: invalid ipAddress, \"lol\" is not an IP address");
  }
}
