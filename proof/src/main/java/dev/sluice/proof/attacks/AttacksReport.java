// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Door;
import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Folder;
import dev.sluice.proof.HttpAnswer;
import dev.sluice.proof.Report;
import dev.sluice.proof.Server;
import dev.sluice.proof.attacks.WellBehaved.Figures;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The command {@code ./sluice prove attacks}. Runs every attack, and prints the measured figures
 * and whether the promise was kept. Exits with 1 if a promise was broken.
 */
final class AttacksReport {

  static final int MOST_LOG_LINES = 50;

  private static final double MOST_P99_MILLIS = 500;
  private static final double MOST_TIMES_CALM = 10;
  private static final long WARM_UP_MILLIS = 3_000;
  private static final int WARM_UP_REQUESTS = 50;
  private static final long CALM_MILLIS = 2_000;
  private static final int PAUSE_AT_ALL_DOORS_MILLIS = 20;
  private static final long CALM_AT_ALL_DOORS_MILLIS = 4_000;
  private static final long SETTLING_MILLIS = 500;

  private final Server.Launch launch;
  private final Report report;

  private AttacksReport(Server.Launch launch, Report report) {
    this.launch = launch;
    this.report = report;
  }

  public static void main(String[] words) throws Exception {
    Report.Arguments arguments = new Report.Arguments("attacks", words);
    boolean tls = arguments.takes("--tls");
    String heap = arguments.value("--heap", "\\d+[mg]", "a size such as 256m");
    List<String> known =
        Stream.of(Attack.values(), Scenario.values(), Target.values())
            .<Enum<?>>flatMap(Stream::of)
            .map(Enum::name)
            .toList();
    Report report = arguments.report(known);
    Server.Launch launch = heap == null ? Server.Launch.SMALL : Server.Launch.SMALL.withHeap(heap);
    try (Folder folder = Folder.make()) {
      new AttacksReport(tls ? launch.withTls(folder) : launch, report).run();
    }
    report.exit();
  }

  private void run() throws Exception {
    System.out.print(
        Report.text(
            "The promise during each attack%s: the server %s, the well-behaved client has no failure and"
                + " a p99 under %.0f ms or under %.0f times the p99 before the attack, and the log grows by at most"
                + " %d lines.%n",
            launch.trust() == null ? "" : ", over TLS",
            launch.promise(),
            MOST_P99_MILLIS,
            MOST_TIMES_CALM,
            MOST_LOG_LINES));
    table(1, "attack", "connections opened, bytes sent");
    for (Attack attack : Attack.values()) {
      if (report.wants(attack.name())) {
        attack(attack);
      }
    }
    report.table(1, "attack", "seen");
    for (Scenario scenario : Scenario.values()) {
      report.row(scenario.name(), scenario.text(), () -> scenario.seen(launch));
    }
    if (Stream.of(Target.values()).noneMatch(target -> report.wants(target.name()))) {
      return;
    }
    System.out.printf("%nFuzzed bytes: -Dattacks.seed=%s%n", DoorAttack.seed());
    table(2, "door", "attack", "seen");
    for (Target target : Target.values()) {
      if (report.wants(target.name())) {
        attack(target);
      }
    }
  }

  /** Prints the heading of a table whose last columns are the figures of {@link Beside#judge}. */
  private void table(int ofName, String... headings) {
    List<String> all = new ArrayList<>(List.of(headings));
    all.addAll(
        List.of(
            "lives",
            "peak memory",
            "well-behaved requests",
            "failed",
            "p99 before",
            "p99",
            "log lines"));
    report.table(ofName, all.toArray(String[]::new));
  }

  private void attack(Attack attack) throws IOException, InterruptedException {
    try (Server server = launch.start();
        WellBehaved client = WellBehaved.start(server)) {
      Thread.sleep(WARM_UP_MILLIS);
      warmUp(server);
      Beside beside = new Beside(server, List.of(client), CALM_MILLIS);
      HostileConnections connections = new HostileConnections(server.endpoint(Door.HTTP));
      String missing = attack.attempt(connections);
      String opened =
          Report.text(
              "%,d connections%s, %,d bytes%s",
              connections.opened(),
              connections.refused() == 0
                  ? ""
                  : Report.text(" (%,d refused)", connections.refused()),
              connections.sentBytes(),
              missing.isEmpty() ? "" : "; " + missing);
      beside.judge(missing.isEmpty(), attack.text(), opened);
    }
  }

  /** Sends requests before the measurement, since a server that has just started is slow. */
  private static void warmUp(Server server) throws IOException {
    for (int i = 0; i < WARM_UP_REQUESTS; i++) {
      try (Connection connection = server.endpoint(Door.HTTP).connect()) {
        for (String path : List.of("/openapi.json", "/metrics")) {
          connection.write("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
          HttpAnswer unused = HttpAnswer.read(connection);
        }
      }
    }
  }

  /** Attacks a protocol while well-behaved clients use every protocol. */
  private void attack(Target target) throws IOException, InterruptedException {
    List<WellBehaved> clients = new ArrayList<>();
    try (Server server = launch.start()) {
      for (Target each : Target.values()) {
        clients.add(
            WellBehaved.start(each, server.endpoint(each.door()), PAUSE_AT_ALL_DOORS_MILLIS));
      }
      // Lets the server warm up, since a server that has just started is slow.
      Thread.sleep(CALM_AT_ALL_DOORS_MILLIS);
      Endpoint endpoint = server.endpoint(target.door());
      Beside beside = new Beside(server, clients, CALM_AT_ALL_DOORS_MILLIS);
      for (DoorAttack attack : DoorAttack.values()) {
        String seen;
        boolean kept = true;
        try {
          seen = attack.run(target, endpoint);
        } catch (BrokenPromise e) {
          seen = String.valueOf(e.getMessage());
          kept = false;
        }
        // After a short attack, well-behaved clients need time to finish requests to be judged.
        Thread.sleep(SETTLING_MILLIS);
        beside.judge(kept, target.text(), attack.text(), seen);
      }
    } finally {
      clients.forEach(WellBehaved::close);
    }
  }

  /** Measures the well-behaved clients of a server while the server is attacked. */
  private final class Beside {
    private final Server server;
    private final List<WellBehaved> clients;
    private final double calmMillis;
    private int linesBefore;

    /** Measures the response times of the clients for some time without an attack. */
    Beside(Server server, List<WellBehaved> clients, long calmForMillis)
        throws InterruptedException {
      this.server = server;
      this.clients = clients;
      Figures unused = WellBehaved.take(clients);
      Thread.sleep(calmForMillis);
      calmMillis = WellBehaved.take(clients).p99Millis();
      linesBefore = server.logLines();
    }

    /**
     * Prints the figures since the previous call, and whether they are within the promised bounds.
     */
    void judge(boolean tried, String... cells) throws IOException {
      Figures seen = WellBehaved.take(clients);
      long peak = server.peakMib();
      boolean alive = server.isAlive();
      int lines = server.logLines() - linesBefore;
      linesBefore += lines;
      boolean kept =
          tried
              && alive
              && launch.allows(peak)
              && seen.failures().isEmpty()
              && seen.requests() > 0
              && seen.p99Millis() <= Math.max(MOST_P99_MILLIS, MOST_TIMES_CALM * calmMillis)
              && lines <= MOST_LOG_LINES;
      List<String> all = new ArrayList<>(List.of(cells));
      all.add(alive ? "yes" : "no");
      all.add(peak + " MiB");
      all.add(Report.text("%,d", seen.requests()));
      all.add(
          seen.failures().size()
              + (seen.failures().isEmpty() ? "" : " (" + seen.failures().get(0) + ")"));
      all.add(Report.text("%.0f ms", calmMillis));
      all.add(Report.text("%.0f ms", seen.p99Millis()));
      all.add(String.valueOf(lines));
      report.row(kept, all.toArray(String[]::new));
    }
  }
}
