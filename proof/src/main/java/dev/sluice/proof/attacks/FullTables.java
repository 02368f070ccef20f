// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Folder;
import dev.sluice.proof.RespClient;
import dev.sluice.proof.Server;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Attacks with the Redis protocol that fill the table of buckets in the server's memory. No limit
 * denies the requests of the attackers.
 */
final class FullTables {

  private static final int PIPELINED = 500;
  private static final int MOST_MARKS = 1_000_000;
  private static final int MOST_IDS = 2_000_000;
  private static final double ALERT = 0.75;
  // Marks of cancelled reservations can fill at most a quarter of the server's bucket table. Three
  // quarters of the server's table remain for buckets.
  private static final double MOST_WITH_MARKS = 0.26;
  private static final long PATIENCE_MILLIS = 120_000;
  private static final String LIMITS =
      """
      LoginsPerIPAddress: {burst: 10, count: 10, period: 1h}
      FailedLoginsPerIPAddress: {burst: 2, count: 2, period: 1h}
      ApiCallsPerKey: {burst: 1, count: 1, period: 30s}
      """;

  private FullTables() {}

  /**
   * Reserves tokens and cancels the reservation, repeatedly. Previously, each cancellation left a
   * mark in the table for a day, and 422,569 marks filled the table.
   */
  static String marks(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make();
        Server server = launch.start("--limits", folder.write("limits.yml", LIMITS));
        RespClient client = open(server)) {
      Object day =
          client.call("SLUICE.RESERVE", "FailedLoginsPerIPAddress", "192.0.2.7", "1", "24h");
      BrokenPromise.unless(
          refusal(day).startsWith("ERR expires"),
          "unexpected reply to a reservation for a day: %s",
          day);
      int rounds = 0;
      String refused = "";
      while (refused.isEmpty() && rounds <= MOST_MARKS) {
        List<String> tokens = new ArrayList<>();
        for (int i = 0; i < PIPELINED; i++) {
          client.send("SLUICE.RESERVE", "FailedLoginsPerIPAddress", "192.0.2." + i % 200);
        }
        for (int i = 0; i < PIPELINED; i++) {
          Object reply = client.reply();
          String token = String.valueOf(RespClient.value(RespClient.list(reply), "token"));
          if (!token.isEmpty()) { // a denied reservation has an empty token
            tokens.add(token);
          }
        }
        for (String token : tokens) {
          client.send("SLUICE.CANCEL", token);
        }
        for (int i = 0; i < tokens.size(); i++) {
          Object answer = client.reply();
          refused = refused.isEmpty() ? refusal(answer) : refused;
          rounds += answer.equals("OK") ? 1 : 0;
        }
      }
      BrokenPromise.unless(
          refused.startsWith("THROTTLED") && refused.contains("were cancelled"),
          "after %s rounds no reservation was refused; last reply: %s",
          rounds,
          refused);
      double share = share(server);
      BrokenPromise.unless(
          share < MOST_WITH_MARKS,
          "%.0f %% of the table is in use, expected less than %.0f %%",
          share * 100,
          MOST_WITH_MARKS * 100);
      requireDecided(client, "192.0.2.250");
      Object other = client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "192.0.2.250");
      String token = String.valueOf(RespClient.value(RespClient.list(other), "token"));
      Object cancelled = client.call("SLUICE.CANCEL", token);
      BrokenPromise.unless(
          cancelled.equals("OK"),
          "a reservation of another limit was not cancelled: %s",
          cancelled);
      return String.format(
          Locale.ROOT,
          "reservations were refused after %,d rounds, with %.0f %% of the table in use; other limits still worked",
          rounds,
          100 * share);
    }
  }

  /**
   * Fills the table with buckets of one limit. The server removes a bucket from the table only when
   * the bucket is full again.
   */
  static String ids(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make();
        Server server = launch.start("--limits", folder.write("limits.yml", LIMITS));
        RespClient client = open(server)) {
      requireDecided(client, "192.0.2.1");
      int made = 0;
      int refused = 0;
      double warned = 0;
      while (refused == 0 && made < MOST_IDS) {
        for (int i = 0; i < PIPELINED; i++) {
          client.send("SLUICE.SPEND", "ApiCallsPerKey", "k" + (made + i));
        }
        for (int i = 0; i < PIPELINED; i++) {
          refused += refusal(client.reply()).isEmpty() ? 0 : 1;
        }
        made += PIPELINED;
        if (warned == 0 && made % (100 * PIPELINED) == 0 && share(server) > ALERT) {
          warned = share(server);
        }
      }
      BrokenPromise.unless(refused > 0, "%s ids did not fill the table", made);
      BrokenPromise.unless(
          warned > 0, "the metrics never showed that more than %s of the table is in use", ALERT);
      requireDecided(client, "192.0.2.1"); // this bucket already exists
      BrokenPromise.unless(
          server.metric("ratelimits_new_buckets_total{limit=\"ApiCallsPerKey\"}") > made / 2.0,
          "the metrics do not report which limit created the ids");
      HostileFiles.requireFewLines(server);
      long start = System.nanoTime();
      int other = 2;
      while (!isDecided(client, "198.51.100." + other % 250)) {
        other++;
        BrokenPromise.unless(
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) < PATIENCE_MILLIS,
            "new ids of another limit are refused for more than %s ms",
            PATIENCE_MILLIS);
        TimeUnit.MILLISECONDS.sleep(100);
      }
      return String.format(
          Locale.ROOT,
          "the table was full after %,d ids; metrics had warned at %.0f %% and named the limit;"
              + " spends of known ids were still decided, and spends of new ids again after %d s",
          made,
          100 * warned,
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start));
    }
  }

  private static RespClient open(Server server) throws IOException {
    RespClient client = RespClient.open(server);
    client.setPatience((int) PATIENCE_MILLIS);
    return client;
  }

  /** Returns the message of an error reply; empty for any other reply. */
  private static String refusal(Object reply) {
    return reply instanceof RespClient.Refusal refusal ? refusal.text() : "";
  }

  private static void requireDecided(RespClient client, String address) throws Exception {
    BrokenPromise.unless(isDecided(client, address), "a login of %s was not decided", address);
  }

  private static boolean isDecided(RespClient client, String address) throws IOException {
    return refusal(client.call("SLUICE.SPEND", "LoginsPerIPAddress", address)).isEmpty();
  }

  private static double share(Server server) throws Exception {
    return server.metric("ratelimits_live_buckets ")
        / server.metric("ratelimits_live_buckets_max ");
  }
}
