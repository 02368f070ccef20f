// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Files;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands that show a running server. */
@Tag("slow")
class ViewCommandTest {

  private static final String TERMINAL = "sluice.stdout.terminal";

  @TempDir private Path folder;

  @AfterEach
  void noTerminal() {
    System.clearProperty(TERMINAL);
  }

  private Service start(boolean topDenied, String store) throws IOException {
    Path limits = folder.resolve("limits.yml");
    java.nio.file.Files.writeString(
        limits,
        """
        LoginsPerIPAddress: {burst: 2, count: 2, period: 1h}
        ApiCallsPerKey: {burst: 300, count: 100, period: 7d}
        SignUpsPerIPAddress: {quotas: [5 per 1h, "1 per 1s, burst 2"]}
        FailedLoginsPerIPAddress: {unlimited: true}
        """);
    return Service.start(
        new ServerConfig(
            Doors.of(Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))),
            Sources.of(new Files(limits, null, null, null)),
            Storage.in(StoreAccess.of(store)),
            Control.NONE,
            new Telemetry(topDenied, null)));
  }

  private static String url(Service service) {
    return "http://" + HostPort.format(service.addresses().get(0));
  }

  private static String shown(Service service, String command) {
    Cli run = Cli.run(command, "--server", url(service));
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
    return run.out();
  }

  private static void spendLogins(Service service, int times) {
    for (int i = 0; i < times; i++) {
      var unused = Cli.run("spend", "LoginsPerIPAddress", "192.0.2.7", "--server", url(service));
    }
  }

  @Test
  void commands_showLimits_files_store_andTheLastMinute() throws IOException {
    try (Service service = start(true, "memory");
        End end = new End(service)) {
      spendLogins(service, 5);
      var unused = Cli.run("spend", "ApiCallsPerKey", "k", "--server", url(service));

      assertThat(shown(service, "limits")).startsWith("{\"limits\":[{\"name\":\"ApiCallsPerKey\"");
      assertThat(shown(service, "stats")).startsWith("{\"version\":");
      String minute =
          """
          (?m)^LAST MINUTE +ALLOWED +DENIED +SHARE DENIED +SHADOW DENIED
          LoginsPerIPAddress +2 +3 +60\\.0 % +0
          ApiCallsPerKey +1 +0 +0\\.0 % +0
          """;
      await() // the server reads its counters once a second
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(
              () ->
                  assertThat(shown(service, "top"))
                      .containsPattern(minute)
                      .containsPattern("(?m)^LoginsPerIPAddress +192\\.0\\.2\\.7 +3$")
                      .doesNotContain("\033"));

      System.setProperty(TERMINAL, "true");
      assertThat(shown(service, "stats"))
          .containsPattern("(?m)^sluice \\S+, up \\d+ \\S+, connections: \\d+$")
          .containsPattern("(?m)^store memory: ready, 2 of [\\d,]+ buckets in use$")
          .containsPattern(minute);
      assertThat(shown(service, "limits"))
          .startsWith("LIMIT ")
          .containsPattern("(?m)^LIMIT +QUOTA +ID +OVERRIDES$")
          .containsPattern("(?m)^ApiCallsPerKey +100 per 7d, burst 300 +string +0$")
          .containsPattern("(?m)^LoginsPerIPAddress +2 per 1h +ipAddress +0$")
          .containsPattern(
              "(?m)^SignUpsPerIPAddress +5 per 1h and 1 per 1s, burst 2 +ipAddress +0$")
          .containsPattern("(?m)^FailedLoginsPerIPAddress +unlimited +ipAddress +0$")
          .containsPattern("\nlimits [0-9a-f]{12}, in force since \\S+:\\d\\dZ, no mistakes\n$");
    }
  }

  @Test
  void stats_ofALongerTime_areThoseOfTheHistory_andAnotherTimeIsRefused() throws IOException {
    System.setProperty(TERMINAL, "true");
    try (Service service = start(false, "memory")) {
      spendLogins(service, 5);
      await() // the server reads its counters once a second
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(
              () -> {
                Cli hour = Cli.run("stats", "--since", "90m", "--server", url(service));
                assertThat(hour.out())
                    .containsPattern("(?m)^LAST 1h30m +ALLOWED +DENIED")
                    .containsPattern("(?m)^LoginsPerIPAddress +2 +3 +60\\.0 % +0$");
              });
      for (String time : new String[] {"1m", "25h", "0s", "soon"}) {
        Cli wrong = Cli.run("stats", "--since", time, "--server", url(service));
        assertThat(wrong.code()).as(wrong.err()).isEqualTo(Exit.BROKEN_INPUT);
        assertThat(wrong.err()).contains("--since: ", time);
      }
    }
  }

  @Test
  void stats_ofAServerWithoutItsStore_sayWhichServerIsMarkedDown() throws IOException {
    System.setProperty(TERMINAL, "true");
    try (Service service = start(false, "redis://127.0.0.1:1/0?timeout=100ms");
        End end = new End(service)) {
      spendLogins(service, 20);

      assertThat(shown(service, "stats"))
          .contains(": the store does not answer\n", "\nmarked down: ");
    }
  }

  @Test
  void rollback_isShown() throws IOException {
    System.setProperty(TERMINAL, "true");
    try (Service service = start(false, "memory");
        End end = new End(service)) {
      java.nio.file.Files.writeString(
          folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: 1, count: 1, period: 1h}\n");
      service.reload();
      assertThat(shown(service, "limits")).doesNotContain("rollback");
      assertThat(Cli.run("rollback", "--server", url(service)).code()).isEqualTo(Exit.DONE);

      for (String command : new String[] {"limits", "stats"}) {
        assertThat(shown(service, command)).contains("\na rollback is in force until");
      }
    }
  }

  @Test
  void newFilesWithMistakes_areShownWithTheirLines_andHowToGetTheIdsDeniedMost()
      throws IOException {
    try (Service service = start(false, "memory");
        End end = new End(service)) {
      java.nio.file.Files.writeString(folder.resolve("limits.yml"), "LoginsPerIPAddress: ten\n");
      service.reload();

      assertThat(shown(service, "top"))
          .contains("newer files have mistakes:\n  ")
          .contains("limits.yml:1:21: ")
          .contains("start the server with --top-denied");
    }
  }

  @Test
  void top_onATerminal_isDrawnAgain_alsoWhileTheServerIsAway_untilTheTerminalIsClosed()
      throws IOException {
    System.setProperty(TERMINAL, "true");
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Service service = start(false, "memory");
    try (ClosedAfterThree terminal = new ClosedAfterThree(service)) {
      int code =
          Main.run(
              InputStream.nullInputStream(),
              terminal,
              err,
              "top",
              "--interval",
              "1ms",
              "--server",
              url(service));

      assertThat(err.toString(StandardCharsets.UTF_8)).isEmpty();
      assertThat(code).isEqualTo(Exit.DONE);
      String[] screens = terminal.shown.toString(StandardCharsets.UTF_8).split("\033\\[H\033\\[J");
      assertThat(screens).hasSize(4);
      assertThat(screens[2]).contains("store memory: ready");
      assertThat(screens[3]).contains("connection refused", "Trying again.");
    }
  }

  /** A terminal that stops the server after two screens, and is closed after three. */
  private static final class ClosedAfterThree extends OutputStream {

    private final Service service;
    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();
    private int screens;

    ClosedAfterThree(Service service) {
      this.service = service;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b});
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      if (screens == 3) {
        throw new IOException("Broken pipe");
      }
      shown.write(bytes, from, length);
    }

    @Override
    public void flush() {
      screens++;
      if (screens == 2) {
        new End(service).close();
      }
    }
  }

  @Test
  void overridesSet_withSeveralQuotas_isInForce_andListed() throws IOException {
    try (Service service = start(false, "memory");
        End end = new End(service)) {
      Cli set =
          Cli.run(
              "overrides",
              "set",
              "SignUpsPerIPAddress",
              "192.0.2.7",
              "--quota",
              "9 per 1s, burst 12",
              "--quota=90 per 1h",
              "--server",
              url(service));
      assertThat(set.err()).isEmpty();
      assertThat(set.code()).isEqualTo(Exit.DONE);
      assertThat(set.out())
          .contains(
              "\"quotas\":[{\"burst\":90,\"count\":90,\"period\":\"1h0m0s\"",
              "{\"burst\":12,\"count\":9,\"period\":\"1s\"");
      Cli spent = Cli.run("spend", "SignUpsPerIPAddress", "192.0.2.7", "--server", url(service));
      assertThat(spent.out()).contains("\"remaining\":11", "\"remaining\":89");
      assertThat(Cli.run("overrides", "list", "--server", url(service)).out())
          .contains("\"id\":\"192.0.2.7\"", "\"period\":\"1s\"");
    }
  }
}
