// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Client;
import dev.sluice.proof.Client.Answers;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Report;
import dev.sluice.proof.Server;
import dev.sluice.proof.Server.NotStarted;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A drill with a low limit of file descriptors. The promise: With 64 descriptors, the server either
 * starts, or exits with a message that tells how to raise the limit. If the server starts, 300
 * connections neither stop the server nor fill its log, and a log line tells how to raise the limit
 * of file descriptors. After the 300 connections are closed, the server serves clients again.
 */
final class FewDescriptors implements ProductionReport.Drill {

  private static final int FEW = 64;
  private static final int ENOUGH_TO_START = 256;
  private static final int CONNECTIONS = 300;
  private static final int CROWDED_SECONDS = 10;
  private static final int MOST_LOG_LINES = 10;
  private static final int WRONG_INPUT = 2;
  private static final long BURST = 100_000;

  @Override
  public String text() {
    return "`ulimit -n %s`, and %s connections to a server with too few descriptors"
        .formatted(FEW, CONNECTIONS);
  }

  @Override
  public String seen() throws Exception {
    try (Folder folder = Folder.make()) {
      String[] options = {"--limits", folder.limits(BURST, 1, "24h")};
      String few = "";
      try (Server server = start(FEW, options)) {
        few = "the server starts with %s descriptors; ".formatted(FEW) + crowded(server);
      } catch (NotStarted e) {
        String said = String.valueOf(e.getMessage());
        BrokenPromise.unless(
            e.exitCode() == WRONG_INPUT && said.contains("ulimit -n"),
            "with %s descriptors the server ended without naming the reason: %s",
            FEW,
            said);
        few = "with %s descriptors the server refuses to start and names the remedy".formatted(FEW);
      }
      try (Server server = start(ENOUGH_TO_START, options)) {
        return "%s; with %s descriptors, %s".formatted(few, ENOUGH_TO_START, crowded(server));
      }
    }
  }

  private static Server start(int descriptors, String... options)
      throws IOException, InterruptedException {
    return Server.Launch.SMALL.withShell("ulimit -n " + descriptors).start(options);
  }

  private static String crowded(Server server) throws Exception {
    int before = server.log().size();
    List<Connection> crowd = new ArrayList<>();
    try {
      for (int i = 0; i < CONNECTIONS; i++) {
        crowd.add(server.endpoint(Door.HTTP).connect());
      }
      TimeUnit.SECONDS.sleep(CROWDED_SECONDS);
    } catch (IOException e) {
      // A connection was refused because the listen queue was full.
    } finally {
      for (Connection one : crowd) {
        one.close();
      }
    }
    long start = System.nanoTime();
    for (Door door : List.of(Door.HTTP, Door.GRPC, Door.RESP)) {
      try (Client client = door.open(server)) {
        Answers answer = client.ask("k", 1);
        BrokenPromise.unless(
            answer.allowed() == 1, "unexpected responses over %s: %s", door, answer);
      }
    }
    long servedMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    List<String> said = server.log().subList(before, server.log().size());
    BrokenPromise.unless(
        said.size() <= MOST_LOG_LINES,
        "found %s log lines, expected at most %s: %s",
        said.size(),
        MOST_LOG_LINES,
        said);
    BrokenPromise.unless(
        server.log().stream().anyMatch(line -> line.contains("ulimit -n")),
        "no log line names the remedy: %s",
        server.log());
    return Report.text(
        "%s of %s connections were opened, clients were served %,d ms after the connections had ended, %s log lines",
        crowd.size(), CONNECTIONS, servedMillis, said.size());
  }
}
