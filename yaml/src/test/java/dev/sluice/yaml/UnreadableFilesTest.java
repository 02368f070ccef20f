// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.NodeReader;
import dev.sluice.yaml.internal.Problems;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.Charset;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are no limit files at all. */
class UnreadableFilesTest {

  private static final String GOOD =
      "NewOrdersPerAccount: {burst: 300, count: 300, period: 180m}\n";

  @TempDir Path folder;

  @Test
  void lint_ofAMissingFile_saysSo() {
    assertThat(lint(Path.of("none.yml")))
        .containsExactly("1:1: there is no such file in " + Path.of("").toAbsolutePath());
    assertThat(lint(folder.resolve("none.yml"))).containsExactly("1:1: there is no such file");
  }

  @Test
  void lint_ofAFileBelowAFile_saysSo() throws IOException {
    Path file = Files.writeString(folder.resolve("limits.yml"), GOOD);
    assertThat(lint(file.resolve("limits.yml"))).containsExactly("1:1: there is no such file");
  }

  @Test
  void lint_ofADirectory_saysSo() {
    assertThat(lint(folder)).containsExactly("1:1: found a directory, expected a file");
  }

  @Test
  void lint_ofAFileThatMayNotBeRead_saysSo() {
    // Permissions do not stop a test that runs as root, so the translation alone is tested.
    assertThat(FileContent.explain(new AccessDeniedException("limits.yml")))
        .isEqualTo("cannot read the file: permission denied");
    assertThat(FileContent.explain(new IOException("Input/output error")))
        .isEqualTo("cannot read the file: Input/output error");
  }

  @Test
  void lint_ofAFileOf100Megabytes_saysTheBound() throws IOException {
    Path file = folder.resolve("limits.yml");
    try (RandomAccessFile large = new RandomAccessFile(file.toFile(), "rw")) {
      large.setLength(100 << 20);
    }
    assertThat(lint(file)).containsExactly("1:1: the file has more than 16 MiB, the maximum");
  }

  @Test
  void theBound_inASmallHeap_saysWhatAllowsMore() {
    assertThat(FileContent.tooLarge(3 << 20))
        .isEqualTo("the file has more than 3072 KiB; a larger heap of the JVM allows up to 16384");
  }

  @Test
  void lint_ofMoreValuesThanTheBound_saysTheBound() throws IOException {
    byte[] list = "-\n".repeat(NodeReader.MAX_NODES + 1).getBytes(UTF_8);
    assertThat(lint(list)).contains("2000000:2: more than 2000000 values are not allowed");
  }

  @Test
  void lint_ofAVeryDeepFile_saysTheBound() throws IOException {
    assertThat(lint("[".repeat(1_000_000).getBytes(UTF_8)))
        .contains("1:17: more than 16 levels of nesting are not allowed");
    assertThat(lint("- ".repeat(100_000).getBytes(UTF_8)))
        .contains("1:33: more than 16 levels of nesting are not allowed");
  }

  @Test
  void lint_ofBinaryJunk_saysWhereItBegins() throws IOException {
    assertThat(lint(new byte[] {'a', ':', ' ', 'b', '\n', 'c', 7, 8}))
        .containsExactly("2:2: found the control character U+0007, expected text");
    assertThat(lint(new byte[] {0x7f, 'E', 'L', 'F', 2, 1, 1, 0}))
        .containsExactly("1:5: found the control character U+0002, expected text");
    assertThat(lint(new byte[] {0x1f, (byte) 0x8b, 8, 0}))
        .containsExactly("1:1: found the control character U+001F, expected text");
    assertThat(lint(new byte[4096]))
        .containsExactly("1:1: found the control character U+0000, expected text");
  }

  @Test
  void lint_ofInvalidUtf8_saysWhereItIs() throws IOException {
    assertThat(lint((GOOD + "# Überläufe").getBytes(ISO_8859_1)))
        .containsExactly("2:3: found the byte 0xdc, expected text in UTF-8");
    assertThat(lint("# Überläufe é".getBytes(UTF_8), 15))
        .containsExactly("1:13: found the byte 0xc3, expected text in UTF-8");
    // Half of a surrogate pair, which no text has.
    assertThat(lint(new byte[] {'#', (byte) 0xed, (byte) 0xa0, (byte) 0x80}))
        .containsExactly("1:2: found the byte 0xed, expected text in UTF-8");
  }

  @Test
  void lint_ofUtf16_saysSo() throws IOException {
    for (Charset charset : List.of(UTF_16, UTF_16LE, Charset.forName("UTF-32"))) {
      assertThat(lint(GOOD.getBytes(charset)))
          .containsExactly("1:1: found UTF-16 or UTF-32, expected UTF-8");
    }
  }

  @Test
  void lint_ofAByteOrderMark_acceptsIt_andCountsColumnsWithoutIt() throws IOException {
    assertThat(lint(("\ufeff" + GOOD).getBytes(UTF_8))).isEmpty();
    assertThat(lint("\ufeffFoo: {}\n".getBytes(UTF_8)).get(0)).startsWith("1:1: ");
    assertThat(lint("\ufeff".getBytes(UTF_8)).get(0)).startsWith("1:1: found an empty file");
  }

  @Test
  void lint_ofCarriageReturns_acceptsThem_andCountsTheSameLines() throws IOException {
    assertThat(lint(GOOD.replace("\n", "\r\n").getBytes(UTF_8))).isEmpty();
    assertThat(lint("# one\r\n# two\r\nFoo: {burst: x}\r\n".getBytes(UTF_8)).get(0))
        .startsWith("3:1: ");
  }

  @Test
  void lint_countsColumnsInCharacters_notInUtf16() throws IOException {
    assertThat(lint("{\"😀\": 1, Foo: 1}".getBytes(UTF_8)).get(2)).startsWith("1:10: ");
  }

  @Test
  void lint_ofMistakesWithoutEnd_stopsListingThem() throws IOException {
    List<String> lines = lint("NewOrdersPerAccount: 1\n".repeat(20_000).getBytes(UTF_8));
    assertThat(lines).hasSize(Problems.MOST + 1);
    assertThat(lines.get(Problems.MOST)).endsWith("found more problems, which are not listed");
  }

  @Test
  void load_ofWarningsWithoutEnd_isNotRefused_andNoMistakeIsAmongThem() throws IOException {
    Path defaults = Files.writeString(folder.resolve("defaults.yml"), GOOD);
    StringBuilder text = new StringBuilder();
    for (int id = 1; id <= Problems.MOST + 2; id++) { // each equals the default
      text.append("- NewOrdersPerAccount: {burst: 300, count: 300, period: 180m, ids: [")
          .append(id)
          .append("]}\n");
    }
    Path overrides = Files.writeString(folder.resolve("overrides.yml"), text);
    LimitFiles files = TestFiles.builder().defaults(defaults).overrides(overrides).build();

    Limits limits = files.load();
    assertThat(
            limits.catalogue().names().stream().mapToInt(n -> limits.overridesOf(n).size()).sum())
        .isEqualTo(Problems.MOST + 2);
    List<Problem> warnings = files.lint();
    assertThat(warnings)
        .hasSize(Problems.MOST + 1)
        .allMatch(problem -> problem.severity() == Severity.WARNING);

    Files.writeString(overrides, text + "- NewOrdersPerAccount: 1\n");
    assertThat(files.lint())
        .filteredOn(problem -> problem.severity() == Severity.MISTAKE)
        .singleElement()
        .asString()
        .contains("found 1, expected");
  }

  @Test
  void lint_ofAPipe_saysSo_andDoesNotWaitForAWriter() throws Exception {
    Path pipe = folder.resolve("limits.yml");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    assertThat(lint(pipe))
        .containsExactly("1:1: found a pipe, a socket or a device, expected a regular file");
    assertThat(lint(Path.of("/dev/zero")))
        .containsExactly("1:1: found a pipe, a socket or a device, expected a regular file");
  }

  /** Took 22 seconds: the scanner copied what it had for each kilobyte that it read. */
  @Test
  void lint_ofEightMegabytesOfDigits_isLinear() throws IOException {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long start = threads.getCurrentThreadCpuTime();
    String digits = "1".repeat(8 << 20);
    for (String text :
        List.of(
            digits,
            "NewOrdersPerAccount: {burst: " + digits + ", count: 1, period: 1s}\n",
            "NewOrdersPerAccount: {burst: 1, count: 1, period: \"" + digits + "\"}\n",
            digits + ": 1\n")) {
      assertThat(lint(text.getBytes(UTF_8)).toString()).hasSizeLessThan(500);
    }
    assertThat(lint(("NewOrdersPerAccount: {burst: " + digits + "}\n").getBytes(UTF_8)))
        .contains("1:30: found a value of 8388608 characters, expected at most 65536");
    assertThat(Duration.ofNanos(threads.getCurrentThreadCpuTime() - start))
        .as("processor time of this thread, which a busy machine does not change")
        .isLessThan(Duration.ofSeconds(10));
  }

  /** A link may lead to a file that somebody else may not read. */
  @Test
  void lint_ofAFileThatIsNoLimitFile_quotesNothingThatMayBeSecret() throws IOException {
    String hash = "$6$rounds=5000$saltsalt$u3S3cr3tHash";
    for (String secret :
        List.of(
            "root:" + hash + ":19000:0:99999:7:::\ndaemon:*:18375:0:99999:7:::\n",
            "root: " + hash + "\ndb.password: u3S3cr3tHash\n",
            "apiVersion: v1\nkind: Secret\ndata: {password: u3S3cr3tHash}\n",
            "- u3S3cr3tHash/+=\n- [u3S3cr3tHash/+=]\n",
            "- u3S3cr3tHash/+=:\n    x: 1\n",
            "-----BEGIN PRIVATE KEY-----\nu3S3cr3tHash/+=\n-----END PRIVATE KEY-----\n",
            "u3S3cr3tHash/+=: 1\n",
            "AWS_SECRET=u3S3cr3tHash\n",
            "user: !u3S3cr3tHash/+=u3S3cr3tHashu3S3cr3tHashu3S3cr3tHash x\n",
            // What YAML takes for its own at the beginning of a line.
            "!S3cr3t2024\n",
            "&S3cr3t2024\n",
            "*S3cr3t2024\n",
            "!S3cr3t!2024\n",
            "%TAG !S3cr3t! a\n%TAG !S3cr3t! b\n--- x\n",
            "%YAML 1.S3cr3t\n--- x\n",
            "{S3cr3t2024}\n",
            // Plain words.
            "S3cr3t2024: x\n",
            "S3cr3t2024:\n",
            "db: {S3cr3t2024: 1}\n",
            "db: {count: S3cr3t2024}\n",
            "db: {period: S3cr3t2024}\n",
            "- S3cr3t2024: {ids: [S3cr3t2024]}\n",
            "- db: {S3cr3t2024: 1}\n",
            "names: [S3cr3t2024]\n",
            "S3cr3t: 20241224\n",
            "names:\n  - {S3cr3t2024: 1}\n",
            "names:\n  - id: S3cr3t2024\n")) {
      Path file = Files.writeString(folder.resolve("shadow"), secret);
      for (LimitFiles files :
          List.of(
              TestFiles.of(file),
              TestFiles.builder().overrides(file).build(),
              TestFiles.builder().names(file).build())) {
        List<String> lines = TestFiles.lines(files.lint());
        assertThat(lines).isNotEmpty();
        assertThat(lines.toString()).as(secret).doesNotContain("S3cr3t", "2024");
      }
    }
  }

  /** Its author sees what is wrong: something shows that the file is meant. */
  @Test
  void lint_ofALimitFile_quotesWhatIsWrong() throws IOException {
    assertThat(lint("NewOrdersPerAccount: {burst: !much 1, count: few}\n".getBytes(UTF_8)))
        .contains(
            "1:30: found the tag !much, expected a value without a tag",
            "1:46: found \"few\", expected a whole number in digits, such as 20");
    assertThat(lint("Foo: {burst: 1, count: 1, period: soon}\n".getBytes(UTF_8)).toString())
        .contains("found the name \"Foo\"", "\"soon\"");
    assertThat(lint("Foo: {burst: 1, requests: 1, per: soon}\n".getBytes(UTF_8)).toString())
        .contains("found the name \"Foo\"", "the field \"requests\"", "the field \"per\"");
    assertThat(lint("Foo: {period: 1m, requests: 1}\n".getBytes(UTF_8)).toString())
        .contains("the field \"requests\"");
  }

  private List<String> lint(byte[] bytes, int length) throws IOException {
    return lint(Arrays.copyOf(bytes, length));
  }

  private List<String> lint(byte[] bytes) throws IOException {
    return lint(Files.write(folder.resolve("limits.yml"), bytes));
  }

  private static List<String> lint(Path file) {
    return TestFiles.lines(TestFiles.of(file).lint());
  }
}
