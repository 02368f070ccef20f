// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import dev.sluice.proof.Client.Answers;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A client that spends from its own bucket until the server closes the connection. During its
 * shutdown, a server closes every connection that was idle for a second. A busy machine can delay
 * the client's thread so that its connection is idle for a second. If the connection was idle for a
 * second, the caller must check the bucket to find out whether a command was lost.
 *
 * <p>A Redis server cannot announce that it will close a connection. A command that the server did
 * not read does not count as lost. The client infers from a command's send time whether the server
 * read the command. After SIGTERM, the server replies for one more second. After the server has
 * stopped replying, it closes each connection within about a second.
 */
public final class Spender {

  private static final int WARM = 20;
  private static final int MOST_MILLIS_UNDER_LOAD = 300;
  private static final long MOST_STOP_MILLIS = 15_000;
  private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  /**
   * The time after SIGTERM in which the server must still read every command that is sent. The
   * documentation promises that the server reads commands for a whole second after SIGTERM.
   */
  private static final long STILL_READ_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /**
   * The longest time from SIGTERM until the server closes a connection on which no reply is
   * pending. A connection with a pending reply stays open for 10 s.
   */
  private static final long MOST_UNREAD_NANOS = TimeUnit.SECONDS.toNanos(4);

  private final Door door;
  private final String id;
  private final Client client;
  private final Thread thread = new Thread(this::run, "spender");
  private final CountDownLatch warm = new CountDownLatch(1);
  private volatile int answered;
  private volatile int unanswered;
  private volatile long lastSentNanos;
  private volatile long endNanos;
  private volatile String lost = "";
  private volatile boolean heldUp;

  private Spender(Door door, String id, Client client) {
    this.door = door;
    this.id = id;
    this.client = client;
  }

  public static Spender start(Door door, String id, Server server) throws IOException {
    Spender spender = new Spender(door, id, door.open(server));
    // If a campaign fails, the process must end although this thread still runs.
    spender.thread.setDaemon(true);
    spender.thread.start();
    return spender;
  }

  /**
   * The result of a stop under load.
   *
   * @param answered the number of tokens that each spender was granted, in the order of the
   *     spenders
   * @param tookMillis the time from SIGTERM to the end of the process
   */
  public record Stop(List<Integer> answered, long tookMillis) {}

  /** Sends SIGTERM to a server while all the given spenders spend. */
  public static Stop stopUnderLoad(Server server, List<Spender> spenders)
      throws InterruptedException, BrokenPromise {
    for (Spender spender : spenders) {
      spender.warm.await();
    }
    TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(MOST_MILLIS_UNDER_LOAD));
    long stopNanos = System.nanoTime();
    server.terminate();
    List<Integer> answered = new ArrayList<>();
    for (Spender spender : spenders) {
      answered.add(spender.answeredUntilTheEnd(stopNanos));
    }
    int code = server.exitCode();
    BrokenPromise.unless(
        code == Server.STOPPED, "the exit code is %s, expected %s", code, Server.STOPPED);
    long tookMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - stopNanos);
    BrokenPromise.unless(
        tookMillis <= MOST_STOP_MILLIS, "the server stopped only after %s ms", tookMillis);
    return new Stop(List.copyOf(answered), tookMillis);
  }

  private void run() {
    long lastNanos = System.nanoTime();
    lastSentNanos = lastNanos;
    long betweenMillis = 0; // between two requests, the server can consider the connection idle
    try (client) {
      Answers last = Answers.NONE;
      int seen = 0;
      while (!last.goodbye()) {
        long beforeNanos = lastSentNanos;
        lastSentNanos = System.nanoTime();
        betweenMillis = TimeUnit.NANOSECONDS.toMillis(lastSentNanos - beforeNanos);
        heldUp = lastSentNanos - lastNanos > IDLE_NANOS;
        last = client.ask(id, door.atOnce());
        lastNanos = System.nanoTime();
        endNanos = lastNanos;
        unanswered = last.unanswered();
        seen += last.allowed();
        answered = seen;
        if (last.denied() + last.undecided() > 0) {
          throw new IOException("unexpected response to a spend from a full bucket: " + last);
        }
        if (seen >= WARM) {
          warm.countDown();
        }
      }
    } catch (Throwable e) { // also a response that cannot be parsed
      if (!heldUp || !(e instanceof IOException)) {
        lost =
            "over %s after %s responses; the last request was sent %s ms after the previous request: %s"
                .formatted(door, answered, betweenMillis, e);
      }
    } finally {
      warm.countDown();
    }
  }

  /**
   * Returns whether the machine delayed the last request for so long that the connection was idle.
   */
  public boolean heldUp() {
    return heldUp;
  }

  public String id() {
    return id;
  }

  /**
   * Returns how many requests had no response when the connection ended, because they were sent too
   * late.
   */
  public int unanswered() {
    return unanswered;
  }

  /**
   * Waits until this spender has ended. Returns how many tokens the spender was granted.
   *
   * @param stopNanos the time at which SIGTERM was sent
   */
  private int answeredUntilTheEnd(long stopNanos) throws InterruptedException, BrokenPromise {
    thread.join();
    BrokenPromise.unless(lost.isEmpty(), "a response was lost: %s", lost);
    BrokenPromise.unless(
        unanswered == 0
            || (lastSentNanos - stopNanos > STILL_READ_NANOS
                && endNanos - lastSentNanos < MOST_UNREAD_NANOS),
        "%s: %s requests have no response; the last request was sent %s ms after the stop and %s ms before the end of the connection",
        door,
        unanswered,
        TimeUnit.NANOSECONDS.toMillis(lastSentNanos - stopNanos),
        TimeUnit.NANOSECONDS.toMillis(endNanos - lastSentNanos));
    return answered;
  }
}
