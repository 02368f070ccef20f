// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.production;

import dev.sluice.benchmarks.production.Client.Answers;
import dev.sluice.benchmarks.report.BrokenPromise;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A client that spends from a bucket of its own until the server ends its connection. A server that
 * stops closes connections that were idle for a second. So where the machine held this thread up
 * for that long, the end of the connection is a goodbye too; the bucket tells whether it was one.
 */
final class Spender {

  private static final int WARM = 20;
  private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  private final Door door;
  private final String id;
  private final Client client;
  private final Thread thread = new Thread(this::run, "spender");
  private final CountDownLatch warm = new CountDownLatch(1);
  private volatile int answered;
  private volatile String lost = "";
  private volatile boolean heldUp;

  private Spender(Door door, String id, Client client) {
    this.door = door;
    this.id = id;
    this.client = client;
  }

  static Spender start(Door door, String id, Server server) throws IOException {
    Spender spender = new Spender(door, id, door.open(server));
    spender.thread.start();
    return spender;
  }

  private void run() {
    long lastNanos = System.nanoTime();
    try (client) {
      Answers last = Answers.none();
      int seen = 0;
      while (!last.goodbye()) {
        heldUp = System.nanoTime() - lastNanos > IDLE_NANOS;
        last = client.ask(id, door.atOnce());
        lastNanos = System.nanoTime();
        seen += last.allowed();
        answered = seen;
        if (last.denied() + last.undecided() > 0) {
          throw new IOException("a spend of a full bucket was answered " + last);
        }
        if (seen >= WARM) {
          warm.countDown();
        }
      }
    } catch (IOException e) {
      if (!heldUp) {
        lost = "%s after %s answers: %s".formatted(door, answered, e);
      }
    } finally {
      warm.countDown();
    }
  }

  void awaitWarm() throws InterruptedException {
    warm.await();
  }

  /** Whether the machine held it up at its end, so that its connection was idle. */
  boolean heldUp() {
    return heldUp;
  }

  String id() {
    return id;
  }

  /** Waits for the end, and returns how many tokens it was told that it has. */
  int answeredUntilTheEnd() throws InterruptedException, BrokenPromise {
    thread.join();
    BrokenPromise.unless(lost.isEmpty(), "an answer was lost, %s", lost);
    return answered;
  }
}
