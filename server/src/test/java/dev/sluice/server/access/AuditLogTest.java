// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import static dev.sluice.server.Eventually.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.sluice.server.base.JsonLines;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Lines that cannot lie, a file that is renamed, and a disk that is full. */
class AuditLogTest {

  private static final Caller OPS = Caller.anybody("192.0.2.7");

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  @TempDir private Path folder;

  private static void note(AuditLog log, String id) {
    log.note(OPS, "http", new AuditLog.Noted("reset", "Calls", id), "done", "");
  }

  @Test
  void idWithControlCharacters_isEscaped_andBounded() throws IOException {
    Path file = folder.resolve("audit.jsonl");
    try (AuditLog log = AuditLog.to(JsonLines.of(file, AuditLog.KIND, meters))) {
      note(log, "a\n{\"who\":\"root\"}\u001b[2J\u202e");
      note(log, "x".repeat(1000));
    }
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(2);
    assertThat(lines.get(0))
        .contains("\"who\":\"anybody\",\"by\":\"anybody\",\"address\":\"192.0.2.7\"")
        .contains("\"door\":\"http\",\"what\":\"reset\",\"limit\":\"Calls\"")
        .contains("\"id\":\"a\\n{\\\"who\\\":\\\"root\\\"}\\u001B[2J\\u202E\",\"result\":\"done\"")
        .matches("\\p{ASCII}*");
    assertThat(lines.get(1)).hasSizeLessThan(450).contains("x\\u2026\"");
  }

  @Test
  void fileThatIsRenamed_isMadeAgain_withoutASignal() throws IOException {
    Path file = folder.resolve("audit.jsonl");
    try (AuditLog log = AuditLog.to(JsonLines.of(file, AuditLog.KIND, meters))) {
      note(log, "one");
      await().until(() -> Files.size(file) > 0);
      Files.move(file, folder.resolve("audit.jsonl.1"));
      note(log, "two");
    }
    assertThat(Files.readString(folder.resolve("audit.jsonl.1"))).contains("one");
    assertThat(Files.readString(file)).contains("two").doesNotContain("\"one\"");
  }

  static boolean hasFullDevice() {
    return Files.isWritable(Path.of("/dev/full"));
  }

  @Test
  @EnabledIf("hasFullDevice")
  void fullDisk_isCounted_andStopsNobody() throws IOException {
    try (AuditLog log = AuditLog.to(JsonLines.of(Path.of("/dev/full"), AuditLog.KIND, meters))) {
      note(log, "one");
      await().until(() -> meters.counter("sluice.audit.lost").count() == 1);
      note(log, "two");
      await().until(() -> meters.counter("sluice.audit.lost").count() == 2);
    }
  }

  @Test
  void folderThatIsGone_losesLines_untilItIsThereAgain() throws IOException {
    Path inner = Files.createDirectory(folder.resolve("log"));
    Path file = inner.resolve("audit.jsonl");
    try (AuditLog log = AuditLog.to(JsonLines.of(file, AuditLog.KIND, meters))) {
      Files.delete(file);
      Files.delete(inner);
      note(log, "lost");
      await().until(() -> meters.counter("sluice.audit.lost").count() == 1);
      Files.createDirectory(inner);
      note(log, "kept");
    }
    assertThat(Files.readString(file)).contains("kept");
  }

  @Test
  void pipeThatNobodyReads_isRefused_inBoundedTime() throws Exception {
    Path pipe = folder.resolve("audit.pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    assertTimeoutPreemptively(
        Duration.ofMinutes(1),
        () ->
            assertThatThrownBy(() -> AuditLog.to(JsonLines.of(pipe, AuditLog.KIND, meters)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("could not be opened within")
                .hasMessageContaining("start its reader first"));
  }

  @Test
  void errorWhileWriting_losesItsLines_andTheNextOnesAreWritten() {
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    AtomicInteger writes = new AtomicInteger();
    OutputStream broken =
        new OutputStream() {
          @Override
          public void write(int b) {
            throw new UnsupportedOperationException();
          }

          @Override
          public void write(byte[] bytes, int offset, int length) {
            if (writes.incrementAndGet() == 1) {
              throw new NoClassDefFoundError("as the test wants");
            }
            written.write(bytes, offset, length);
          }
        };
    try (AuditLog log = AuditLog.to(JsonLines.of(broken, AuditLog.KIND, meters))) {
      note(log, "one");
      await().until(() -> meters.counter("sluice.audit.lost").count() == 1);
      note(log, "two");
      await().until(() -> meters.counter("sluice.audit.written").count() == 1);
    }
    assertThat(written.toString(UTF_8)).contains("\"two\"").doesNotContain("\"one\"");
  }

  /** A disk becomes full in the middle of a write: the kernel writes what still fits. */
  @Test
  void halfALine_fromAWriteThatFailed_spoilsNoLaterLine() {
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    AtomicInteger writes = new AtomicInteger();
    OutputStream full =
        new OutputStream() {
          @Override
          public void write(int b) {
            throw new UnsupportedOperationException();
          }

          @Override
          public void write(byte[] bytes, int offset, int length) throws IOException {
            int fits = writes.incrementAndGet() == 1 ? 10 : length;
            written.write(bytes, offset, fits);
            if (fits < length) {
              throw new IOException("No space left on device");
            }
          }
        };
    try (AuditLog log = AuditLog.to(JsonLines.of(full, AuditLog.KIND, meters))) {
      note(log, "one");
      await().until(() -> meters.counter("sluice.audit.lost").count() == 1);
      note(log, "two");
      await().until(() -> meters.counter("sluice.audit.written").count() == 1);
      note(log, "three");
    }
    List<String> lines = written.toString(UTF_8).lines().toList();
    assertThat(lines).hasSize(3);
    assertThat(lines.get(0)).startsWith("{").hasSize(10);
    assertThat(lines.get(1)).startsWith("{").contains("\"two\"").endsWith("}");
    assertThat(lines.get(2)).startsWith("{").contains("\"three\"").endsWith("}");
  }

  @Test
  void textThatIsCut_neverEndsWithHalfACharacter() {
    assertThat(JsonLines.shown("a" + "\ud83d\ude00".repeat(100)))
        .isEqualTo("a" + "\ud83d\ude00".repeat(99) + "…");
    assertThat(JsonLines.shown("\ud83d\ude00".repeat(101)))
        .isEqualTo("\ud83d\ude00".repeat(100) + "…");
    assertThat(JsonLines.shown("a".repeat(200))).isEqualTo("a".repeat(200));
  }
}
