// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Server;
import dev.sluice.proof.attacks.WellBehaved.Figures;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Attacks that replace a valid file of a running server with a malicious file. Each attack is one
 * method, which returns a summary of the result, or throws if a promise was broken.
 */
final class HostileFiles {

  private static final String LOGINS = "LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}\n";
  private static final String SIGN_UPS = "SignUpsPerIPAddress: {burst: 1, count: 1, period: 1h}\n";
  private static final String LIMITS = "limits.yml";
  private static final String RULES = "rules.yml";
  private static final int OK = 200;
  private static final int CONFLICT = 409;
  private static final int DENIED = 429;
  private static final int MOST_LINE = 1_000; // the most characters of a log line
  private static final int MOST_SHOWN = 200;
  private static final long MOST_RELOAD_MILLIS = 5_000;
  // The server polls once per second, and reports a missing file after three polls.
  private static final long POLLS_MILLIS = 4_000;
  private static final long PATIENCE_MILLIS = 20_000;
  private static final String SECRET = "u3S3cr3tHash";
  private static final List<String> SECRETS =
      List.of(
          "root:$6$rounds=5000$saltsalt$" + SECRET + ":19000:0:99999:7:::\n",
          "root: $6$" + SECRET + "\ndb.password: " + SECRET + "\n",
          "apiVersion: v1\nkind: Secret\ndata: {password: " + SECRET + "}\n",
          "-----BEGIN PRIVATE KEY-----\n" + SECRET + "/+=\n-----END PRIVATE KEY-----\n",
          "AWS_SECRET=" + SECRET + "\n");

  private HostileFiles() {}

  /**
   * Writes a limit file with a number of 8 Mi digits. Previously, the server took 22 seconds to
   * parse a number of 8 Mi digits.
   */
  static String digits(Server.Launch launch) throws Exception {
    String digits = "9".repeat(8 << 20);
    try (Folder folder = Folder.make();
        Server server = launch.start("--limits", folder.write(LIMITS, LOGINS));
        WellBehaved client = WellBehaved.start(server)) {
      long slowestMillis = 0;
      for (String text :
          List.of(
              digits,
              digits + ": 1\n",
              LOGINS.replaceFirst("10,", digits + ","),
              LOGINS + digits)) {
        folder.write(LIMITS, text);
        long start = System.nanoTime();
        BrokenPromise.unlessStatus(CONFLICT, reload(server), "a reload");
        slowestMillis = Math.max(slowestMillis, millisSince(start));
      }
      Figures beside = WellBehaved.take(List.of(client));
      BrokenPromise.unless(
          slowestMillis <= MOST_RELOAD_MILLIS, "the slowest reload took %s ms", slowestMillis);
      BrokenPromise.unless(
          beside.failures().isEmpty(),
          "failures of the well-behaved client: %s",
          beside.failures());
      requireShortLog(server);
      BrokenPromise.unless(
          launch.allows(server.peakMib()), "the server took %s MiB of memory", server.peakMib());
      return "4 files were rejected, each within %s ms; %s well-behaved requests meanwhile, p99 %s ms; peak memory %s MiB"
          .formatted(
              slowestMillis, beside.requests(), Math.round(beside.p99Millis()), server.peakMib());
    }
  }

  static String cut(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make()) {
      String[] options = {"--limits", folder.write(LIMITS, LOGINS + SIGN_UPS)};
      try (Server server = launch.start(options)) {
        requireDenied(server);
        folder.cut(LIMITS, LOGINS.length());
        TimeUnit.SECONDS.sleep(1); // the pause between the writer's two writes
        folder.append(LIMITS, SIGN_UPS);
        TimeUnit.MILLISECONDS.sleep(POLLS_MILLIS);
        BrokenPromise.unlessStatus(
            DENIED, signUp(server), "a sign-up after a limit file was truncated for a second");
        folder.cut(LIMITS, LOGINS.length());
        awaitLog(server, "the default of SignUpsPerIPAddress was removed");
        int status = signUp(server).statusCode();
        BrokenPromise.unless(
            status / 100 == 4, "unexpected response after the limit was removed: %s", status);
      }
      folder.append(LIMITS, SIGN_UPS);
      try (Server server = launch.start(options[0], options[1], "--for", "SignUpsPerIPAddress")) {
        requireDenied(server);
        folder.cut(LIMITS, LOGINS.length());
        BrokenPromise.unlessStatus(CONFLICT, reload(server), "a reload of a truncated limit file");
        TimeUnit.MILLISECONDS.sleep(POLLS_MILLIS);
        BrokenPromise.unlessStatus(
            DENIED, signUp(server), "a sign-up after the limit file was truncated");
      }
    }
    return "file truncated for a second: the limit stays; truncated permanently: a warning names the limit, and requests"
        + " for the limit are rejected; with --for: the reload is rejected, and the limit stays";
  }

  static String link(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make();
        Server server =
            launch.start(
                "--limits",
                folder.write(LIMITS, LOGINS),
                "--rules",
                folder.write(RULES, rule("LoginsPerIPAddress")))) {
      StringBuilder told = new StringBuilder();
      for (String secret : SECRETS) {
        folder.link(LIMITS, secret);
        told.append(refusedReload(server));
        folder.write(LIMITS, LOGINS);
        folder.link(RULES, secret);
        told.append(refusedReload(server));
        // While this thread sleeps, the server polls the symbolic link.
        TimeUnit.MILLISECONDS.sleep(POLLS_MILLIS / 2);
        folder.write(RULES, rule("LoginsPerIPAddress"));
      }
      told.append(String.join("\n", server.log()));
      BrokenPromise.unless(
          told.indexOf(LIMITS) >= 0, "the response does not mention the files: %s", told);
      BrokenPromise.unless(
          told.indexOf(SECRET) < 0, "a secret is in the log or a response: %s", told);
      requireFewLines(server);
      BrokenPromise.unlessStatus(OK, server.ask("GET", "/healthz", ""), "/healthz");
    }
    return "%s files in place of the limit file and the rule book: rejected; none of their text"
            .formatted(SECRETS.size())
        + " is in the log, the response or /v1/limits";
  }

  static String noDefault(Server.Launch launch) throws Exception {
    try (Folder folder = Folder.make()) {
      String[] options = {
        "--limits",
        folder.write(LIMITS, LOGINS),
        "--rules",
        folder.write(RULES, rule("SignUpsPerIPAddress")),
        "--trusted-proxies",
        "127.0.0.1"
      };
      int exit = launch.refusal(options);
      BrokenPromise.unless(exit == 2, "the server's start ended with exit code %s", exit);
      folder.write(LIMITS, LOGINS + SIGN_UPS);
      try (Server server = launch.start(options)) {
        BrokenPromise.unlessStatus(OK, proxied(server), "a first sign-up");
        BrokenPromise.unlessStatus(DENIED, proxied(server), "a second sign-up");
        folder.write(LIMITS, LOGINS);
        BrokenPromise.unlessStatus(CONFLICT, reload(server), "a reload without the default quota");
        TimeUnit.MILLISECONDS.sleep(POLLS_MILLIS);
        BrokenPromise.unlessStatus(
            DENIED, proxied(server), "a sign-up after the default quota was removed");
        folder.write(LIMITS, LOGINS + SIGN_UPS);
        folder.write(RULES, rule("FailedLoginsPerIPAddress"));
        BrokenPromise.unlessStatus(
            CONFLICT, reload(server), "a reload with a rule whose limit has no default quota");
        BrokenPromise.unlessStatus(DENIED, proxied(server), "a sign-up after the rule changed");
        String body = "{\"limit\":\"FailedLoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";
        int status = server.ask("POST", "/v1/spend", body).statusCode();
        BrokenPromise.unless(
            status / 100 == 4,
            "unexpected response to a spend from a limit without a default quota: %s",
            status);
      }
    }
    return "the server did not start (exit code 2); two reloads were rejected with 409, a request"
        + " with 4xx; sign-ups stayed limited";
  }

  private static String rule(String limit) {
    return "rules:\n  - path: /**\n    limit: %s\n    id: \"{ip}\"\n".formatted(limit);
  }

  private static HttpResponse<String> reload(Server server)
      throws IOException, InterruptedException {
    return server.ask("POST", "/v1/admin/reload", "");
  }

  /**
   * Requests a reload, and throws unless the server rejects it. Returns the text of the response
   * and the list of limits.
   */
  private static String refusedReload(Server server) throws Exception {
    HttpResponse<String> answer = reload(server);
    BrokenPromise.unlessStatus(CONFLICT, answer, "a reload");
    return answer.body() + server.ask("GET", "/v1/limits", "").body();
  }

  private static HttpResponse<String> signUp(Server server)
      throws IOException, InterruptedException {
    String body = "{\"limit\":\"SignUpsPerIPAddress\",\"id\":\"192.0.2.7\"}";
    return server.ask("POST", "/v1/spend?status=429", body);
  }

  /** Sends the request with which a proxy asks the server whether to forward a sign-up. */
  private static HttpResponse<String> proxied(Server server)
      throws IOException, InterruptedException {
    return server.ask(
        "GET",
        "/v1/forward-auth",
        "",
        "X-Forwarded-For",
        "192.0.2.7",
        "X-Forwarded-Method",
        "POST",
        "X-Forwarded-Host",
        "example.com",
        "X-Forwarded-Uri",
        "/sign-up");
  }

  private static void requireDenied(Server server) throws Exception {
    BrokenPromise.unlessStatus(OK, signUp(server), "a first sign-up");
    BrokenPromise.unlessStatus(DENIED, signUp(server), "a second sign-up");
  }

  /** Requires that the log has grown only by the promised number of lines. */
  static void requireFewLines(Server server) throws BrokenPromise {
    int lines = server.logLines();
    BrokenPromise.unless(
        lines <= AttacksReport.MOST_LOG_LINES,
        "found %s log lines, expected at most %s",
        lines,
        AttacksReport.MOST_LOG_LINES);
  }

  private static void requireShortLog(Server server) throws BrokenPromise {
    requireFewLines(server);
    for (String line : server.log()) {
      BrokenPromise.unless(
          line.length() <= MOST_LINE,
          "the log contains a line of %s characters: %s…",
          line.length(),
          line.substring(0, Math.min(line.length(), MOST_SHOWN)));
    }
  }

  private static void awaitLog(Server server, String text) throws Exception {
    long start = System.nanoTime();
    while (server.log().stream().noneMatch(line -> line.contains(text))) {
      BrokenPromise.unless(
          millisSince(start) < PATIENCE_MILLIS, "the log does not contain \"%s\"", text);
      TimeUnit.MILLISECONDS.sleep(100);
    }
  }

  private static long millisSince(long start) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
  }
}
