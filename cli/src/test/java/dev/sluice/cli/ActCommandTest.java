// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.Generations;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ActCommandTest {

  @TempDir Path folder;

  private Cli run(String store, String... act) throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "NewOrdersPerAccount: {burst: 3, count: 3, period: 24h}\n");
    String[] args = new String[act.length + 4];
    System.arraycopy(act, 0, args, 0, act.length);
    args[act.length] = "--limits";
    args[act.length + 1] = limits.toString();
    args[act.length + 2] = "--store";
    args[act.length + 3] = store;
    return Cli.run(args);
  }

  @Test
  void acts_onALiveStore_sayWhatTheyDidByTheirExitCode() throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      String store = redis.uri() + "?timeout=10s";
      assertThat(run(store, "check", "NewOrdersPerAccount", "17").out())
          .startsWith("{\"allowed\":true,")
          .contains("\"limit\":\"NewOrdersPerAccount\",\"id\":\"17\",", "\"remaining\":2,");
      Cli spent = run(store, "spend", "NewOrdersPerAccount", "17", "--cost", "3");
      assertThat(spent.code()).isZero();
      assertThat(spent.out()).startsWith("{\"allowed\":true,").contains("\"remaining\":0,");
      Cli denied = run(store, "spend", "NewOrdersPerAccount", "17");
      assertThat(denied.code()).isEqualTo(Exit.NO);
      assertThat(denied.err()).contains("too many new orders (3)");
      assertThat(run(store, "refund", "NewOrdersPerAccount", "17").code()).isZero();
      Cli reset = run(store, "reset", "NewOrdersPerAccount", "17");
      assertThat(reset.out()).isEqualTo("{\"reset\":true}\n");
      assertThat(redis.command("EXISTS", "3:17")).isEqualTo(0L);
      assertThat(run(store, "refund", "NewOrdersPerAccount", "17").code()).isEqualTo(Exit.NO);
    }
  }

  @Test
  void spendUpTo_takesWhatIsThere() throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      String store = redis.uri() + "?timeout=10s";
      String[] act = {"spend", "NewOrdersPerAccount", "17", "--cost", "9", "--up-to"};
      Cli took = run(store, act);
      assertThat(took.code()).isZero();
      assertThat(took.out()).startsWith("{\"taken\":3,\"allowed\":true,");
      Cli none = run(store, act);
      assertThat(none.code()).isEqualTo(Exit.NO);
      assertThat(none.out()).startsWith("{\"taken\":0,\"allowed\":false,");
    }
    String nobody = "redis://127.0.0.1:1";
    assertThat(run(nobody, "spend", "NewOrdersPerAccount", "17", "--up-to").err())
        .contains("--up-to requires --cost, the most tokens to spend");
    assertThat(run(nobody, "check", "NewOrdersPerAccount", "17", "--cost", "2", "--up-to").err())
        .contains("--up-to is for sluice spend");
  }

  /** Each run is a process of its own: a debt forgiven by each would be tokens without bound. */
  @Test
  void spend_underASmallerTolerance_forgivesNoDebt() throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      String store = redis.uri() + "?timeout=10s";
      assertThat(run(store, "spend", "NewOrdersPerAccount", "17", "--cost", "3").code()).isZero();
      Object tat = redis.command("GET", "3:17");
      Path faster = folder.resolve("faster.yml");
      Files.writeString(faster, "NewOrdersPerAccount: {burst: 3, count: 6, period: 24h}\n");
      Cli denied =
          Cli.run(
              "spend",
              "NewOrdersPerAccount",
              "17",
              "--limits",
              faster.toString(),
              "--store",
              store);
      assertThat(denied.code()).isEqualTo(Exit.NO);
      assertThat(redis.command("GET", "3:17")).isEqualTo(tat);
      assertThat(denied.out()).containsPattern("\"retryInSeconds\":57[56][0-9]{2}[.,]");
    }
  }

  @Test
  void unreachableStore_endsWithThree() throws IOException {
    Cli run = run("redis://127.0.0.1:1/0", "spend", "NewOrdersPerAccount", "17");
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err())
        .startsWith("sluice: ")
        .contains("127.0.0.1:1", "connection refused")
        .doesNotContain("at dev.sluice", "(..)", "-111");
    assertThat(run.out()).isEmpty();
  }

  @Test
  void brokenInput_endsWithTwoAndSaysWhat() throws IOException {
    Cli store = run("redsi://localhost", "check", "NewOrdersPerAccount", "17");
    assertThat(store.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(store.err()).contains("--store: ").contains("did you mean \"redis\"?");
    Cli secret = run("redis://app:S3 cret@h", "check", "NewOrdersPerAccount", "17");
    assertThat(secret.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(secret.err()).contains("--store: ").doesNotContain("S3").doesNotContain("cret");
    Cli misplaced = Cli.run("check", "a", "b", "redis://app:S3cret@h", "--store", "memory");
    assertThat(misplaced.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(misplaced.err()).doesNotContain("S3cret");
    String nobody = "redis://127.0.0.1:1";
    Cli cost = run(nobody, "spend", "NewOrdersPerAccount", "17", "--cost", "4");
    assertThat(cost.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(cost.err()).contains("exceeds the burst (3)");
    assertThat(run(nobody, "reset", "NewOrdersPerAccount", "17", "--cost", "1").err())
        .contains("reset takes no --cost: it always fills the bucket");
    Cli limits = Cli.run("check", "NewOrdersPerAccount", "17", "--store", nobody);
    assertThat(limits.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(limits.err()).contains("the option --limits FILE is missing");
  }

  /** Before a store is opened: there is none here. */
  @Test
  void limitThatIsNotConfigured_isRefused_asAServerDoes() throws IOException {
    String nobody = "redis://127.0.0.1:1";
    for (String act : List.of("check", "spend", "refund", "reset")) {
      Cli run = run(nobody, act, "ApiCallsPerKey", "k");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err())
          .isEqualTo(
              "sluice: ApiCallsPerKey has no default; write burst, count and period, or"
                  + " \"ApiCallsPerKey: {unlimited: true}\"\n");
    }
  }

  @Test
  void limitThatIsUnlimitedOrDisabled_isAllowed_andOneWithOverridesAloneIsRefused()
      throws IOException {
    Path limits =
        Files.writeString(folder.resolve("free.yml"), "ApiCallsPerKey: {unlimited: true}\n");
    Path overrides =
        Files.writeString(
            folder.resolve("overrides.yml"),
            """
            - NewOrdersPerAccount: {burst: 1, count: 1, period: 1h, ids: [1]}
            - SignUpsPerIPAddress: {burst: 1, count: 1, period: 1h, ids: [192.0.2.7]}
            """);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      for (String[] bucket :
          List.of(
              new String[] {"ApiCallsPerKey", "k"}, new String[] {"NewOrdersPerAccount", "2"})) {
        Cli run =
            Cli.run(
                "check",
                bucket[0],
                bucket[1],
                "--limits",
                limits.toString(),
                "--overrides",
                overrides.toString(),
                "--store",
                redis.uri() + "?timeout=10s");
        assertThat(run.out()).contains("\"allowed\":true,\"limited\":false");
        assertThat(run.code()).isZero();
      }
      for (String act : List.of("check", "spend", "refund", "reset")) {
        Cli refused =
            Cli.run(
                act,
                "SignUpsPerIPAddress",
                "192.0.2.8",
                "--limits",
                limits.toString(),
                "--overrides",
                overrides.toString(),
                "--store",
                redis.uri() + "?timeout=10s");
        assertThat(refused.code()).as(act).isEqualTo(Exit.BROKEN_INPUT);
        assertThat(refused.err()).startsWith("sluice: SignUpsPerIPAddress has no default; write ");
        assertThat(refused.out()).isEmpty();
      }
    }
  }

  @Test
  void memoryStore_isRefused_sinceItWouldBeGoneAtOnce() throws IOException {
    for (String act : List.of("check", "spend", "refund", "reset")) {
      Cli run = run("memory", act, "NewOrdersPerAccount", "17");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err()).contains("lost when this command ends", "--server URL");
    }
    assertThat(Cli.run("check", "NewOrdersPerAccount", "17").err())
        .contains("expected --server URL");
  }

  @Test
  void fileThatIsNoPem_isToldWithItsOption() throws IOException {
    String file = Files.writeString(folder.resolve("ca.pem"), "S3cret").toString();
    String url = "https://localhost:1";
    Cli check = Cli.run("check", "Logins", "a", "--server", url, "--cacert", file);
    assertThat(check.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(check.err())
        .contains("--cacert: %s: no readable certificate; write PEM that starts".formatted(file))
        .doesNotContain("S3cret");
  }

  @Test
  void server_isAskedForEachAct() {
    try (LiveServer server = new LiveServer()) {
      String[] where = {"LoginsPerIPAddress", "192.0.2.7", "--server", server.url() + "/"};
      assertThat(act("check", where).out()).contains("\"allowed\":true", "\"remaining\":9,");
      Cli spent = act("spend", where, "--cost", "10");
      assertThat(spent.code()).isZero();
      assertThat(spent.out()).contains("\"remaining\":0,", "\"resetInSeconds\":60}");
      Cli denied = act("spend", where);
      assertThat(denied.code()).isEqualTo(Exit.NO);
      assertThat(denied.err()).contains("too many login");
      assertThat(act("refund", where).code()).isZero();
      assertThat(act("reset", where).out()).isEqualTo("{\"reset\":true}\n");
      assertThat(act("refund", where).code()).isEqualTo(Exit.NO);

      Cli unknown = Cli.run("spend", "Logins", "a", "--server", server.url());
      assertThat(unknown.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(unknown.err()).contains("no limit has the name \"Logins\"");
      String https = server.url().replace("http:", "https:");
      Cli encrypted = Cli.run("check", "LoginsPerIPAddress", "192.0.2.7", "--server", https);
      assertThat(encrypted.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(encrypted.err()).contains("if the server has no TLS, use http://");
      Cli both = act("spend", where, "--store", "redis://h");
      assertThat(both.err()).contains("--store and --server contradict each other");
      Cli password = act("spend", where, "--store-password-file", "p");
      assertThat(password.err()).contains("a store password and --server contradict each other");
      Cli mistakes =
          Cli.run("spend", "LoginsPerIPAddress", "lol", "--cost=-1", "--server", server.url());
      assertThat(mistakes.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(mistakes.err())
          .startsWith("sluice: 2 mistakes: ")
          .contains("is not an IP address", "; ", "must be >= 0")
          .doesNotContain("see errors");
    }
  }

  @Test
  void tokenThatLeavesTheMachineUnencrypted_isWarnedOf() throws IOException {
    Path token = Files.writeString(folder.resolve("token"), "s3cret\n");
    for (String url : List.of("http://127.0.0.1:1", "http://[::1]:1", "https://0.0.0.0:1")) {
      assertThat(checkWith(token, url).err()).doesNotContain("warning");
    }

    Cli warned = checkWith(token, "http://0.0.0.0:1");

    assertThat(warned.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(warned.err())
        .startsWith("warning: the token is sent to http://0.0.0.0:1 unencrypted; use https://")
        .doesNotContain("s3cret");
  }

  @ParameterizedTest
  @ValueSource(strings = {"s3\rcret", "s3 cret", "s3cr\u00e9t", "s3\u0000cret", "s3\ncret"})
  void tokenThatNoHeaderCanHold_isRefused_andNeverPrinted(String secret) throws Exception {
    Path file = Files.writeString(folder.resolve("token"), secret);
    String url = "http://127.0.0.1:1";
    Cli grpc =
        Cli.run("certify", "grpc://127.0.0.1:1", "--token-file", file.toString(), "--limit", "A");

    for (Cli run : List.of(checkWith(file, url), grpc)) {
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err())
          .startsWith("sluice: --token-file: ")
          .contains("expected")
          .doesNotContain("s3");
    }
  }

  /** An editor writes the mark, and {@code echo token | base64} the line break. */
  @Test
  void tokenWithAByteOrderMarkAndALineBreak_isUsedWithoutThem() throws Exception {
    String token = "\ufeffs3cret \r\n";
    Path file = Files.writeString(folder.resolve("token"), token);
    List<String> seen = new CopyOnWriteArrayList<>();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        call -> {
          seen.add(call.getRequestHeaders().getFirst("Authorization"));
          call.sendResponseHeaders(403, -1);
          call.close();
        });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    try (CliProcess variable =
        CliProcess.start(Map.of("SLUICE_TOKEN", token), "limits", "--server", url)) {
      // The stub's answers are none of a Sluice server.
      assertThat(variable.process().waitFor()).isEqualTo(Exit.UNREACHABLE);
      assertThat(checkWith(file, url).code()).isEqualTo(Exit.UNREACHABLE);
    } finally {
      server.stop(0);
    }
    assertThat(seen).containsExactly("Bearer s3cret", "Bearer s3cret");
  }

  @Test
  void variableWithATokenThatNoHeaderCanHold_isRefused_andNeverPrinted() throws Exception {
    try (CliProcess run =
            CliProcess.start(
                Map.of("SLUICE_TOKEN", "s3\rcret"), "limits", "--server", "http://127.0.0.1:1");
        BufferedReader err = run.err()) {
      assertThat(err.lines())
          .containsExactly(
              "sluice: SLUICE_TOKEN: expected one line of at most 4096 bytes: the secret, and nothing"
                  + " else");
      assertThat(run.process().waitFor()).isEqualTo(Exit.BROKEN_INPUT);
    }
  }

  private static Cli checkWith(Path token, String url) {
    return Cli.run(
        "check",
        "LoginsPerIPAddress",
        "192.0.2.7",
        "--token-file",
        token.toString(),
        "--server",
        url);
  }

  @Test
  void people_getASentence_onATerminal_andJsonWhereTheyAskForIt() {
    System.setProperty("sluice.stdout.terminal", "true");
    try (LiveServer server = new LiveServer()) {
      String[] where = {"LoginsPerIPAddress", "192.0.2.7", "--server", server.url()};
      assertThat(act("check", where, "--cost", "0").out())
          .isEqualTo("allowed, remaining 10 of 10, full\n");
      assertThat(act("spend", where, "--cost", "5").out())
          .isEqualTo("allowed, remaining 5 of 10, full again in 30 s\n");
      assertThat(act("spend", where, "--cost", "5").out())
          .isEqualTo("allowed, remaining 0 of 10, next in 30 s, full again in 1 min\n");
      assertThat(act("spend", where).out())
          .isEqualTo("denied, remaining 0 of 10, retry in 6 s, full again in 1 min\n");
      assertThat(act("refund", where).out())
          .isEqualTo("given back, remaining 1 of 10, full again in 54 s\n");
      assertThat(act("reset", where).out()).isEqualTo("reset, the bucket is full\n");
      assertThat(act("refund", where).out())
          .isEqualTo("nothing given back, remaining 10 of 10, full\n");
      assertThat(act("check", where, "--json").out()).startsWith("{\"allowed\":true,");
    } finally {
      System.clearProperty("sluice.stdout.terminal");
    }
  }

  @Test
  void people_areToldOfAPenalty_thatARefundOrAResetDoesNotLift() {
    String penalty = "\"remaining\":0,\"penaltyUntil\":\"2100-01-01T00:00:00Z\"}";
    String end = ", but a penalty denies until 2100-01-01T00:00:00Z";
    assertThat(ActAnswer.parse("{\"reset\":true," + penalty).text(Act.RESET))
        .isEqualTo("reset, the bucket is full" + end);
    assertThat(ActAnswer.parse("{\"allowed\":true,\"burst\":9," + penalty).text(Act.REFUND))
        .isEqualTo("given back" + end);
  }

  @Test
  void people_areToldOfTheFailureRuleThatDecided_withoutFiguresThatNobodyKnows() {
    String since = " since the store does not answer";
    String blind = ",\"burst\":10,\"retryInNanos\":0}";
    assertThat(ActAnswer.parse("{\"allowed\":true,\"decidedBy\":\"allow\"" + blind).text(Act.SPEND))
        .isEqualTo("allowed, decided by the failure rule allow" + since);
    assertThat(
            ActAnswer.parse(
                    "{\"allowed\":false,\"decidedBy\":\"deny\",\"burst\":10,"
                        + "\"retryInNanos\":1000000000}")
                .text(Act.SPEND))
        .isEqualTo("denied, retry in 1 s, decided by the failure rule deny" + since);
    assertThat(
            ActAnswer.parse(
                    "{\"allowed\":true,\"decidedBy\":\"local\",\"remaining\":0,\"burst\":1,"
                        + "\"retryInNanos\":0,\"resetInNanos\":6000000000}")
                .text(Act.SPEND))
        .isEqualTo(
            "allowed, remaining 0 of 1, full again in 6 s, decided by the failure rule local"
                + since);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "spend LoginsPerIPAddress 192.0.2.7 | whether anything was charged is unknown",
        "check LoginsPerIPAddress 192.0.2.7 | nothing was charged",
        "why LoginsPerIPAddress 192.0.2.7   | nothing was charged",
        "reload                             | whether anything was changed is unknown",
        "reload --dry-run                   | nothing was changed",
        "rollback                           | whether anything was changed is unknown"
      })
  void answerThatIsLost_saysWhatIsUnknown(String command, String unknown) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> closed =
          aside(
              () -> {
                try (Socket client = server.accept()) {
                  var unused = client.getInputStream().read(new byte[1000]);
                  client
                      .getOutputStream()
                      .write("HTTP/1.1 200 OK\r\nContent-Le".getBytes(US_ASCII));
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      String url = "http://127.0.0.1:" + server.getLocalPort();
      Cli lost = Cli.run((command + " --server " + url).split(" "));
      assertThat(lost.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(lost.err()).contains("; " + unknown + "; ");
      closed.get(60, TimeUnit.SECONDS);
    }
  }

  /** The headers came in time: what bounds these alone waits for the body for ever. */
  @Test
  @Tag("slow")
  @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
  void answerWhoseBodyDoesNotCome_isGivenUp_andSaysThatTheChargeIsUnknown() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> leaving =
          aside(
              () -> {
                try (Socket client = server.accept()) {
                  client
                      .getOutputStream()
                      .write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".getBytes(US_ASCII));
                  var unused = client.getInputStream().readAllBytes();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      String url = "http://127.0.0.1:" + server.getLocalPort();
      Cli lost = Cli.run("spend", "LoginsPerIPAddress", "192.0.2.7", "--server", url);
      assertThat(lost.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(lost.err())
          .isEqualTo(
              "sluice: %s: no answer within 10 s; whether anything was charged is unknown\n"
                  .formatted(url));
      leaving.get(60, TimeUnit.SECONDS); // the connection is closed
    }
  }

  @Test
  void optionForAServer_isRefusedBesideAStore() throws IOException {
    Cli token = run("redis://127.0.0.1:1", "check", "A", "b", "--token-file", "nowhere");
    assertThat(token.err()).contains("--token-file and --store contradict each other");
    Cli tls = run("redis://127.0.0.1:1", "check", "A", "b", "--cacert", "nowhere");
    assertThat(tls.err()).contains("--cacert, --cert or --key and --store contradict each other");
  }

  @Test
  void serverThatIsNotThere_endsWithThree_inPlainWords() throws IOException {
    String nobody = "http://127.0.0.1:" + FreePort.next();
    Cli gone = Cli.run("check", "A", "b", "--server", nobody);
    assertThat(gone.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(gone.err())
        .isEqualTo("sluice: " + nobody + ": connection refused; is the server running?\n");
    Cli unknown = Cli.run("check", "A", "b", "--server", "http://nowhere.invalid");
    assertThat(unknown.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(unknown.err()).contains("the host is unknown");
    for (String url :
        List.of(
            "localhost:8080", "ftp://h", "http://", "http://u:S3cret@h", "http://h:99999", "a b")) {
      Cli bad = Cli.run("check", "A", "b", "--server", url);
      assertThat(bad.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(bad.err()).contains("--server: expected http://host:port").doesNotContain("S3");
    }
  }

  private static HttpServer answering(HttpHandler handler) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", handler);
    server.start();
    return server;
  }

  /** A part of an answer would look like a whole list of limits, or would be broken JSON. */
  @Test
  void answerAbove8MiB_isRefused_notCut() throws IOException {
    HttpServer large =
        answering(
            exchange -> {
              exchange.sendResponseHeaders(200, 0);
              try (OutputStream body = exchange.getResponseBody()) {
                body.write("[".repeat(9 << 20).getBytes(US_ASCII));
              }
            });
    try {
      String url = "http://127.0.0.1:" + large.getAddress().getPort();
      Cli limits = Cli.run("limits", "--json", "--server", url);
      assertThat(limits.err()).contains(url + ": the answer has more than 8 MiB");
      assertThat(limits.out()).isEmpty();
      assertThat(limits.code()).isEqualTo(Exit.UNREACHABLE);
    } finally {
      large.stop(0);
    }
  }

  @Test
  void serverThatIsSomethingElse_endsWithThree() throws IOException {
    HttpServer other =
        answering(
            exchange -> {
              byte[] page = "<html>".getBytes(UTF_8);
              int status = exchange.getRequestURI().getPath().endsWith("spend") ? 200 : 404;
              exchange.sendResponseHeaders(status, page.length);
              exchange.getResponseBody().write(page);
              exchange.close();
            });
    try {
      String url = "http://127.0.0.1:" + other.getAddress().getPort();
      Cli page = Cli.run("spend", "A", "b", "--server", url);
      assertThat(page.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(page.err()).contains("the answer does not come from a Sluice server");
      Cli nothing = Cli.run("check", "A", "b", "--server", url);
      assertThat(nothing.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(nothing.err()).contains("status 404, not from a Sluice server");
    } finally {
      other.stop(0);
    }
  }

  @Test
  void serverWithTls_askedByHttp_endsWithThree_andSaysHowToAsk() throws Exception {
    try (ServerSocket server =
        SSLContext.getDefault()
            .getServerSocketFactory()
            .createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> handshake =
          aside(
              () -> {
                try (SSLSocket client = (SSLSocket) server.accept()) {
                  client.startHandshake();
                } catch (IOException e) {
                  // It was no greeting of TLS.
                }
              });
      String url = "http://127.0.0.1:" + server.getLocalPort();
      Cli plain = Cli.run("check", "A", "b", "--server", url);
      assertThat(plain.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(plain.err()).contains("if the server has TLS, use https://");
      handshake.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void serverThatAsksForACertificate_isToldWithTheOptionsThatShowOne() throws Exception {
    Path keys = folder.resolve("keys.p12");
    Path authority = folder.resolve("ca.crt");
    String at = "-keystore %s -storepass changeit -alias a ".formatted(keys);
    keytool("-genkeypair -keyalg EC -dname CN=localhost -ext san=dns:localhost " + at);
    keytool("-exportcert -rfc -file " + authority + " " + at);
    KeyStore store = KeyStore.getInstance(keys.toFile(), "changeit".toCharArray());
    KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
    own.init(store, "changeit".toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own.getKeyManagers(), null, null);
    try (SSLServerSocket server =
        (SSLServerSocket)
            context
                .getServerSocketFactory()
                .createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      server.setNeedClientAuth(true);
      CompletableFuture<Void> accepting = aside(() -> accept(server));
      String url = "https://localhost:" + server.getLocalPort();
      Cli none = Cli.run("check", "A", "b", "--server", url, "--cacert", authority.toString());
      assertThat(none.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(none.err()).contains("--cert").doesNotContain("--cacert", "http://");
      Cli stranger = Cli.run("check", "A", "b", "--server", url);
      assertThat(stranger.err())
          .contains("no connection over TLS", "--cacert FILE names the authority")
          .doesNotContain("--cert ", "http://");
      server.close();
      accepting.get(60, TimeUnit.SECONDS);
    }
  }

  /**
   * On a thread of its own: on two cores, Java 25 has one thread for all, and the client needs it.
   */
  private static CompletableFuture<Void> aside(Runnable task) {
    return CompletableFuture.runAsync(task, run -> new Thread(run, "aside").start());
  }

  private static void accept(ServerSocket server) {
    while (!server.isClosed()) {
      try (SSLSocket client = (SSLSocket) server.accept()) {
        client.startHandshake();
      } catch (IOException e) {
        // The client shows no certificate, or the test is over.
      }
    }
  }

  private static void keytool(String words) throws Exception {
    String tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made = new ProcessBuilder((tool + " " + words.strip()).split(" ")).start();
    assertThat(made.waitFor()).isZero();
  }

  @Test
  void serverThatClosesTheConnection_isToldWithoutTheAdviceToDropTls() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> closing =
          aside(
              () -> {
                try {
                  server.accept().close();
                } catch (IOException e) {
                  // The test is over.
                }
              });
      Cli gone =
          Cli.run("spend", "A", "b", "--server", "https://127.0.0.1:" + server.getLocalPort());
      closing.join();
      assertThat(gone.code()).isEqualTo(Exit.UNREACHABLE);
      assertThat(gone.err())
          .contains("requires another client certificate, give it with --cert and --key")
          .doesNotContain("http://");
    }
  }

  @Test
  void storePassword_comesFromAFileOrTheEnvironment() throws Exception {
    Path secret = Files.writeString(folder.resolve("secret"), "p@ss:w/rd\n");
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      assertThat(redis.command("ACL", "SETUSER", "app", "on", ">p@ss:w/rd", "~*", "+@all"))
          .isEqualTo("OK");
      assertThat(redis.command("CONFIG", "SET", "requirepass", "other")).isEqualTo("OK");
      String store = redis.uri().replace("redis://", "redis://app@") + "?timeout=10s";

      Cli byFile =
          run(
              store,
              "check",
              "NewOrdersPerAccount",
              "17",
              "--store-password-file",
              secret.toString());
      assertThat(byFile.err()).isEmpty();
      assertThat(byFile.code()).isZero();
      assertThat(run(store, "check", "NewOrdersPerAccount", "17").code())
          .as("without it")
          .isEqualTo(Exit.UNREACHABLE);
      Path limits = folder.resolve("limits.yml");
      try (CliProcess byEnvironment =
          CliProcess.start(
              Map.of("SLUICE_STORE_PASSWORD", "p@ss:w/rd"),
              "check",
              "NewOrdersPerAccount",
              "17",
              "--limits",
              limits.toString(),
              "--store",
              store)) {
        assertThat(byEnvironment.out().readLine()).contains("\"allowed\":true");
      }
    }
  }

  @Test
  void password_givenInAWrongWay_isRefused_andNotShown() throws IOException {
    Path secret = Files.writeString(folder.resolve("secret"), "S3cret\n");
    String file = secret.toString();
    Cli twice =
        run(
            "redis://app:S3cret@h",
            "check",
            "NewOrdersPerAccount",
            "17",
            "--store-password-file",
            file);
    assertThat(twice.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(twice.err()).contains("give only one").doesNotContain("S3cret");
    Cli memory = Cli.run("serve", "--store-password-file", file);
    assertThat(memory.err()).contains("--store-password-file: the store memory does not use this");
    Cli sentinel =
        run("redis://h", "check", "NewOrdersPerAccount", "17", "--sentinel-password-file", file);
    assertThat(sentinel.err()).contains("--sentinel-password-file: the store redis://h does not");
    Path empty = Files.createFile(folder.resolve("empty"));
    Cli none =
        run(
            "redis://h",
            "check",
            "NewOrdersPerAccount",
            "17",
            "--store-password-file",
            empty.toString());
    assertThat(none.err()).contains("expected one line of at most 4096 bytes: the secret");
    Files.write(empty, new byte[] {'k', (byte) 0xff, (byte) 0xfe});
    Cli binary =
        run("redis://h", "check", "NewOrdersPerAccount", "17", "--store-password-file", "" + empty);
    assertThat(binary.err())
        .contains("--store-password-file: " + empty + ": expected text in UTF-8")
        .doesNotContain("openssl"); // random text is not the password of a store
    Cli key = Cli.run("serve", "--token-key-file", empty.toString());
    assertThat(key.err()).contains("expected text in UTF-8, such as from openssl rand -base64 32");
    Cli missing =
        run("redis://h", "check", "NewOrdersPerAccount", "17", "--store-password-file", "/no/file");
    assertThat(missing.err()).contains("/no/file: there is no such file");
  }

  private static Cli act(String act, String[] where, String... more) {
    return Cli.run(
        Stream.of(new String[] {act}, where, more).flatMap(Stream::of).toArray(String[]::new));
  }

  /** A server on a free port, whose clock stands still. */
  private static final class LiveServer implements AutoCloseable {
    private final BucketStore store = BucketStore.inMemory(new ManualTime());
    private final Limiter limiter = Limiter.of(SampleLimits.make(), store);
    private final SluiceServer server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ConnectionBudget.usual())
            .part(
                new HttpPart(
                    limiter,
                    store,
                    new Reservations(limiter, store, TokenKey.random()),
                    store::ping,
                    AuditLog.none(),
                    new Generations(),
                    Denials.none()))
            .start();

    String url() {
      return "http://" + HostPort.format(server.address());
    }

    @Override
    public void close() {
      server.close();
      store.close();
    }
  }

  @Test
  void passwordFileThatNobodyWritesTo_isGivenUp(@TempDir Path folder) throws Exception {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Cli run =
        run(
            "redis://127.0.0.1:1",
            "check",
            "NewOrdersPerAccount",
            "17",
            "--store-password-file",
            pipe.toString());
    assertThat(run.err()).contains("could not be opened within 2 s");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }
}
