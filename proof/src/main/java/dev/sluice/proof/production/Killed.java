// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Client;
import dev.sluice.proof.Client.Answers;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Report;
import dev.sluice.proof.RespClient;
import dev.sluice.proof.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A drill that kills the server with SIGKILL many times, in half of the cases while the server
 * writes a snapshot. The promise: Every start succeeds. A crash loses at most the spends after the
 * last snapshot, so buckets that are in the last snapshot are all restored. Temporary files do not
 * accumulate.
 *
 * <p>A client records the time of the response to each of its spends. The server reads the buckets
 * up to 1 s before it writes the snapshot file. After the next start, a bucket must contain at
 * least all spends whose responses arrived more than 1 s before the last snapshot. A bucket must
 * never contain more spends than the client sent.
 */
final class Killed implements ProductionReport.Drill {

  private static final int KILLS = Integer.getInteger("production.kills", 50);
  private static final int BUCKETS = 50_000;
  private static final int AT_ONCE = 1_000;
  private static final long BURST = 100_000;
  private static final String ID = "k";
  private static final long SAVE_TAKES_MILLIS = 1_000;
  private static final int LEAST_LIFE_MILLIS = 1_200;
  private static final int MORE_LIFE_MILLIS = 800;
  private static final int MOST_LEFTOVERS = 12;
  private static final int CLEANED_AFTER_SECONDS = 12;

  private long found;
  private long mostForgotten;
  private int mostLeftOver;
  private long leftAtTheEnd;

  @Override
  public String text() {
    return "kill -9 with a snapshot every 250 ms, %s times in a row".formatted(KILLS);
  }

  @Override
  public String seen() throws Exception {
    try (Folder folder = Folder.make()) {
      String limits = folder.limits(BURST, 1, "24h");
      Path snapshot = Path.of(folder.file("buckets"));
      String[] options = {
        "--limits", limits, "--snapshot", snapshot.toString(), "--snapshot-interval", "250ms"
      };
      for (int kill = 0; kill < KILLS; kill++) {
        try (Server server = Server.start(options)) {
          requireBuckets(server, kill == 0 ? 1 : 0);
          if (kill == 0) {
            awaitSnapshot(snapshot);
          }
          live(server, folder, snapshot, kill % 2 == 0);
        }
        int leftOver = folder.named("buckets.").size();
        mostLeftOver = Math.max(mostLeftOver, leftOver);
        BrokenPromise.unless(
            leftOver <= MOST_LEFTOVERS,
            "found %s temporary files, expected at most %s",
            leftOver,
            MOST_LEFTOVERS);
      }
      try (Server server = Server.start(options)) {
        judge(server.spent(ID, BURST));
        requireBuckets(server, 0);
        TimeUnit.SECONDS.sleep(CLEANED_AFTER_SECONDS);
        long leftOver = folder.named("buckets.").size();
        // A server that is killed while it writes a snapshot leaves one temporary file.
        BrokenPromise.unless(
            leftOver <= 1,
            "found %s temporary files after the last start, expected at most one",
            leftOver);
        BrokenPromise.unless(server.isAlive(), "the last server has ended");
        leftAtTheEnd = leftOver;
      }
    }
    return Report.text(
        "%s of %s starts restored %,d buckets; a crash lost at most %s spends; "
            + "at most %s temporary files, %s at the end",
        found, KILLS, BUCKETS, mostForgotten, mostLeftOver, leftAtTheEnd);
  }

  /**
   * Spends tokens of each of the buckets, and checks that one token of each is spent afterwards. A
   * token refills within a day.
   *
   * @param tokens 1 to make the buckets; 0 to only check them
   */
  private static void requireBuckets(Server server, int tokens) throws IOException, BrokenPromise {
    try (RespClient client = RespClient.open(server)) {
      for (int from = 0; from < BUCKETS; from += AT_ONCE) {
        for (int i = from; i < from + AT_ONCE; i++) {
          client.send("CL.THROTTLE", "b" + i, "10", "1", "86400", String.valueOf(tokens));
        }
        for (int i = from; i < from + AT_ONCE; i++) {
          Object left = RespClient.list(client.reply()).get(2);
          BrokenPromise.unless(
              left.equals(10L), "bucket b%s has %s tokens after a start, expected 10", i, left);
        }
      }
    }
  }

  /** Waits for a snapshot that contains everything spent so far. */
  private static void awaitSnapshot(Path snapshot) throws IOException, InterruptedException {
    long since = System.currentTimeMillis() + SAVE_TAKES_MILLIS;
    while (Files.getLastModifiedTime(snapshot).toMillis() < since) {
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  /**
   * Spends tokens of a running server until the server is killed. Computes how many spends the
   * server must still count in the bucket after the next start, at least and at most.
   */
  private void live(Server server, Folder folder, Path snapshot, boolean whileSaving)
      throws Exception {
    long restored = server.spent(ID, BURST);
    judge(restored);
    List<Long> answeredMillis = new ArrayList<>();
    long killAt =
        System.nanoTime()
            + TimeUnit.MILLISECONDS.toNanos(
                LEAST_LIFE_MILLIS + ThreadLocalRandom.current().nextInt(MORE_LIFE_MILLIS));
    Thread killer = new Thread(() -> kill(server, folder, killAt, whileSaving), "killer");
    int sent = 0;
    try (Client client = Door.HTTP.open(server)) {
      killer.start();
      while (true) {
        sent++;
        Answers answer = client.ask(ID, 1);
        BrokenPromise.unless(answer.allowed() == 1, "unexpected response to a spend: %s", answer);
        answeredMillis.add(System.currentTimeMillis());
      }
    } catch (IOException e) {
      // The server was killed.
    }
    killer.join();
    long written = Files.getLastModifiedTime(snapshot).toMillis();
    long safe = answeredMillis.stream().filter(at -> at < written - SAVE_TAKES_MILLIS).count();
    expected.add(new Expected(restored + safe, restored + sent, restored + answeredMillis.size()));
  }

  private record Expected(long least, long most, long answered) {}

  private final Deque<Expected> expected = new ArrayDeque<>();

  private void judge(long restored) throws BrokenPromise {
    Expected last = expected.poll();
    if (last == null) {
      return;
    }
    found++;
    BrokenPromise.unless(
        restored >= last.least() && restored <= last.most(),
        "start number %s found %s spends, expected %s to %s",
        found,
        restored,
        last.least(),
        last.most());
    mostForgotten = Math.max(mostForgotten, last.answered() - restored);
  }

  private static void kill(Server server, Folder folder, long killAt, boolean whileSaving) {
    try {
      TimeUnit.NANOSECONDS.sleep(Math.max(0, killAt - System.nanoTime()));
      int before = folder.named("buckets.").size();
      long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
      while (whileSaving
          && folder.named("buckets.").size() <= before
          && System.nanoTime() < patience) {
        TimeUnit.MICROSECONDS.sleep(500);
      }
    } catch (IOException | InterruptedException e) {
      // The server is killed at once.
    } finally {
      server.close(); // sends SIGKILL; without it, the client would ask for ever
    }
  }
}
