package dev.sluice.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Ends the process with {@link Exit#OUT_OF_MEMORY} and one line when memory runs out. What is
 * needed for that is made beforehand. Thread-safe.
 */
final class OutOfMemoryExit implements Thread.UncaughtExceptionHandler {

  private static final byte[] LINE =
      "sluice: out of memory, the server ends; give it a larger heap (SLUICE_OPTS=-Xmx1g) or fewer buckets\n"
          .getBytes(StandardCharsets.UTF_8);

  private final OutputStream err = new FileOutputStream(FileDescriptor.err);

  private OutOfMemoryExit() {}

  static void install() {
    Thread.setDefaultUncaughtExceptionHandler(new OutOfMemoryExit());
  }

  @Override
  public void uncaughtException(Thread thread, Throwable failure) {
    if (!(failure instanceof OutOfMemoryError)) {
      System.err.println("sluice: thread " + thread.getName() + " failed");
      failure.printStackTrace(System.err);
      return;
    }
    try {
      err.write(LINE);
    } catch (IOException e) {
      // the exit code says it too
    } finally {
      Runtime.getRuntime().halt(Exit.OUT_OF_MEMORY); // no hooks: they need memory
    }
  }
}
