// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.base.FailureLog.OutOfMemory;
import io.netty.util.internal.OutOfDirectMemoryError;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class OutOfMemoryTest {

  private final Thread.UncaughtExceptionHandler before =
      Thread.getDefaultUncaughtExceptionHandler();
  private final List<Throwable> reported = new ArrayList<>();

  @BeforeEach
  void handle() {
    Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> reported.add(failure));
  }

  @AfterEach
  void restore() {
    Thread.setDefaultUncaughtExceptionHandler(before);
  }

  @Test
  void aFullHeapIsReportedWhereverItIsTheCause() {
    OutOfMemoryError heap = new OutOfMemoryError("Java heap space");

    OutOfMemory.report(heap);
    OutOfMemory.report(new IllegalStateException(new RuntimeException(heap)));
    OutOfMemory.report(new OutOfMemoryError());
    OutOfMemory.report(new IllegalStateException());
    OutOfMemory.report(null);

    assertThat(reported).hasSize(3).startsWith(heap, heap);
  }

  @Test
  void fullDirectMemoryEndsOneConnectionOnly() throws Exception {
    Constructor<OutOfDirectMemoryError> netty =
        OutOfDirectMemoryError.class.getDeclaredConstructor(String.class);
    netty.setAccessible(true);

    for (Throwable direct :
        List.of(netty.newInstance("failed to allocate"), new RuntimeException(jdks()))) {
      OutOfMemory.report(direct);
      assertThat(OutOfMemory.words(direct)).contains("-XX:MaxDirectMemorySize");
    }

    assertThat(reported).isEmpty();
  }

  @Test
  void otherFailuresAreNamedByTheirOwnWords() {
    assertThat(OutOfMemory.words(new IllegalStateException("odd"))).endsWith("odd");
    Throwable chain = new IllegalStateException("not in the trust store");
    assertThat(OutOfMemory.words(new RuntimeException("General problem", chain)))
        .endsWith("not in the trust store")
        .doesNotContain("General problem");
    assertThat(OutOfMemory.words(new OutOfMemoryError("Java heap space"))).endsWith("heap space");
  }

  /** The error that this JDK throws when its direct memory is full. */
  private static OutOfMemoryError jdks() throws Exception {
    Process full =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:MaxDirectMemorySize=64k",
                "-cp",
                System.getProperty("java.class.path"),
                Allocates.class.getName())
            .redirectErrorStream(true)
            .start();
    String message = new String(full.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(full.waitFor()).as(message).isZero();
    return new OutOfMemoryError(message);
  }

  /** Prints what the JDK says. */
  static final class Allocates {
    public static void main(String[] args) {
      try {
        ByteBuffer.allocateDirect(128 << 10);
      } catch (OutOfMemoryError e) {
        System.out.print(e.getMessage());
      }
    }
  }
}
