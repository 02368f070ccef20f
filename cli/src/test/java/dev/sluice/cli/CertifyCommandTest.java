// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.protobuf.InvalidProtocolBufferException;
import com.linecorp.armeria.common.AggregatedHttpRequest;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.SessionProtocol;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitResponse.RateLimit;
import dev.sluice.envoy.RateLimitUnit;
import dev.sluice.gcra.Quota;
import dev.sluice.server.net.HostPort;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sluice by each of its doors, a GCRA in Lua on a Redis, and limiters that are wrong. */
@Tag("slow")
final class CertifyCommandTest {

  /** Answers commands of one connection after the other's, each on a thread. */
  private static final class Server implements AutoCloseable {
    private final ServerSocket socket;

    Server(Function<List<String>, String> answer) throws IOException {
      this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      daemon(
          () -> {
            while (!socket.isClosed()) {
              Socket client = socket.accept();
              daemon(() -> serve(client, answer));
            }
          });
    }

    private interface Task {
      void run() throws IOException;
    }

    private static void daemon(Task task) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  task.run();
                } catch (IOException e) {
                  // The client or the server has gone.
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    private static void serve(Socket client, Function<List<String>, String> answer)
        throws IOException {
      try (client) {
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
        OutputStream out = client.getOutputStream();
        for (String head = in.readLine(); head != null; head = in.readLine()) {
          List<String> words = new ArrayList<>();
          for (int i = Integer.parseInt(head.substring(1)); i > 0; i--) {
            in.readLine();
            words.add(in.readLine());
          }
          out.write(answer.apply(words).getBytes(StandardCharsets.UTF_8));
        }
      }
    }

    String uri() {
      return "redis://" + HostPort.format((InetSocketAddress) socket.getLocalSocketAddress());
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static String reply(long... numbers) {
    StringBuilder reply = new StringBuilder("*5\r\n");
    for (long number : numbers) {
      reply.append(':').append(number).append("\r\n");
    }
    return reply.toString();
  }

  private static final String GCRA =
      """
      redis.replicate_commands()
      local burst, count, period, cost = ARGV[1] + 1, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
      local t = redis.call('TIME')
      local now = t[1] * 1000000 + t[2]
      local interval = period * 1000000 / count
      local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
      local next = tat + interval * cost
      local wait = next - burst * interval - now
      local limited, retry = 0, -1
      if wait > 0 then
        limited = 1
        if cost <= burst then retry = math.ceil(wait / 1000000) end
      elseif cost > 0 then
        tat = next
        redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
      end
      local left = math.floor((burst * interval - (tat - now)) / interval)
      return {limited, burst, left, retry, math.ceil((tat - now) / 1000000)}
      """;

  @Test
  void gcraInLua_passes() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server = new Server(words -> eval(redis, words))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out()).endsWith("the limiter passes the checks\n").contains("skipped a batch");
      assertThat(run.code()).isEqualTo(Exit.DONE);
    }
  }

  private static final String CLOCK = "t[1] * 1000000 + t[2]";
  private static final String SAVED = "tonumber(redis.call('GET', KEYS[1]) or now)";

  static List<String> scriptsThatRefillTooMuch() {
    return List.of(
        GCRA.replace(CLOCK, "10 * (t[1] % 100000 * 1000000 + t[2])"),
        GCRA.replace("math.max(now, %s)".formatted(SAVED), SAVED)
            .replaceAll("math.ceil[^\\n]+/ 1000[)]", "60000"));
  }

  /** One limiter refills ten times too fast; the other collects tokens above the burst. */
  @ParameterizedTest
  @MethodSource("scriptsThatRefillTooMuch")
  void limiterThatRefillsTooMuch_fails(String script) throws Exception {
    assertThat(script).isNotEqualTo(GCRA);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server = new Server(words -> reply(evaluated(redis, script, words)))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out()).contains("FAILED  waits").contains("passed  the recorded vectors");
      assertThat(run.code()).isEqualTo(Exit.NO);
    }
  }

  /** The interval of its 100 a minute is 0 s. */
  @Test
  void limiterWithAnIntervalOfWholeSeconds_fails() throws Exception {
    String script =
        GCRA.replace("period * 1000000 / count", "math.floor(period / count) * 1000000");
    assertThat(script).isNotEqualTo(GCRA);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server = new Server(words -> reply(evaluated(redis, script, words)))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out())
          .contains("passed  the recorded vectors")
          .contains("FAILED  a sequence of costs")
          .contains("FAILED  a limit of several tokens a second");
      assertThat(run.code()).isEqualTo(Exit.NO);
    }
  }

  private static String eval(LocalRedis redis, List<String> words) {
    return reply(evaluated(redis, words));
  }

  private static long[] evaluated(LocalRedis redis, List<String> words) {
    return evaluated(redis, GCRA, words);
  }

  private static long[] evaluated(LocalRedis redis, String script, List<String> words) {
    List<String> command = new ArrayList<>(List.of("EVAL", script, "1"));
    command.addAll(words.subList(1, words.size()));
    List<?> reply = (List<?>) redis.command(command.toArray(String[]::new));
    return reply.stream().mapToLong(number -> (Long) number).toArray();
  }

  /** The reports of a server without TLS. The run waits for tokens, so it begins with the class. */
  private static final CompletableFuture<List<String>> PLAIN = new CompletableFuture<>();

  @BeforeAll
  static void certifyWithoutTls() {
    PLAIN.completeAsync(
        () -> {
          try {
            return certified(List.of(), List.of());
          } catch (Exception e) {
            throw new CompletionException(e);
          }
        },
        task -> new Thread(task).start());
  }

  /** Also if only another test of this class ran, the server ends before the JVM of the tests. */
  @AfterAll
  static void endWithoutTls() {
    PLAIN.exceptionally(failed -> List.of()).join();
  }

  @Test
  void sluice_passes_byEachOfItsDoors() {
    List<String> reports = PLAIN.join();
    assertThat(reports).allMatch(report -> report.contains(" of 2760 recorded steps"));
    assertThat(reports.get(0)).contains("774 of 2760 recorded steps"); // Envoy's
    assertThat(reports.get(2)).contains("981 of 2760 recorded steps"); // CL.THROTTLE
  }

  @Test
  void sluice_withTlsAndTokens_passes_byEachOfItsDoors(@TempDir Path folder) throws Exception {
    Path keys = folder.resolve("keys.p12");
    Path certificate = folder.resolve("server.crt");
    String at = "-keystore %s -storepass changeit -alias a ".formatted(keys);
    keytool("-genkeypair -keyalg EC -dname CN=localhost -ext san=ip:127.0.0.1 " + at);
    keytool("-exportcert -rfc -file " + certificate + " " + at);
    KeyStore store = KeyStore.getInstance(keys.toFile(), "changeit".toCharArray());
    byte[] der = store.getKey("a", "changeit".toCharArray()).getEncoded();
    Path key =
        Files.writeString(
            folder.resolve("server.key"),
            "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"
                .formatted(Base64.getMimeEncoder().encodeToString(der)));
    Cli created = Cli.run("token", "new", "certifier", "--role", "decide");
    Path token = Files.writeString(folder.resolve("token"), created.out());
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            created
                .err()
                .lines()
                .dropWhile(line -> !line.strip().startsWith("- "))
                .collect(Collectors.joining("\n", "tokens:\n", "\n")));
    String tls = "--tls-certificate %s --tls-key %s".formatted(certificate, key);
    List<String> access = List.of("--tokens", tokens.toString(), "--rls-overrides", "allow");
    List<String> asked =
        List.of("--token-file", token.toString(), "--cacert", certificate.toString());
    certified(Stream.concat(Stream.of(tls.split(" ")), access.stream()).toList(), asked);
  }

  /** Asks Sluice at each of its doors, and returns the reports by the names of the protocols. */
  @CanIgnoreReturnValue
  private static List<String> certified(List<String> serving, List<String> asking)
      throws Exception {
    String any = "127.0.0.1:0";
    List<String> serve =
        new ArrayList<>(List.of("serve", "--http", any, "--grpc", any, "--resp", any));
    serve.addAll(serving);
    try (CliProcess server = CliProcess.start(serve.toArray(String[]::new));
        BufferedReader err = server.err()) {
      String line = err.readLine();
      while (line != null && !line.contains("listening")) {
        line = err.readLine();
      }
      List<String> targets =
          Pattern.compile("(https?|rediss?|grpcs?)://[0-9.:]+")
              .matcher(String.valueOf(line))
              .results()
              .map(MatchResult::group)
              .sorted()
              .toList();
      assertThat(targets).as(line).hasSize(3);
      // All at once: for most of the time the command waits for tokens.
      List<CompletableFuture<Cli>> runs = new ArrayList<>();
      for (String target : targets) {
        List<String> words = new ArrayList<>(List.of("certify", target, "--json"));
        words.addAll(asking);
        runs.add(
            CompletableFuture.supplyAsync(
                () -> Cli.run(words.toArray(String[]::new)), task -> new Thread(task).start()));
      }
      List<String> reports = new ArrayList<>();
      for (int i = 0; i < targets.size(); i++) {
        Cli run = runs.get(i).join();
        assertThat(run.out()).as(targets.get(i) + run.err()).contains("\"passed\":true");
        assertThat(run.code()).isEqualTo(Exit.DONE);
        reports.add(run.out());
      }
      return reports;
    }
  }

  private static void keytool(String words) throws Exception {
    String tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made = new ProcessBuilder((tool + " " + words.strip()).split(" ")).start();
    assertThat(made.waitFor()).isZero();
  }

  @Test
  void limiterThatCountsWithoutAWindow_fails_andSaysWhere() throws Exception {
    AtomicLong spent = new AtomicLong();
    try (Server server =
        new Server(
            words -> {
              long burst = Long.parseLong(words.get(2)) + 1;
              long taken = spent.addAndGet(Long.parseLong(words.get(5)));
              return reply(taken > burst ? 1 : 0, burst, Math.max(0, burst - taken), 1, 1);
            })) {
      Cli run = Cli.run("certify", server.uri(), "--json");
      assertThat(run.code()).isEqualTo(Exit.NO);
      assertThat(run.out())
          .contains("\"passed\":false", "\"outcome\":\"failed\"", "sequence ", "expected");
    }
  }

  @Test
  void limiterThatNeverDenies_fails() throws Exception {
    try (Server server = new Server(words -> reply(0, 7, 6, -1, 1))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.code()).isEqualTo(Exit.NO);
      assertThat(run.out())
          .contains(
              "FAILED  the recorded vectors: burst ",
              "FAILED  concurrent threads together get exactly what the limit allows",
              "FAILED  waits",
              "fails a check");
    }
  }

  /** GCRA in Lua, whose answers something changes. */
  private static Cli certifiedWith(UnaryOperator<long[]> change) throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server = new Server(words -> reply(change.apply(evaluated(redis, words))))) {
      return Cli.run("certify", server.uri());
    }
  }

  /** The fault of a limiter that reads the last token for two requests at once. */
  @Test
  void limiterThatGrantsOneRequestTooMany_ifManyAskAtOnce_fails() throws Exception {
    Map<String, Set<Thread>> connections = new ConcurrentHashMap<>();
    Set<String> cheated = ConcurrentHashMap.newKeySet();
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server =
            new Server(
                words -> {
                  String id = words.get(1);
                  Set<Thread> asking =
                      connections.computeIfAbsent(id, any -> ConcurrentHashMap.newKeySet());
                  asking.add(Thread.currentThread());
                  long[] found = evaluated(redis, words);
                  if (found[0] == 1 && asking.size() > 1 && cheated.add(id)) {
                    found[0] = 0;
                  }
                  return reply(found);
                })) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out())
          .contains(
              "FAILED  concurrent threads together get exactly what the limit allows: 9 requests passed, expected at most 8");
      assertThat(run.code()).isEqualTo(Exit.NO);
    }
  }

  @Test
  void limiterThatSendsFractionsOfSeconds_passes() throws Exception {
    Map<String, Limit> limits = new ConcurrentHashMap<>();
    com.linecorp.armeria.server.Server server =
        com.linecorp.armeria.server.Server.builder()
            .localPort(0, SessionProtocol.HTTP)
            .service(
                "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                (context, request) ->
                    HttpResponse.of(request.aggregate().thenApply(asked -> envoy(asked, limits))))
            .build();
    server.start().join();
    try {
      Cli run = Cli.run("certify", "grpc://127.0.0.1:" + server.activeLocalPort());
      assertThat(run.out()).endsWith("the limiter passes the checks\n");
    } finally {
      server.stop().join();
    }
  }

  private static final int FRAME = 5; // bytes before a message of gRPC

  /** Decides by exact limits, but denies each batch. */
  private static HttpResponse envoy(AggregatedHttpRequest asked, Map<String, Limit> limits) {
    byte[] framed = asked.content().array();
    RateLimitResponse.Builder response =
        RateLimitResponse.newBuilder().setOverallCode(Code.OVER_LIMIT);
    try {
      RateLimitRequest request =
          RateLimitRequest.parseFrom(ByteBuffer.wrap(framed, FRAME, framed.length - FRAME));
      if (request.getDescriptorsCount() == 1) {
        DescriptorStatus status = envoy(request.getDescriptors(0), limits);
        response.setOverallCode(status.getCode()).addStatuses(status);
      }
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
    byte[] message = response.build().toByteArray();
    return HttpResponse.of(
        ResponseHeaders.of(HttpStatus.OK, "content-type", "application/grpc+proto"),
        HttpData.wrap(
            ByteBuffer.allocate(FRAME + message.length)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array()),
        HttpHeaders.of("grpc-status", "0"));
  }

  private static DescriptorStatus envoy(RateLimitDescriptor asked, Map<String, Limit> limits) {
    long days = asked.getLimit().getUnit() == RateLimitUnit.DAY ? 1 : 365;
    Duration period =
        asked.getLimit().getUnit() == RateLimitUnit.SECOND
            ? Duration.ofSeconds(1)
            : Duration.ofDays(days);
    Quota quota = Quota.per(asked.getLimit().getRequestsPerUnit(), period);
    Decision decision =
        limits
            .computeIfAbsent(quota.toString(), any -> Limit.of(quota))
            .spend(asked.getEntries(0).getValue(), asked.getHitsAddend().getValue());
    long nanos = decision.allowed() ? decision.resetInNanos() : decision.retryInNanos();
    DescriptorStatus.Builder status =
        DescriptorStatus.newBuilder()
            .setCode(decision.allowed() ? Code.OK : Code.OVER_LIMIT)
            .setCurrentLimit(RateLimit.getDefaultInstance())
            .setLimitRemaining((int) decision.remaining());
    if (nanos > 0) {
      status.setDurationUntilReset(
          com.google.protobuf.Duration.newBuilder()
              .setSeconds(nanos / 1_000_000_000)
              .setNanos((int) (nanos % 1_000_000_000)));
    }
    return status.build();
  }

  @Test
  void denialThatSaysNothingRemains_fails() throws Exception {
    Cli run =
        certifiedWith(
            found -> {
              found[2] = found[0] == 0 ? found[2] : 0;
              return found;
            });
    assertThat(run.out()).contains("FAILED  a sequence of costs", "0 remaining, expected ");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @Test
  void answerWithoutAReset_fails() throws Exception {
    Cli run =
        certifiedWith(
            found -> {
              found[4] = -1;
              return found;
            });
    assertThat(run.out()).contains("FAILED  a sequence of costs", "a reset in -1 s, expected ");
  }

  @Test
  void errorInTheMiddle_isAFailedCheck_andTheReportIsPrinted() throws Exception {
    AtomicLong asked = new AtomicLong();
    try (Server server =
        new Server(
            words ->
                asked.incrementAndGet() > 1 ? "-ERR \u001b[31m busy\r\n" : reply(0, 8, 7, -1, 1))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out())
          .contains("FAILED  the recorded vectors: the limiter answers \"ERR \\u001b[31m busy\"")
          .endsWith("the limiter fails a check\n");
      assertThat(run.code()).isEqualTo(Exit.NO);
    }
  }

  @Test
  void passwordThatIsRefused_isToldAsTheLimiterSaysIt() throws Exception {
    try (Server server = new Server(words -> "-WRONGPASS \u001b[31m invalid\r\n")) {
      Cli run = Cli.run("certify", server.uri().replace("//", "//app:secret@"));
      assertThat(run.err())
          .contains("the limiter answers \"WRONGPASS \\u001b[31m invalid\"")
          .doesNotContain("\u001b", "secret", "could not be reached");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    }
  }

  @Test
  void tokenOfAPipe_isReadOnce_andNoPasswordIsPrinted(@TempDir Path folder) throws Exception {
    Path pipe = folder.resolve("token");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Server.daemon(() -> Files.writeString(pipe, "token\n"));
    try (Server server =
        new Server(words -> words.get(0).equals("AUTH") ? "+OK\r\n" : reply(0, 8, 7, -1, 1))) {
      String target = server.uri().replace("//", "//app:secret@");
      Cli run =
          assertTimeoutPreemptively(
              Duration.ofMinutes(1),
              () -> Cli.run("certify", target, "--json", "--token-file", pipe.toString()));
      assertThat(run.out())
          .contains("\"target\":\"redis://app:***@127.0.0.1:", "concurrent threads together");
      assertThat(run.out() + run.err()).doesNotContain("secret");
    }
  }

  /** Certifies a server that answers each HTTP request in the same way. */
  private static Cli certifiedHttp(int status, String answer) throws Exception {
    byte[] body = answer.getBytes(StandardCharsets.UTF_8);
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    try {
      return Cli.run("certify", "http://127.0.0.1:" + server.getAddress().getPort());
    } finally {
      server.stop(0);
    }
  }

  private static final String ALLOWED =
      "{\"allowed\":true,\"remaining\":0,\"burst\":1,\"retryInNanos\":0,\"resetInNanos\":%s}";

  @ParameterizedTest
  @ValueSource(strings = {"0", "-5", "\"x\"", "1e30", "null"})
  void answerWithAResetThatIsNone_isTold(String reset) throws Exception {
    Cli run = certifiedHttp(200, ALLOWED.formatted(reset));
    assertThat(run.err()).contains("answer").doesNotContain("internal error");
    assertThat(run.code()).isIn(Exit.BROKEN_INPUT, Exit.UNREACHABLE);
  }

  @Test
  void batchThatPasses_sinceTheLimitRefillsMeanwhile_isNoFailure() throws Exception {
    Cli run = certifiedHttp(200, ALLOWED.formatted(1));
    assertThat(run.out())
        .contains("skipped a batch is all or nothing: the limiter answered so slowly");
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 500})
  void textOfAnErrorAnswer_cannotSteerATerminal(int status) throws Exception {
    String text = "\\u001b[31mred";
    Cli run =
        certifiedHttp(status, "{\"detail\":\"%s\",\"incident\":\"%s\"}".formatted(text, text));
    assertThat(run.err()).contains("\\u001b[31mred").doesNotContain("\u001b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://127.0.0.1/abc",
        "redis://127.0.0.1:99999",
        "redis://127.0.0.1:0",
        "redis://app:secret@127.0.0.1:x",
        "grpc://127.0.0.1:99999",
        "grpc://app:secret@127.0.0.1:1",
        "http://127.0.0.1:99999",
        "http://app:secret@127.0.0.1",
        "ftp://app:sec/ret@127.0.0.1"
      })
  void targetThatCannotBe_isTold_withoutItsPassword(String target) {
    Cli run = Cli.run("certify", target);
    assertThat(run.err())
        .startsWith("sluice: found the target \"" + target.substring(0, 6))
        .doesNotContain("sec");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void targetThatIsNone_isTold() throws Exception {
    assertThat(Cli.run("certify", "nonsense").code()).isEqualTo(Exit.BROKEN_INPUT);
    int free = FreePort.next();
    for (String scheme : List.of("redis", "grpc", "http")) {
      Cli run = Cli.run("certify", scheme + "://127.0.0.1:" + free);
      assertThat(run.code()).as(scheme + run.err()).isEqualTo(Exit.UNREACHABLE);
    }
    try (Server server = new Server(words -> "-ERR unknown command\r\n")) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err()).contains("ERR unknown command");
    }
  }
}
