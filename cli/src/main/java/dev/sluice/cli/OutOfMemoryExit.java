// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/*
 * Libraries catch an OutOfMemoryError and continue: an event loop logs it, a future stores it. So
 * no single handler gets every OutOfMemoryError. For this reason, a thread allocates a few bytes
 * periodically. If an allocation fails, the heap is exhausted, even if libraries have caught all
 * errors.
 *
 * The JVM's own -XX:+ExitOnOutOfMemoryError does not help: it ends the process with code 3, and
 * writes nothing to standard error. The JVM's option would also end the process when the memory
 * store cannot grow, although it would be enough to refuse one request.
 */

/**
 * Ends the process with {@link Exit#OUT_OF_MEMORY} and one line on standard error when memory runs
 * out. The objects for writing the line and for exiting are allocated at startup. Thread-safe.
 */
final class OutOfMemoryExit implements Thread.UncaughtExceptionHandler {

  private static final byte[] LINE =
      "sluice: out of memory, the server stops; give the JVM a larger heap, such as SLUICE_OPTS=-Xmx2g\n"
          .getBytes(StandardCharsets.UTF_8);

  private static final int CANARY_BYTES = 64 << 10;
  private static final long CANARY_EVERY_MILLIS = 200;

  private final OutputStream err = new FileOutputStream(FileDescriptor.err);

  private OutOfMemoryExit() {}

  static void install() {
    loadShutdown();
    OutOfMemoryExit exit = new OutOfMemoryExit();
    Thread.setDefaultUncaughtExceptionHandler(exit);
    Thread watch = new Thread(exit::watch, "sluice-memory");
    watch.setDaemon(true);
    watch.start();
  }

  /** Loads, in advance, the class that halts the JVM: with a full heap, no class can be loaded. */
  private static void loadShutdown() {
    Thread hook = new Thread(() -> {}, "sluice-memory-hook");
    Runtime.getRuntime().addShutdownHook(hook);
    Runtime.getRuntime().removeShutdownHook(hook);
  }

  // The fence only keeps the JIT compiler from removing the allocation below.
  @SuppressWarnings("ReachabilityFenceUsage")
  private void watch() {
    try {
      while (true) {
        // The fence keeps the JIT from removing this allocation.
        Reference.reachabilityFence(new byte[CANARY_BYTES]);
        TimeUnit.MILLISECONDS.sleep(CANARY_EVERY_MILLIS);
      }
    } catch (InterruptedException e) {
      // cannot happen: nothing interrupts this thread
    } catch (OutOfMemoryError e) {
      end();
    }
  }

  @Override
  public void uncaughtException(Thread thread, Throwable failure) {
    if (failure instanceof OutOfMemoryError) {
      end();
    } else {
      System.getLogger(OutOfMemoryExit.class.getName())
          .log(System.Logger.Level.ERROR, "thread " + thread.getName() + " failed", failure);
    }
  }

  private void end() {
    try {
      err.write(LINE);
    } catch (IOException | OutOfMemoryError e) {
      // The message could not be written; the exit code still shows why the process ended.
    }
    while (true) {
      try {
        Runtime.getRuntime().halt(Exit.OUT_OF_MEMORY); // exit() would need memory for hooks
      } catch (OutOfMemoryError e) {
        // halt() is called again, since the process must not stay alive without serving requests.
      }
    }
  }
}
