// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import com.google.errorprone.annotations.Immutable;
import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.HttpAnswer;
import dev.sluice.proof.Programs;
import dev.sluice.proof.Server;
import dev.sluice.proof.Spender;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;

/** An attack that does not measure response times. */
enum Scenario {
  SIGTERM("SIGTERM with 40 keep-alive clients, 20 times: no request is lost", Scenario::sigterm),
  WEB_PAGES(
      "requests to /v1/reset with a foreign Host or Origin, or with a path alias",
      Scenario::webPages),
  FIFO("a fifo in the place of the limit file, while the server runs", Scenario::fifo),
  FORGED_SNAPSHOT("forged snapshots with a right checksum", Scenario::forgedSnapshot),
  DIGITS("limit files with 8 MB of digits, while the server runs", HostileFiles::digits),
  CUT_FILE(
      "a limit file that is cut at the end of a line, while the server runs", HostileFiles::cut),
  LINK("a link to a secret in the place of a limit file and of a rule book", HostileFiles::link),
  NO_DEFAULT("a rule whose limit has no default quota", HostileFiles::noDefault),
  MARKS("reservations on few ids, which are never denied and always cancelled", FullTables::marks),
  ONE_LIMIT("a client that names a new id of one limit in each request", FullTables::ids);

  private static final int ROUNDS = Integer.getInteger("attacks.rounds", 20);
  private static final int CLIENTS = 40;
  private static final long MUCH = 2_000_000; // more tokens than the clients can spend
  private static final int FIFO_SECONDS = 3;
  // The server logs one line about the FIFO that replaced its limit file, and other lines when it
  // stops.
  private static final int MOST_FIFO_LINES = 5;
  private static final long MOST_STOP_MILLIS = 10_000;
  private static final int STOPPED = Server.STOPPED;
  private static final int WRONG_INPUT = 2;
  private static final int FORGED_BUCKETS = 100_000;
  private static final long SNAPSHOT_VERSION_1 = 0x534c554943450001L;
  private static final List<String> ALIASES =
      List.of("//v1/reset", "/v1/%72eset", "/v1/reset;x=1", "/v1/./reset", "/v1/x/../reset");

  private final String text;
  private final Way way;

  Scenario(String text, Way way) {
    this.text = text;
    this.way = way;
  }

  @Immutable
  private interface Way {
    String seen(Server.Launch launch) throws Exception;
  }

  String text() {
    return text;
  }

  /**
   * Runs the attack and returns a summary. Throws a {@link BrokenPromise} if a promise was broken.
   */
  String seen(Server.Launch launch) throws Exception {
    return way.seen(launch);
  }

  private static String sigterm(Server.Launch launch) throws Exception {
    int answered = 0;
    for (int round = 0; round < ROUNDS; round++) {
      answered += stopUnderLoad(launch);
    }
    return "no response was lost in %s of %s runs, %s responses"
        .formatted(ROUNDS, ROUNDS, answered);
  }

  private static String webPages(Server.Launch launch) throws Exception {
    try (Server server = launch.start()) {
      require(200, spend(server, 10), "a spend of the whole bucket");
      require(421, reset(server, "/v1/reset", "Host: evil.example"), "a foreign Host");
      require(
          403,
          reset(server, "/v1/reset", "Host: localhost\r\nOrigin: https://evil.example"),
          "a foreign Origin");
      for (String alias : ALIASES) {
        int status = reset(server, alias, "Host: localhost");
        require(status == 400 ? 400 : 404, status, alias);
      }
      require(429, spend(server, 1), "a spend after the attempts to reset the bucket");
      return "the server returned 421, 403, and 404 or 400 for %s aliases; the bucket was not reset"
          .formatted(ALIASES.size());
    }
  }

  private static String fifo(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make()) {
      String limits =
          folder.write("limits.yml", "LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}\n");
      return fifo(launch.start("--limits", limits), limits);
    }
  }

  private static String fifo(Server started, String limits) throws Exception {
    try (Server server = started) {
      Files.delete(Path.of(limits));
      String unused = Programs.run("mkfifo", limits);
      TimeUnit.SECONDS.sleep(FIFO_SECONDS);
      require(200, spend(server, 1), "a spend while the limit file is a FIFO");
      long start = System.nanoTime();
      server.terminate();
      require(STOPPED, server.exitCode());
      long tookMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      if (tookMillis > MOST_STOP_MILLIS) {
        throw new BrokenPromise("stopping the server took " + tookMillis + " ms");
      }
      int lines = server.logLines();
      if (lines > MOST_FIFO_LINES) {
        throw new BrokenPromise(lines + " log lines, expected at most " + MOST_FIFO_LINES);
      }
      return "the server continued to decide requests, with %s log lines; it stopped within %s ms"
          .formatted(lines, tookMillis);
    }
  }

  private static String forgedSnapshot(Server.Launch launch) throws Exception {
    Path file = Files.createTempFile("attacks", ".snapshot");
    try {
      for (ByteBuffer forged : List.of(claims(Long.MAX_VALUE), claims(1L << 40), oneLine())) {
        Files.write(file, sealed(forged));
        require(WRONG_INPUT, launch.refusal("--snapshot", file.toString()));
      }
    } finally {
      Files.deleteIfExists(file);
    }
    return "3 of 3 snapshots were rejected with exit code 2";
  }

  private static int stopUnderLoad(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make();
        Server server = launch.start("--limits", folder.limits(MUCH, 1, "1h"))) {
      List<Spender> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(Spender.start(Door.HTTP, "client-" + i, server));
      }
      return Spender.stopUnderLoad(server, clients).answered().stream()
          .mapToInt(Integer::intValue)
          .sum();
    }
  }

  private static void require(int expected, int found) throws BrokenPromise {
    if (found != expected) {
      throw new BrokenPromise("the exit code is %s, expected %s".formatted(found, expected));
    }
  }

  private static void require(int expected, int found, String what) throws BrokenPromise {
    BrokenPromise.unless(found == expected, "unexpected status of %s: %s", what, found);
  }

  private static int spend(Server server, int cost) throws IOException {
    return ask(server, "/v1/spend?status=429", "Host: localhost", ",\"cost\":" + cost);
  }

  private static int reset(Server server, String path, String headers) throws IOException {
    return ask(server, path, headers, "");
  }

  private static int ask(Server server, String path, String headers, String more)
      throws IOException {
    String body = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"" + more + "}";
    String request =
        "POST %s HTTP/1.1\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s"
            .formatted(path, headers, body.length(), body);
    try (Connection connection = server.endpoint(Door.HTTP).connect()) {
      connection.write(request);
      return HttpAnswer.read(connection).status();
    }
  }

  /**
   * Returns the header of a snapshot. The header contains a larger number of buckets than the file.
   */
  private static ByteBuffer claims(long count) {
    return ByteBuffer.allocate(5 * Long.BYTES)
        .putLong(SNAPSHOT_VERSION_1)
        .putLong(1)
        .putLong(2)
        .putLong(count);
  }

  /**
   * Returns a snapshot in which the hashes of all buckets of a table segment belong to one line of
   * slots. A line of slots cannot hold all buckets of a segment.
   */
  private static ByteBuffer oneLine() {
    ByteBuffer forged = ByteBuffer.allocate((5 + 3 * FORGED_BUCKETS) * Long.BYTES);
    forged.putLong(SNAPSHOT_VERSION_1).putLong(1).putLong(2).putLong(FORGED_BUCKETS);
    int each = FORGED_BUCKETS / 256;
    for (int i = 0; i < FORGED_BUCKETS; i++) {
      forged.putLong((long) (i / each) << 54).putLong(i + 1).putLong(Long.MAX_VALUE);
    }
    return forged;
  }

  private static byte[] sealed(ByteBuffer forged) {
    CRC32C checksum = new CRC32C();
    checksum.update(forged.duplicate().flip());
    ByteBuffer whole = forged.putLong(checksum.getValue()).flip();
    byte[] bytes = new byte[whole.remaining()];
    whole.get(bytes);
    return bytes;
  }
}
