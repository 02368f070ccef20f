// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Clients of the Redis protocol that are never denied, and fill the table in memory. Stateless. */
final class FullTables {

  private static final int RESP = 1;
  private static final int PIPELINED = 500;
  private static final int MOST_MARKS = 100_000;
  private static final int MOST_IDS = 2_000_000;
  private static final double ALERT = 0.75;
  private static final double MOST_WITH_MARKS = 0.25;
  private static final long PATIENCE_MILLIS = 120_000;
  private static final String LIMITS =
      """
      LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}
      FailedLoginsPerIPAddress: {burst: 2, count: 2, period: 1h}
      ApiCallsPerKey: {burst: 1, count: 1, period: 30s}
      """;

  private FullTables() {}

  /** Each round left a mark that lived for a day: 422,569 filled the table. */
  static String marks(Victims victims) throws Exception {
    try (WatchedFile limits = WatchedFile.of(LIMITS);
        Victim server = victims.start("--limits", limits.toString());
        Client client = new Client(server)) {
      client.send("SLUICE.RESERVE FailedLoginsPerIPAddress 192.0.2.7 1 24h");
      String day = client.read();
      BrokenPromise.unless(
          day.startsWith("-ERR expires"), "a reservation for a day was answered %s", day);
      int rounds = 0;
      String refused = "";
      while (refused.isEmpty() && rounds <= 2 * MOST_MARKS) {
        List<String> tokens = new ArrayList<>();
        for (int i = 0; i < PIPELINED; i++) {
          client.send("SLUICE.RESERVE FailedLoginsPerIPAddress 192.0.2." + i % 200);
        }
        for (int i = 0; i < PIPELINED; i++) {
          String token = client.reserved();
          if (token.startsWith("-")) {
            refused = token;
          } else if (!token.isEmpty()) {
            tokens.add(token);
          }
        }
        for (String token : tokens) {
          client.send("SLUICE.CANCEL " + token);
        }
        for (int i = 0; i < tokens.size(); i++) {
          String answer = client.read();
          BrokenPromise.unless(
              answer.equals("+OK") || answer.startsWith("-THROTTLED"),
              "a cancellation was answered %s",
              answer);
          rounds += answer.equals("+OK") ? 1 : 0;
        }
      }
      BrokenPromise.unless(
          refused.startsWith("-THROTTLED") && refused.contains("were cancelled"),
          "after %s rounds nothing was refused, but %s",
          rounds,
          refused);
      double share = share(server);
      BrokenPromise.unless(share < MOST_WITH_MARKS, "%s of the table is in use", share);
      requireDecided(client, "192.0.2.250");
      return String.format(
          Locale.ROOT,
          "refused after %,d rounds, with %.0f %% of the table in use; other limits decide",
          rounds,
          100 * share);
    }
  }

  /** One limit has the whole table; only buckets that fill up give room again. */
  static String ids(Victims victims) throws Exception {
    try (WatchedFile limits = WatchedFile.of(LIMITS);
        Victim server = victims.start("--limits", limits.toString());
        Client client = new Client(server)) {
      requireDecided(client, "192.0.2.1");
      int made = 0;
      int refused = 0;
      double warned = 0;
      while (refused == 0 && made < MOST_IDS) {
        for (int i = 0; i < PIPELINED; i++) {
          client.send("SLUICE.SPEND ApiCallsPerKey k" + (made + i));
        }
        for (int i = 0; i < PIPELINED; i++) {
          refused += client.spent().startsWith("-") ? 1 : 0;
        }
        made += PIPELINED;
        if (warned == 0 && made % (100 * PIPELINED) == 0 && share(server) > ALERT) {
          warned = share(server);
        }
      }
      BrokenPromise.unless(refused > 0, "%s ids did not fill the table", made);
      BrokenPromise.unless(warned > 0, "the metrics did not show more than %s before", ALERT);
      requireDecided(client, "192.0.2.1"); // its bucket is there
      String metrics = get(server, "/metrics");
      BrokenPromise.unless(
          number(metrics, "ratelimits_new_buckets_total\\{limit=\"ApiCallsPerKey\"}") > made / 2.0,
          "the metrics do not say which limit made the ids");
      int lines = server.logLines();
      BrokenPromise.unless(lines <= AttacksReport.MOST_LOG_LINES, "%s lines in the log", lines);
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
          "full after %,d ids; the metrics showed %.0f %% and the limit before; known ids decide,"
              + " new ones again after %d s",
          made,
          100 * warned,
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start));
    }
  }

  private static void requireDecided(Client client, String address) throws Exception {
    BrokenPromise.unless(isDecided(client, address), "a login of %s was not decided", address);
  }

  private static boolean isDecided(Client client, String address) throws IOException {
    client.send("SLUICE.SPEND LoginsPerIPAddress " + address);
    return !client.spent().startsWith("-");
  }

  private static double share(Victim server) throws Exception {
    String metrics = get(server, "/metrics");
    return number(metrics, "ratelimits_live_buckets")
        / number(metrics, "ratelimits_live_buckets_max");
  }

  private static double number(String metrics, String series) throws BrokenPromise {
    Matcher line = Pattern.compile("(?m)^" + series + " (\\S+)$").matcher(metrics);
    BrokenPromise.unless(line.find(), "there is no metric %s", series);
    return Double.parseDouble(line.group(1));
  }

  private static String get(Victim server, String path) throws Exception {
    HttpResponse<String> answer =
        server
            .http()
            .send(HttpRequest.newBuilder(server.wire().uri(path)).build(), BodyHandlers.ofString());
    return answer.body();
  }

  /** A connection that speaks RESP2, with inline commands. For one thread. */
  private static final class Client implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;
    private final BufferedWriter out;

    Client(Victim server) throws IOException {
      this.socket = server.wire(RESP).connect(Attack.GOOD_ADDRESS);
      socket.setSoTimeout((int) PATIENCE_MILLIS);
      this.in =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      this.out =
          new BufferedWriter(
              new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.US_ASCII));
    }

    /** Does not flush; {@link #read} does. */
    void send(String command) throws IOException {
      StringBuilder text = new StringBuilder();
      String[] words = command.split(" ", -1);
      text.append('*').append(words.length).append("\r\n");
      for (String word : words) {
        text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
      }
      out.write(text.toString());
    }

    /** One line of a reply. */
    String read() throws IOException {
      out.flush();
      String line = in.readLine();
      if (line == null) {
        throw new EOFException("the server closed the connection");
      }
      return line;
    }

    /** A reply to a spend: its first line, and all others read. */
    String spent() throws IOException {
      String first = read();
      skip(first);
      return first;
    }

    private void skip(String first) throws IOException {
      if (first.startsWith("$") && !first.equals("$-1")) {
        var unused = read();
      } else if (first.startsWith("*")) {
        int elements = Integer.parseInt(first.substring(1));
        for (int i = 0; i < elements; i++) {
          skip(read());
        }
      }
    }

    /** The token of a reservation; empty after a denial, the error if there is one. */
    String reserved() throws IOException {
      String first = read();
      if (!first.startsWith("*")) {
        return first;
      }
      int elements = Integer.parseInt(first.substring(1));
      String before = "";
      String token = "";
      for (int i = 0; i < elements; i++) {
        String element = read();
        String value = element;
        if (element.startsWith("$") && !element.equals("$-1")) {
          value = read();
        } else {
          skip(element);
        }
        if (before.equals("token") && !value.startsWith("$")) {
          token = value;
        }
        before = value;
      }
      return token;
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
