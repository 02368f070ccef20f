// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Report;
import dev.sluice.proof.Server;
import dev.sluice.proof.Spender;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A drill that sends SIGTERM under load. The promise for each protocol: Each request that a client
 * sent before the server announced the close gets a response. No token is spent without a response.
 * The process ends in time with exit code 143. A Redis server cannot announce that it closes a
 * connection. Each Redis command that was sent within half a second after SIGTERM gets a reply.
 * Each Redis command that the server executes also gets a reply.
 *
 * <p>In each run, clients of all protocols spend, each from its own bucket. The next server process
 * reads the snapshot. In each bucket of the snapshot, the number of spent tokens must equal the
 * number of tokens that the bucket's client was granted.
 */
final class Sigterm implements ProductionReport.Drill {

  private static final int RUNS = Integer.getInteger("production.rounds", 20);
  private static final int CLIENTS = 4;
  private static final long BURST = 2_000_000; // more tokens than a client can spend in a run

  private final boolean tls;
  private final Map<String, Integer> answered = new LinkedHashMap<>();
  private long longestMillis;
  private long total;
  private int heldUp;
  private long unread;

  Sigterm(boolean tls) {
    this.tls = tls;
  }

  @Override
  public String text() {
    return "SIGTERM under load%s, %s runs over each of %s protocols"
        .formatted(tls ? " over TLS" : "", RUNS, Door.values().length);
  }

  @Override
  public String seen() throws Exception {
    try (Folder folder = Folder.make()) {
      String[] options = {
        "--limits", folder.limits(BURST, 1, "1h"), "--snapshot", folder.file("buckets")
      };
      Server.Launch launch = Server.Launch.SMALL;
      if (tls) {
        launch = launch.withTls(folder);
      }
      for (int run = 0; run < RUNS; run++) {
        try (Server server = launch.start(options)) {
          compare(server);
          stopUnderLoad(server, run);
        }
      }
      try (Server server = launch.start(options)) {
        compare(server);
      }
    }
    return Report.text(
        "%,d responses, 0 lost, 0 tokens taken without a response; stopped within %,d ms "
            + "(%s Redis commands were sent too late to be read; "
            + "the machine delayed %s clients for a second at the end)",
        total, longestMillis, unread, heldUp);
  }

  private void stopUnderLoad(Server server, int run) throws Exception {
    List<Spender> spenders = new ArrayList<>();
    for (Door door : Door.values()) {
      for (int i = 0; i < CLIENTS; i++) {
        spenders.add(Spender.start(door, "%s-%s-%s".formatted(door, run, i), server));
      }
    }
    Spender.Stop stop = Spender.stopUnderLoad(server, spenders);
    longestMillis = Math.max(longestMillis, stop.tookMillis());
    List<Integer> answers = stop.answered();
    for (int i = 0; i < answers.size(); i++) {
      Spender spender = spenders.get(i);
      unread += spender.unanswered();
      heldUp += spender.heldUp() ? 1 : 0;
      answered.put(spender.id(), answers.get(i));
      total += answers.get(i);
    }
  }

  /** Compares the buckets of a server with the responses of the previous run. */
  private void compare(Server server) throws Exception {
    for (Map.Entry<String, Integer> one : answered.entrySet()) {
      long spent = server.spent(one.getKey(), BURST);
      BrokenPromise.unless(
          spent == one.getValue(),
          "%s: %s tokens were taken, but %s spends got a response",
          one.getKey(),
          spent,
          one.getValue());
    }
    answered.clear();
  }
}
