// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Names;
import dev.sluice.proof.attacks.WellBehaved.Answer;
import dev.sluice.proof.attacks.WellBehaved.Figures;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Runs every attack against a server of its own, and prints what was promised beside what was seen;
 * ends with 1 where a promise was broken.
 */
final class AttacksReport {

  private static final double MOST_P99_MILLIS = 500;
  static final int MOST_LOG_LINES = 50;
  private static final double MOST_TIMES_CALM = 10;
  private static final long WARM_UP_MILLIS = 3_000;
  private static final long CALM_MILLIS = 2_000;
  private static final int WARM_UP_REQUESTS = 50;
  private static final Pattern HEAP = Pattern.compile("\\d+[mg]");

  private AttacksReport() {}

  public static void main(String[] args) throws Exception {
    List<String> wanted = new ArrayList<>(List.of(args));
    boolean tls = wanted.remove("--tls");
    Memory memory = memory(wanted);
    Names.requireKnown("attacks", wanted, names());
    boolean kept;
    try (TlsIdentity identity = tls ? TlsIdentity.make() : null) {
      kept = isKept(wanted, new Victims(identity, memory));
    }
    System.exit(kept ? 0 : 1);
  }

  /** Takes {@code --heap SIZE} out of the arguments. */
  private static Memory memory(List<String> arguments) {
    int at = arguments.indexOf("--heap");
    if (at < 0) {
      return Memory.SMALL;
    }
    if (at + 1 == arguments.size() || !HEAP.matcher(arguments.get(at + 1)).matches()) {
      System.err.println("sluice prove attacks: expected a size after --heap, such as 256m");
      System.exit(2);
    }
    Memory memory = new Memory(arguments.get(at + 1));
    arguments.subList(at, at + 2).clear();
    return memory;
  }

  private static boolean isKept(List<String> wanted, Victims victims) throws Exception {
    boolean kept = true;
    System.out.printf(
        Locale.ROOT,
        "Promised in each%s: the server %s, the well-behaved client has no failure and"
            + " a p99 under %.0f ms, the log gets at most %d lines.%n%n",
        victims.tls() == null ? "" : ", over TLS",
        victims.memory().promise(),
        MOST_P99_MILLIS,
        MOST_LOG_LINES);
    System.out.println(
        "| attack | opened and sent | lives | peak memory | requests beside it | failed | p99 before | p99 | log lines | promise |");
    System.out.println("|---|---|---|---|---|---|---|---|---|---|");
    for (Attack attack : Attack.values()) {
      if (wanted.isEmpty() || wanted.contains(attack.name())) {
        kept &= tried(attack, victims);
      }
    }
    System.out.printf("%n| attack | seen | promise |%n|---|---|---|%n");
    for (Scenario scenario : Scenario.values()) {
      if (wanted.isEmpty() || wanted.contains(scenario.name())) {
        kept &= tried(scenario, victims);
      }
    }
    if (wanted.isEmpty() || Stream.of(Door.values()).anyMatch(d -> wanted.contains(d.name()))) {
      kept &= DoorsReport.run(wanted, victims);
    }
    return kept;
  }

  private static List<String> names() {
    return Stream.of(Attack.values(), Scenario.values(), Door.values())
        .<Enum<?>>flatMap(Stream::of)
        .map(Enum::name)
        .toList();
  }

  private static boolean tried(Scenario scenario, Victims victims) throws Exception {
    try {
      System.out.printf("| %s | %s | kept |%n", scenario.text(), scenario.seen(victims));
      return true;
    } catch (BrokenPromise e) {
      System.out.printf("| %s | %s | BROKEN |%n", scenario.text(), e.getMessage());
      return false;
    }
  }

  private static boolean tried(Attack attack, Victims victims)
      throws IOException, InterruptedException {
    try (Victim server = victims.start();
        WellBehaved client = WellBehaved.start(server.wire())) {
      Thread.sleep(WARM_UP_MILLIS);
      warmUp(server);
      Figures unused = client.take();
      Thread.sleep(CALM_MILLIS);
      Figures calm = client.take();
      int linesBefore = server.logLines();
      Peers peers = new Peers(server.wire());
      String missing = attack.attempt(peers);
      Figures seen = client.take();
      long peak = server.peakMib();
      boolean alive = server.isAlive();
      int lines = server.logLines() - linesBefore;
      boolean kept =
          missing.isEmpty()
              && alive
              && victims.memory().allows(peak)
              && seen.failures().isEmpty()
              && seen.p99Millis() <= Math.max(MOST_P99_MILLIS, MOST_TIMES_CALM * calm.p99Millis())
              && lines <= MOST_LOG_LINES;
      System.out.printf(
          Locale.ROOT,
          "| %s | %,d connections%s, %,d bytes | %s | %d MiB | %,d | %d%s | %.0f ms | %.0f ms | %d | %s%s |%n",
          attack.text(),
          peers.opened(),
          peers.refused() == 0 ? "" : String.format(Locale.ROOT, " (%,d refused)", peers.refused()),
          peers.sentBytes(),
          alive ? "yes" : "no",
          peak,
          seen.requests(),
          seen.failures().size(),
          seen.failures().isEmpty() ? "" : " (" + seen.failures().get(0) + ")",
          calm.p99Millis(),
          seen.p99Millis(),
          lines,
          kept ? "kept" : "BROKEN",
          missing.isEmpty() ? "" : ": " + missing);
      return kept;
    }
  }

  /** A server that has just started is slow anyway. */
  private static void warmUp(Victim server) throws IOException {
    for (int i = 0; i < WARM_UP_REQUESTS; i++) {
      try (Socket socket = server.wire().connect(Attack.GOOD_ADDRESS)) {
        for (String path : List.of("/openapi.json", "/metrics")) {
          socket
              .getOutputStream()
              .write(Attack.ascii("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
          Answer unused = Answer.read(new BufferedInputStream(socket.getInputStream()));
        }
      }
    }
  }
}
