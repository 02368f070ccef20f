// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Client;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.HttpAnswer;
import dev.sluice.proof.Report;
import dev.sluice.proof.Report.NotTried;
import dev.sluice.proof.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A drill in which the clock of the server's process steps by an hour, forwards and back. The
 * promise: A step forwards fills a bucket at most once. After a step back, a bucket is treated as
 * empty and refills as usual, so no client is locked out. Clock steps do not affect time-outs, idle
 * connections, reloads and TLS.
 *
 * <p>The library libfaketime changes the wall clock of the process, but not its monotonic clock.
 * Like libfaketime, a real clock step changes only the wall clock.
 */
final class ClockSteps implements ProductionReport.Drill {

  private static final int BURST = 10;
  private static final long HOUR = TimeUnit.HOURS.toSeconds(1);
  private static final List<Long> STEPS = List.of(HOUR, 0L, -HOUR, 0L);
  private static final int SECONDS_AFTER_STEP = 6;
  private static final int PAUSE_MILLIS = 50;
  // A token refills within a second; a busy machine can delay the response more.
  private static final long LONGEST_WAIT_MILLIS = 2_500;
  private static final int LEAST_IDLE_SECONDS = 25;
  private static final int MOST_IDLE_SECONDS = 50;
  private static final List<Path> LIBRARIES =
      List.of(
          Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"),
          Path.of("/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"));

  private long longestWaitMillis;
  private int mostGranted;

  @Override
  public String text() {
    return "the process' clock steps by +1 h, -1 h, -1 h and +1 h under load over TLS";
  }

  @Override
  public String seen() throws Exception {
    Path library =
        LIBRARIES.stream()
            .filter(Files::exists)
            .findFirst()
            .orElseThrow(() -> new NotTried("install faketime"));
    try (Folder folder = Folder.make()) {
      step(folder, 0);
      Map<String, String> clock =
          Map.of(
              "LD_PRELOAD",
              library.toString(),
              "FAKETIME_TIMESTAMP_FILE",
              folder.file("clock"),
              "FAKETIME_NO_CACHE",
              "1",
              "DONT_FAKE_MONOTONIC",
              "1",
              "FAKETIME_FORCE_MONOTONIC_FIX", // without this setting, every wait with a time-out
              // would end immediately
              "0");
      try (Server server =
          Server.Launch.SMALL
              .withEnvironment(clock)
              .withTls(folder)
              .start("--limits", folder.limits(BURST, 1, "1s"))) {
        return steps(server, folder);
      }
    }
  }

  private String steps(Server server, Folder folder) throws Exception {
    try (Client client = Door.HTTP.open(server);
        Connection idle = server.endpoint(Door.HTTP).connect();
        Connection slow = server.endpoint(Door.HTTP).connect()) {
      CompletableFuture<Long> idleSeconds =
          CompletableFuture.supplyAsync(() -> secondsUntilClosed(idle));
      int unused = granted(client); // spends until the bucket is empty
      for (long offset : STEPS) {
        slow.write("GET /healthz HTTP/1.1\r\nHost: local");
        step(folder, offset);
        int granted = granted(client);
        mostGranted = Math.max(mostGranted, granted);
        BrokenPromise.unless(
            granted <= BURST + SECONDS_AFTER_STEP + 1,
            "%s tokens were granted within %s s after a step to %s s, burst %s",
            granted,
            SECONDS_AFTER_STEP,
            offset,
            BURST);
        slow.write("host\r\n\r\n");
        requireOk(slow);
        requireAll(server);
      }
      BrokenPromise.unless(
          longestWaitMillis <= LONGEST_WAIT_MILLIS,
          "no token was granted for %s ms, although one refills per second",
          longestWaitMillis);
      long seconds = idleSeconds.get(2L * MOST_IDLE_SECONDS, TimeUnit.SECONDS);
      BrokenPromise.unless(
          seconds >= LEAST_IDLE_SECONDS && seconds <= MOST_IDLE_SECONDS,
          "an idle connection was closed after %s s",
          seconds);
      return Report.text(
          "at most %s tokens were granted in the %s s after a step (burst %s, 1 per second), "
              + "the longest wait for a token was %,d ms; new connections with three protocols, slow requests "
              + "and reloads continued to work; an idle connection was closed after %s s",
          mostGranted, SECONDS_AFTER_STEP, BURST, longestWaitMillis, seconds);
    }
  }

  private static void step(Folder folder, long seconds) throws IOException {
    folder.write("clock", (seconds < 0 ? "" : "+") + seconds + "\n");
  }

  /** Spends for several seconds, and returns how many tokens were granted. */
  private int granted(Client client) throws Exception {
    int granted = 0;
    long start = System.nanoTime();
    long last = start;
    while (System.nanoTime() - start < TimeUnit.SECONDS.toNanos(SECONDS_AFTER_STEP)) {
      int allowed = client.ask("k", 1).allowed();
      granted += allowed;
      long now = System.nanoTime();
      longestWaitMillis = Math.max(longestWaitMillis, TimeUnit.NANOSECONDS.toMillis(now - last));
      if (allowed > 0) {
        last = now;
      }
      TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
    }
    return granted;
  }

  private static void requireOk(Connection slow) throws IOException, BrokenPromise {
    HttpAnswer answer = HttpAnswer.read(slow);
    BrokenPromise.unless(
        answer.status() == 200, "unexpected response to a slow request: %s", answer);
  }

  /** Throws unless new TLS connections with three protocols and a reload succeed. */
  private static void requireAll(Server server) throws Exception {
    for (Door door : List.of(Door.HTTP, Door.GRPC, Door.RESP)) {
      try (Client client = door.open(server)) {
        int answers = client.ask("n", 1).allowed();
        BrokenPromise.unless(
            answers == 1, "%s denies a spend from a bucket that is nearly full", door);
      }
    }
    BrokenPromise.unlessStatus(200, server.ask("POST", "/v1/admin/reload", ""), "a reload");
  }

  private static long secondsUntilClosed(Connection idle) {
    long start = System.nanoTime();
    try {
      int unused = idle.read();
    } catch (IOException e) {
      // The connection was closed.
    }
    return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
  }
}
