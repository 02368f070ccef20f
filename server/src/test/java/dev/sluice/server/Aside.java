// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;

/**
 * Runs what a test does not wait for at once, on a thread of its own. The common pool has one
 * thread on two processors, and the servers that are closed on it would queue up before it.
 */
public final class Aside {

  private Aside() {}

  /**
   * Runs a task.
   *
   * @param task the task
   * @return done when the task is, with its failure
   */
  @CanIgnoreReturnValue
  public static CompletableFuture<Void> run(Runnable task) {
    return CompletableFuture.runAsync(task, one -> new Thread(one, "aside").start());
  }

  /** The end of a server, as a resource behind it. */
  public interface End extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Ends a server whose close method does nothing when it is called again. The thread that closes
   * it is interrupted, so that the server gives neither load balancers nor idle clients the two
   * seconds in which they would notice.
   *
   * @param server the server
   * @return closing it closes the server, and waits for that
   */
  public static End end(AutoCloseable server) {
    return () ->
        run(() -> {
              Thread.currentThread().interrupt();
              try {
                server.close();
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            })
            .join();
  }
}
