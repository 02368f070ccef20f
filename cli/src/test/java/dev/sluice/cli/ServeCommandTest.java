// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.testkit.servers.LocalPostgres;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import dev.sluice.yaml.LimitFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
final class ServeCommandTest {

  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Pattern READY = Pattern.compile("listening on (http://\\S+) .*\\(.*\\)");
  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @Test
  void server_answersRedisClients_whereItIsAsked(@TempDir Path folder) throws Exception {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, limitsOf(3));
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--resp",
                "127.0.0.1:0",
                "--limits",
                limits.toString());
        BufferedReader err = cli.err()) {
      String line = until(err, "listening");
      Matcher redis = Pattern.compile("redis://127.0.0.1:(\\d+)").matcher(line);
      assertThat(redis.find()).as(line).isTrue();
      try (Socket socket =
          new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(redis.group(1)))) {
        socket.setSoTimeout((int) PATIENCE.toMillis());
        socket
            .getOutputStream()
            .write("CL.THROTTLE k 0 1 60\r\n".getBytes(StandardCharsets.US_ASCII));
        byte[] reply = socket.getInputStream().readNBytes(24);
        assertThat(new String(reply, StandardCharsets.US_ASCII))
            .isEqualTo("*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n".substring(0, 24));
      }
    }
    assertThat(Cli.run("serve", "--http", "127.0.0.1:0", "--resp", "nowhere").err())
        .contains("--resp: ");
  }

  @Test
  void server_answers_followsItsFiles_andStopsWhenTold(@TempDir Path folder) throws Exception {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, limitsOf(3));
    try (CliProcess cli =
            CliProcess.start("serve", "--http", "127.0.0.1:0", "--limits", limits.toString());
        BufferedReader out = cli.out();
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(spend(server)).contains("\"remaining\":2,\"burst\":3");

      Files.writeString(limits, limitsOf(5));
      await().atMost(PATIENCE).until(() -> spend(server).contains("\"burst\":5"));
      assertThat(until(err, "1 default,")).contains("limits loaded");

      Files.writeString(limits, "ApiCallsPerKey:\n  burst: lots\n");
      assertThat(until(err, "not loaded")).contains("limits.yml:2:10: found \"lots\"");
      assertThat(spend(server)).contains("\"burst\":5");
      assertThat(get(server + "/readyz")).contains("ready");

      cli.process().toHandle().destroy(); // SIGTERM; a Process would close its streams
      assertThat(out.readLine()).as("standard output, to its end").isNull();
      assertThat(err.readLine()).isEqualTo("stopping: received a signal");
      assertThat(err.readLine())
          .matches("stopped: [0-9]+ requests? answered over HTTP and gRPC during the shutdown");
      assertThat(cli.process().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void limitsOnRequest_appliesAChangedFileOnlyByAReload(@TempDir Path folder) throws Exception {
    Path limits = Files.writeString(folder.resolve("limits.yml"), limitsOf(3));
    String[] watching = {"serve", "--http", "127.0.0.1:0", "--limits", limits.toString()};
    String[] waiting = Arrays.copyOf(watching, watching.length + 1);
    waiting[watching.length] = "--limits-on-request";
    try (CliProcess one = CliProcess.start(watching);
        CliProcess other = CliProcess.start(waiting);
        BufferedReader err = one.err();
        BufferedReader otherErr = other.err()) {
      String follower = untilReady(err);
      String server = untilReady(otherErr);
      for (int burst : new int[] {5, 7}) { // a server that watches has seen 5 when 7 is applied
        Files.writeString(limits, limitsOf(burst));
        await().atMost(PATIENCE).until(() -> spend(follower).contains("\"burst\":" + burst));
      }
      assertThat(spend(server)).contains("\"burst\":3");
      assertThat(Cli.run("reload", "--server", server).code()).isEqualTo(Exit.DONE);
      assertThat(spend(server)).contains("\"burst\":7");
    }
  }

  @Test
  void limitsOnRequest_withoutLimitFiles_isRefused() {
    Cli alone = Cli.run("serve", "--http", ":0", "--limits-on-request");
    assertThat(alone.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(alone.err()).contains("--limits-on-request: found no limit files to read");
  }

  /** A client could otherwise send itself a limit of its own with each descriptor. */
  @Test
  void server_withClientCertificates_ignoresTheLimitOfADescriptor_unlessToldToAllowIt(
      @TempDir Path folder) throws Exception {
    KeyStore pair = keyPair(folder.resolve("pair.p12")); // of the server and of its client
    String certificate = pem(folder, "CERTIFICATE", pair.getCertificate("one").getEncoded());
    String key = pem(folder, "PRIVATE KEY", pair.getKey("one", PASSWORD).getEncoded());
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: 1, count: 1, period: 24h}\n");
    List<String> serve = new ArrayList<>(List.of("serve", "--http", "127.0.0.1:0"));
    serve.addAll(List.of("--limits", limits.toString(), "--tls-client-ca", certificate));
    serve.addAll(List.of("--tls-certificate", certificate, "--tls-key", key));

    assertThat(codesOfTwoRequests(serve, pair)).containsExactly("OK", "OVER_LIMIT");
    serve.addAll(List.of("--rls-overrides", "allow"));
    assertThat(codesOfTwoRequests(serve, pair)).containsExactly("OK", "OK");
  }

  private static List<String> codesOfTwoRequests(List<String> serve, KeyStore client)
      throws Exception {
    KeyManagerFactory shown = KeyManagerFactory.getInstance("PKIX");
    shown.init(client, PASSWORD);
    TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
    trusted.init(client);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(shown.getKeyManagers(), trusted.getTrustManagers(), null);
    HttpClient http = HttpClient.newBuilder().sslContext(tls).build();
    try (CliProcess cli = CliProcess.start(serve.toArray(String[]::new));
        BufferedReader err = cli.err()) {
      String port = until(err, "listening on").replaceAll(".*https://[^:]+:(\\d+) .*", "$1");
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("https://localhost:%s/json".formatted(port)))
              .header("Content-Type", "application/json")
              .POST(
                  BodyPublishers.ofString(
                      """
                      {"domain":"d","descriptors":[{
                       "entries":[{"key":"ApiCallsPerKey","value":"k"}],
                       "limit":{"requestsPerUnit":1000,"unit":"SECOND"}}]}"""))
              .build();
      List<String> codes = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        String answer = http.send(request, BodyHandlers.ofString()).body();
        codes.add(answer.replaceAll(".*\"overallCode\":\"([A-Z_]+)\".*", "$1"));
      }
      return codes;
    }
  }

  private static KeyStore keyPair(Path file) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(
        List.of(
            ("-genkeypair -alias one -keyalg EC -dname CN=localhost -ext san=dns:localhost"
                    + " -storetype PKCS12 -storepass changeit -keystore")
                .split(" ")));
    command.add(file.toString());
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    return KeyStore.getInstance(file.toFile(), PASSWORD);
  }

  private static String pem(Path folder, String type, byte[] der) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(der);
    return Files.writeString(
            folder.resolve(type + ".pem"),
            "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(type, text, type))
        .toString();
  }

  /** Who breaks off or sends junk must not be able to fill the log of the server. */
  @Test
  void brokenClients_areNotLogged() throws Exception {
    try (CliProcess cli = CliProcess.start("serve", "--http", "127.0.0.1:0");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      String head =
          "POST /v1/spend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
      for (String broken :
          List.of(
              head + "Content-Length: 100\r\n\r\n{",
              head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
              head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{",
              head + "Content-Length: 100\r\nContent-Length: 3\r\n\r\n{",
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n",
              "\u0016\u0003\u0001")) {
        URI address = URI.create(server);
        try (Socket client = new Socket(address.getHost(), address.getPort())) {
          client.getOutputStream().write(broken.getBytes(StandardCharsets.ISO_8859_1));
          client.shutdownOutput();
          var unused = client.getInputStream().readAllBytes();
        }
      }
      assertThat(spend(server)).contains("\"allowed\":true");
      cli.process().toHandle().destroy();
      assertThat(err.lines())
          .as("nothing but the two lines of the end")
          .hasSize(2)
          .allMatch(line -> line.startsWith("stop"));
    }
  }

  /** Such a file once took all memory; the bound on its size goes by the heap now. */
  @Test
  void reloadOfAFileThatIsTooLargeForTheHeap_isRefused_andTheLimitsStay(@TempDir Path folder)
      throws Exception {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, limitsOf(3));
    try (CliProcess cli =
            CliProcess.start(
                List.of("-Xmx32m"),
                Map.of(),
                Main.class,
                "serve",
                "--http",
                "127.0.0.1:0",
                "--limits",
                limits.toString());
        BufferedReader err = cli.err()) {
      String server = untilReady(err);

      Files.writeString(limits, limitsOf(3) + "# many\n" + "? [a, [b, {c: d}]]\n".repeat(400_000));

      assertThat(until(err, "limits not loaded")).contains("a larger heap of the JVM allows");
      assertThat(spend(server)).contains("\"allowed\":true", "\"burst\":3");
    }
  }

  /** Errors that a library swallows: the heap is full, and nobody says so. */
  @Test
  void heapThatFillsUp_endsTheProcess_whoeverCatchesTheError() throws Exception {
    try (CliProcess cli = CliProcess.start(List.of("-Xmx32m"), Map.of(), Hoarder.class);
        BufferedReader err = cli.err()) {
      assertThat(until(err, "sluice: out of memory")).contains("SLUICE_OPTS=-Xmx2g");
      assertThat(cli.process().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(cli.process().exitValue()).isEqualTo(71);
    }
  }

  /** Takes all memory, as an event loop does that logs an error and goes on. */
  static final class Hoarder {
    static final List<byte[]> HOARD = new ArrayList<>();

    public static void main(String[] args) {
      OutOfMemoryExit.install();
      while (true) {
        try {
          HOARD.add(new byte[1024]);
        } catch (OutOfMemoryError e) {
          Thread.onSpinWait();
        }
      }
    }
  }

  @Test
  void storeThatIsAway_isToldAtTheStart_withoutItsPassword() throws Exception {
    try (CliProcess cli =
            CliProcess.start(
                "serve", "--http", "127.0.0.1:0", "--store", "redis://app:S3cret@127.0.0.1:1/0");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(until(err, "does not answer yet"))
          .contains("sluice: the store does not answer yet: 127.0.0.1:1: ")
          .doesNotContain("S3cret");
      assertThat(get(server + "/readyz")).contains("\"incident\"").doesNotContain("127.0.0.1:1");
      assertThat(until(err, "incident")).contains("127.0.0.1:1: ");
    }
  }

  @Test
  void storeThatIsAway_leavesAServerReadyThatDecidesWithoutIt() throws Exception {
    for (String rule : List.of("local:2", "deny")) {
      try (CliProcess cli =
              CliProcess.start(
                  "serve",
                  "--http",
                  "127.0.0.1:0",
                  "--store",
                  "redis://127.0.0.1:1/0",
                  "--on-failure",
                  rule,
                  "--ready-without-store");
          BufferedReader err = cli.err()) {
        if (rule.equals("deny")) {
          assertThat(until(err, "--ready-without-store has no effect")).contains("fail or deny");
        }
        String ready = get(untilReady(err) + "/readyz");
        assertThat(ready.contains("incident"))
            .as(rule + ": " + ready)
            .isEqualTo(rule.equals("deny"));
      }
    }
  }

  /** The server counts itself in the database, and limits by its own share when tables are lost. */
  @Test
  void localAuto_countsTheServersInADatabase() throws Exception {
    String db = LocalPostgres.newDatabase();
    assertThat(Cli.run("store", "create", db).code()).isEqualTo(Exit.DONE);
    try (CliProcess cli =
            CliProcess.start(
                "serve", "--http", "127.0.0.1:0", "--store", db, "--on-failure", "local:auto");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      await()
          .atMost(PATIENCE)
          .until(() -> get(server + "/metrics").contains("\nsluice_servers 1.0"));
      assertThat(get(server + "/v1/stats")).contains("\"servers\":[\"");
      try (Connection connection = PostgresUrl.dataSource(db).getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute("DROP TABLE sluice_bucket");
      }
      await().atMost(PATIENCE).until(() -> spend(server).contains("\"decidedBy\":\"local\""));
      await()
          .atMost(PATIENCE)
          .until(() -> get(server + "/v1/stats").contains("local:1 (servers seen: 1)"));
    }
  }

  @Test
  void tableOfOverrides_isFollowed_andServerIsNotReadyWithoutIt() throws Exception {
    String db = LocalPostgres.newDatabase();
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--overrides-db",
                db,
                "--overrides-interval",
                "100ms");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(get(server + "/readyz")).contains("has not been read yet");
      assertThat(until(err, "could not read the table"))
          .contains("Z WARN OverridesRefresher - ", "rate_limit_overrides");
      assertThat(spend(server)).contains("\"burst\":100");
      await()
          .atMost(PATIENCE)
          .until(() -> get(server + "/metrics").contains("ratelimits_overrides_errors 1.0"));
      assertThat(get(server + "/metrics"))
          .as("never loaded, so of no age")
          .contains("ratelimits_overrides_timestamp_seconds NaN")
          .contains("ratelimits_overrides_age_seconds NaN");

      assertThat(Cli.run("overrides", "migrate", "--db", db).code()).isEqualTo(Exit.DONE);
      await()
          .atMost(PATIENCE)
          .until(() -> get(server + "/metrics").contains("ratelimits_overrides_errors 0.0"));
      assertThat(
              Cli.run(
                      "overrides",
                      "add",
                      "ApiCallsPerKey",
                      "k",
                      "--burst",
                      "7",
                      "--count",
                      "1",
                      "--period",
                      "1h",
                      "--db",
                      db)
                  .code())
          .isEqualTo(Exit.DONE);

      await().atMost(PATIENCE).until(() -> spend(server).contains("\"burst\":7"));
      await() // limits, metrics and readiness change one after the other
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                assertThat(get(server + "/metrics"))
                    .contains("ratelimits_overrides_active{limit=\"ApiCallsPerKey\"} 1.0")
                    .contains("ratelimits_overrides_errors 0.0")
                    .doesNotContain("ratelimits_overrides_timestamp_seconds NaN");
                assertThat(get(server + "/readyz")).contains("\"ready\"");
              });
    }
  }

  @Test
  void snapshot_keepsBucketsOverARestart(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("buckets");
    Path limits = Files.writeString(folder.resolve("limits.yml"), limitsOf(100));
    String[] serve = {
      "serve", "--http", "127.0.0.1:0", "--limits", limits.toString(), "--snapshot", file.toString()
    };
    try (CliProcess cli = CliProcess.start(serve);
        BufferedReader err = cli.err()) {
      assertThat(spend(untilReady(err))).contains("\"remaining\":99");
      cli.process().toHandle().destroy();
      assertThat(cli.process().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }
    try (CliProcess cli = CliProcess.start(serve);
        BufferedReader err = cli.err()) {
      assertThat(spend(untilReady(err))).contains("\"remaining\":98");
    }
    Files.writeString(file, "SLUICE");
    Cli torn = Cli.run("serve", "--http", ":0", "--snapshot", file.toString());
    assertThat(torn.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(torn.err())
        .contains("--snapshot: " + file, "not written completely", "move the file away");
  }

  @Test
  void snapshot_thatFails_isLoggedAndCounted_andTheServerGoesOn(@TempDir Path folder)
      throws Exception {
    Path state = Files.createDirectory(folder.resolve("state"));
    Path file = state.resolve("buckets");
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--snapshot",
                file.toString(),
                "--snapshot-interval",
                "50ms");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(get(server + "/metrics"))
          .contains("\nsluice_snapshot_failures_total 0.0")
          .contains("\nsluice_snapshot_timestamp_seconds ");
      Path away = Files.move(state, folder.resolve("away"));

      assertThat(until(err, "snapshot not written")).contains(file.toString(), "does not exist");
      await()
          .atMost(PATIENCE)
          .until(() -> !get(server + "/metrics").contains("sluice_snapshot_failures_total 0.0"));
      assertThat(spend(server)).contains("\"allowed\":true");

      Files.move(away, state);
      assertThat(until(err, "snapshots are written again")).contains(file.toString());
    }
  }

  @Test
  void mistakesInLimitFiles_areNotThoseOfTheOverrides(@TempDir Path folder) throws Exception {
    Path limits = Files.writeString(folder.resolve("limits.yml"), limitsOf(100));
    Path overrides =
        Files.writeString(
            folder.resolve("overrides.yml"),
            "- ApiCallsPerKey: {burst: 7, count: 7, period: 1h, ids: [a]}\n");
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--limits",
                limits.toString(),
                "--overrides",
                overrides.toString());
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(get(server + "/metrics"))
          .doesNotContain("ratelimits_overrides_timestamp_seconds NaN")
          .contains("\nratelimits_limit_files_errors 0.0", "\nratelimits_overrides_errors 0.0");

      Files.writeString(limits, limitsOf(100).replace("100", "lots"));
      await()
          .atMost(PATIENCE)
          .until(() -> get(server + "/metrics").contains("ratelimits_limit_files_errors 1.0"));
      assertThat(get(server + "/metrics")).contains("\nratelimits_overrides_errors 0.0");

      Files.writeString(
          overrides, "- ApiCallsPerKey: {burst: some, count: x, period: 1h, ids: [a]}\n");
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(get(server + "/metrics"))
                      .contains("\nratelimits_limit_files_errors 3.0")
                      .contains("\nratelimits_overrides_errors 2.0"));
    }
  }

  @Test
  void snapshot_thatCanNotBe_isRefused(@TempDir Path folder) {
    Cli redis =
        Cli.run("serve", "--http", ":0", "--store", "redis://127.0.0.1", "--snapshot", "buckets");
    assertThat(redis.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(redis.err())
        .contains("--snapshot works with the memory store only; redis://127.0.0.1");
    Cli missing = Cli.run("serve", "--http", ":0", "--snapshot", folder + "/no/buckets");
    assertThat(missing.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(missing.err()).contains("does not exist");
    Cli period = Cli.run("serve", "--http", ":0", "--snapshot-interval", "0s");
    assertThat(period.err()).contains("--snapshot-interval: found 0s, expected a duration > 0");
    Cli alone = Cli.run("serve", "--http", ":0", "--snapshot-interval", "10s");
    assertThat(alone.err()).contains("--snapshot-interval requires --snapshot FILE");
  }

  @Test
  void limitThatIsAskedFor_andHasNoDefault_isRefusedAtTheStart(@TempDir Path folder)
      throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("l.yml"), "LoginsPerIPAddress: {burst: 1, count: 1, period: 1s}\n");
    for (String[] option :
        List.of(
            new String[] {"--for", "SignUpsPerIPAddress"},
            new String[] {"--on-failure", "SignUpsPerIPAddress=deny"})) {
      Cli run =
          Cli.run("serve", "--http", ":0", "--limits", limits.toString(), option[0], option[1]);
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err())
          .contains("SignUpsPerIPAddress has no default, but " + option[0] + " requires one");
    }
    Cli unknown = Cli.run("serve", "--http", ":0", "--for", "SignUpsPerIpAddress");
    assertThat(unknown.err()).contains("did you mean \"SignUpsPerIPAddress\"?");
    Cli policy = Cli.run("serve", "--http", ":0", "--missing-default", "maybe");
    assertThat(policy.err()).contains("expected refuse, warn or allow");
  }

  @Test
  void mistakesOfFlags_areToldTogether_andEachOfARepeatedOne() {
    Cli run =
        Cli.run(
            "serve",
            "--missing-default=foo",
            "--log-format=x",
            "--on-failure=zzz,yyy",
            "--otlp-traced=7",
            "--otlp-interval=0s",
            "--host=a/b,c/d",
            "--trusted-proxies=lan,wan");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err().lines().map(line -> line.replaceAll(", (expected|or) .*", "")))
        .containsExactlyInAnyOrder(
            "--missing-default: found \"foo\"",
            "--log-format: found \"x\"",
            "--on-failure: found \"zzz\"",
            "--on-failure: found \"yyy\"",
            "--otlp-traced: found \"7\"",
            "--otlp-interval: found 0s",
            "--host: found \"a/b\"",
            "--host: found \"c/d\"",
            "--trusted-proxies: found \"lan\"",
            "--trusted-proxies: found \"wan\"",
            "sluice: the configuration has mistakes; nothing was started");
  }

  @Test
  void unknownLimitsOfFlags_areToldTogether_eachWithItsFlag() {
    Cli run = Cli.run("serve", "--http", ":0", "--for", "Nope,Nada", "--on-failure", "Nix=deny");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err().lines())
        .hasSize(4)
        .anyMatch(line -> line.startsWith("--for: ") && line.contains("Nope"))
        .anyMatch(line -> line.startsWith("--for: ") && line.contains("Nada"))
        .anyMatch(line -> line.startsWith("--on-failure: ") && line.contains("Nix"));
  }

  @Test
  void port_thatIsTaken_isRefused() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Cli run = Cli.run("serve", "--http", "127.0.0.1:" + taken.getLocalPort());
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err()).contains("can't listen on 127.0.0.1:" + taken.getLocalPort(), "in use");
      assertThat(run.err().lines()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nonsense", "127.0.0.1:99999", "", "192.0.2.1:0"})
  void address_thatCanNotBeOpened_isRefused(String address) {
    Cli run = Cli.run("serve", "--insecure", "--http", address);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .containsAnyOf("expected host:port", "expected an address of this machine");
    assertThat(run.err().lines()).hasSize(1);
  }

  @Test
  void store_orFile_thatIsWrong_isRefused(@TempDir Path folder) throws IOException {
    Cli store = Cli.run("serve", "--http", ":0", "--store", "memcached://localhost:11211");
    assertThat(store.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(store.err()).contains("--store: found the store \"memcached://localhost:11211\"");
    Path bad = Files.writeString(folder.resolve("bad.yml"), "Nope:\n  burst: 1\n  count: 1\n");
    Cli limits = Cli.run("serve", "--http", ":0", "--limits", bad.toString());
    assertThat(limits.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(limits.err()).contains(bad + ":1:1: ", "found the name \"Nope\"");
  }

  @Test
  void rules_orProxies_thatAreWrong_areRefused(@TempDir Path folder) throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: 1, count: 1, period: 1s}\n");
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"), "rules: [{path: /, limit: LoginsPerIPAddress, id: x}]\n");
    Cli alone = Cli.run("serve", "--http", ":0", "--rules", rules.toString());
    assertThat(alone.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(alone.err()).contains("--rules requires --limits FILE");
    Cli bad =
        Cli.run(
            "serve", "--http", ":0", "--limits", limits.toString(), "--rules", rules.toString());
    assertThat(bad.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(bad.err()).contains(rules + ":1:26: found LoginsPerIPAddress, which has no default");
    Cli proxies = Cli.run("serve", "--http", ":0", "--trusted-proxies", "10.0.0.0/8,lan");
    assertThat(proxies.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(proxies.err()).contains("--trusted-proxies: found \"lan\", expected an address");
    Cli header =
        Cli.run("serve", "--http", ":0", "--trusted-proxies", "10.0.0.1", "--proxy-header", "Via");
    assertThat(header.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(header.err())
        .contains("--proxy-header: found \"Via\", expected forwarded or x-forwarded-for");
    Cli unused = Cli.run("serve", "--http", ":0", "--proxy-header", "Via");
    assertThat(unused.code()).as("without trusted proxies too").isEqualTo(Exit.BROKEN_INPUT);
    assertThat(unused.err()).contains("--proxy-header: found \"Via\"");
    Path config = Files.writeString(folder.resolve("config.yml"), "proxy-header: forwarded\n");
    Cli ignored = Cli.run("serve", "--http", ":0", "--config", config.toString());
    assertThat(ignored.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(ignored.err()).contains("--proxy-header requires --trusted-proxies RANGE");
  }

  @Test
  void redisThatIsAway_isAnsweredForByTheFailureRules_andSeenInTheMetrics(@TempDir Path folder)
      throws Exception {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            limitsOf(100) + "LoginsPerIPAddress:\n  burst: 9\n  count: 1\n  period: 1h\n");
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--store",
                redis.uri() + "?timeout=10s&failures=2&probe=100ms&denials=off&queue=1000",
                "--limits",
                limits.toString(),
                "--on-failure",
                "local:4",
                "--on-failure",
                "LoginsPerIPAddress=deny");
        BufferedReader err = cli.err()) {
      String server = untilReady(err);
      assertThat(spend(server)).contains("\"allowed\":true", "\"remaining\":99");
      assertThat(get(server + "/metrics"))
          .contains("ratelimits_redis_call_latency_count{result=\"answered\",server=\"redis-1\"} 1")
          .contains("ratelimits_redis_up{server=\"redis-1\"} 1.0");
      assertThat(until(err, "redis-1 is")).as("only the log").contains(redis.address());
      redis.kill();
      assertThat(spend(server)).contains("\"allowed\":true", "\"remaining\":24");
      assertThat(post(server, "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"}"))
          .contains("\"allowed\":false");
      assertThat(until(err, "marked ")).contains(redis.address());
      assertThat(spend(server)).contains("\"remaining\":23");
      assertThat(get(server + "/metrics"))
          .contains("ratelimits_redis_up{server=\"redis-1\"} 0.0")
          .contains("ratelimits_redis_refused_total{reason=\"down\",server=\"redis-1\"} 1.0");
      redis.startAgain();
      await().atMost(PATIENCE).until(() -> spend(server).contains("\"remaining\":9"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "sometimes, 'found \"sometimes\", expected fail, allow, deny, local:N'",
    "local:0, 'found \"local:0\"'",
    "'local:auto,0', 'found \"local:auto,0\"'",
    "local:auto2, 'found \"local:auto2\"'",
    "'local:4,4', 'found \"4\"'",
    "'LoginsPerIPAddress=local:auto,x', 'found \"x\"'",
    "'local:auto,3', 'local:auto needs a shared store that uses its own clock, found the store memory'",
    "'LoginsPerIPAddress=local:auto,3', 'found the store memory; give the number of servers instead, such as local:4'",
    "LoginsPerIPAdress=deny, 'did you mean \"LoginsPerIPAddress\"?'",
    "LoginsPerIPAddress=, '\"LoginsPerIPAddress=\": found \"\"'",
  })
  void failureRule_thatIsWrong_isRefused(String rule, String says) {
    Cli run = Cli.run("serve", "--http", ":0", "--on-failure", rule);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("--on-failure: ", says);
    Cli twice = Cli.run("serve", "--http", ":0", "--on-failure", "deny", "--on-failure", "allow");
    assertThat(twice.err()).contains("found a rule for all limits twice");
  }

  @Test
  void addressBeyondLoopback_isRefused_andSaysWhatToDo() {
    Cli run = Cli.run("serve", "--http", "0.0.0.0:0");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .startsWith("sluice: 0.0.0.0:0 is not loopback")
        .contains("--tls-certificate FILE", "--plaintext", "--tokens FILE", "--open");
    assertThat(Cli.run("serve", "--http", "0.0.0.0:0", "--plaintext").err())
        .contains("everybody who reaches the port could spend", "--tokens FILE", "--open")
        .doesNotContain("--tls-certificate");
    assertThat(Cli.run("serve", "--http", "0.0.0.0:0", "--open").err())
        .contains("nothing would be encrypted", "--plaintext")
        .doesNotContain("--tokens");
    Cli alone = Cli.run("serve", "--http", ":0", "--tls-certificate", "any");
    assertThat(alone.err()).contains("--tls-certificate requires --tls-key FILE");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void hangUp_thatTheProcessIgnores_isWarnedOf() throws Exception {
    try (CliProcess cli = CliProcess.startIgnoringHangUp("serve", "--http", "127.0.0.1:0");
        BufferedReader err = cli.err()) {
      assertThat(until(err, "SIGHUP")).contains("SIGHUP is ignored", "POST /v1/admin/reload");
    }
  }

  @Test
  void hangUp_readsTheFilesAtOnce_changedOrNot(@TempDir Path folder) throws Exception {
    Path limits = Files.writeString(folder.resolve("limits.yml"), limitsOf(3));
    try (CliProcess cli =
            CliProcess.start("serve", "--http", "127.0.0.1:0", "--limits", limits.toString());
        BufferedReader err = cli.err()) {
      assertThat(until(err, "limits loaded")).contains("1 default,");
      var unused = until(err, "listening");
      Process kill = new ProcessBuilder("kill", "-HUP", "" + cli.process().pid()).start();
      assertThat(kill.waitFor()).isZero();
      assertThat(until(err, "limits loaded")).contains("1 default,");
    }
  }

  @Test
  void sampleLimits_areThoseOfTheExample() {
    Limits example = LimitFiles.of(Path.of("../examples/limits/samples.yml")).load();
    Limits sample = SampleLimits.make();
    for (LimitName name : Catalogue.samples().names()) {
      Quota quota = example.defaultFor(example.catalogue().get(name.name()));
      assertThat(sample.defaultFor(name)).as(name.name()).isNotNull().isEqualTo(quota);
    }
  }

  private static String limitsOf(int burst) {
    return "ApiCallsPerKey:\n  burst: " + burst + "\n  count: 1\n  period: 1h\n";
  }

  private static String untilReady(BufferedReader err) throws IOException {
    Matcher ready = READY.matcher(until(err, "listening"));
    assertThat(ready.matches()).isTrue();
    return ready.group(1);
  }

  private static String until(BufferedReader lines, String word) throws IOException {
    String line = lines.readLine();
    while (line != null && !line.contains(word)) {
      line = lines.readLine();
    }
    assertThat(line).as("a line with " + word).isNotNull();
    return line;
  }

  private static String spend(String server) {
    return post(server, "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}");
  }

  private static String post(String server, String body) {
    return send(
        HttpRequest.newBuilder(URI.create(server + "/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build());
  }

  private static String get(String address) {
    return send(HttpRequest.newBuilder(URI.create(address)).build());
  }

  private static String send(HttpRequest request) {
    try {
      return CLIENT.send(request, BodyHandlers.ofString()).body();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
