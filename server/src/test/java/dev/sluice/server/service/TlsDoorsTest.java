// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;

import com.linecorp.armeria.client.ClientFactory;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.http.LogLines;
import dev.sluice.server.tls.Pem;
import dev.sluice.yaml.LimitFilesException;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Every door with TLS, asked by clients that are not ours. */
@Tag("slow")
final class TlsDoorsTest {

  @TempDir private Path folder;

  private TlsFixture fixture;

  @BeforeEach
  void writeFiles() throws IOException {
    fixture = TlsFixture.in(folder);
  }

  @ParameterizedTest
  @CsvSource({"TLSv1.2,HTTP_1_1", "TLSv1.3,HTTP_2"})
  void http_answersOverBothVersionsOfTls(String tls, Version version) throws Exception {
    SSLParameters parameters = new SSLParameters();
    parameters.setProtocols(new String[] {tls});
    HttpClient client =
        HttpClient.newBuilder()
            .sslContext(Pem.client(null, Pem.SERVER))
            .sslParameters(parameters)
            .version(version)
            .build();
    try (Service service = Service.start(fixture.config(false));
        Aside.End end = Aside.end(service)) {
      HttpResponse<String> answer = TlsFixture.spend(client, service, "k");
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.version()).isEqualTo(version);
      assertThat(answer.sslSession().orElseThrow().getProtocol()).isEqualTo(tls);
      assertThat(answer.headers().firstValue("Strict-Transport-Security"))
          .hasValue("max-age=31536000");
    }
  }

  @Test
  void clientWithoutACertificate_isRefusedOnEveryDoor_andOneWithItIsLetIn() throws Exception {
    SSLContext stranger = Pem.client(null, Pem.SERVER);
    SSLContext known = Pem.client(Pem.CLIENT, Pem.SERVER);
    try (Service service = Service.start(fixture.config(true));
        Aside.End end = Aside.end(service)) {
      assertThatThrownBy(() -> statusLine(service, stranger))
          .isInstanceOf(IOException.class)
          .isNotInstanceOf(SocketTimeoutException.class);
      assertThat(statusLine(service, known)).startsWith("HTTP/1.1 200 ");
      assertThat(TlsFixture.spend(client(known), service, "k").statusCode()).isEqualTo(200);

      assertThatThrownBy(() -> ping(service, stranger))
          .isInstanceOf(JedisConnectionException.class);
      assertThat(ping(service, known)).isEqualTo("PONG");

      try (ClientFactory strangers = TlsFixture.factory(null);
          ClientFactory friends = TlsFixture.factory(Pem.CLIENT)) {
        assertThatThrownBy(() -> health(service, strangers)).isInstanceOf(RuntimeException.class);
        assertThat(health(service, friends)).isEqualTo(ServingStatus.SERVING);
      }
    }
  }

  /** On a plain socket: the JDK's client may wait for ever where the handshake fails late. */
  private static String statusLine(Service service, SSLContext context) throws IOException {
    int port = service.addresses().get(TlsFixture.HTTP).getPort();
    try (SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
      socket.setSoTimeout(30_000);
      socket
          .getOutputStream()
          .write(
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      return new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
          .readLine();
    }
  }

  @Test
  void withoutATokensFile_theAuditLogNamesTheCertificate() throws Exception {
    Path audit = folder.resolve("audit.jsonl");
    ServerConfig.Control control = new ServerConfig.Control(null, audit.toString(), null, null);
    SSLContext known = Pem.client(Pem.CLIENT, Pem.SERVER);
    try (Service service = Service.start(fixture.config(true, control));
        Aside.End end = Aside.end(service)) {
      String path = "/v1/admin/penalties/ApiCallsPerKey/k";
      assertThat(TlsFixture.send(client(known), service, "DELETE", path).statusCode())
          .isEqualTo(404);
      try (Jedis jedis = TlsFixture.jedis(service, known)) {
        assertThat(command(jedis, "SLUICE.RESET")).isNotNull();
      }
    }
    assertThat(Files.readAllLines(audit))
        .hasSize(2)
        .allMatch(line -> line.contains("\"by\":\"certificate\""))
        .allMatch(line -> line.contains("\"who\":\"client-7\""));
  }

  @Test
  void pageOfTheServerItself_mayAskOverTls_andOneWithoutItMayNot() throws Exception {
    HttpClient client = client(Pem.client(null, Pem.SERVER));
    try (Service service = Service.start(fixture.config(false));
        Aside.End end = Aside.end(service)) {
      String own = TlsFixture.url(service, TlsFixture.HTTP, "");
      assertThat(asked(client, own, own)).isEqualTo(200);
      assertThat(asked(client, own, own.replace("https", "http"))).isEqualTo(403);
    }
  }

  private static int asked(HttpClient client, String server, String origin) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server + "/v1/limits")).header("Origin", origin).build();
    return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  @Test
  void nameInAClientsCertificate_hasItsRoles() throws Exception {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"), "certificates: [{name: client-7, roles: [decide]}]\n");
    ServerConfig config = fixture.config(true, new ServerConfig.Control(tokens, null, null, null));
    SSLContext known = Pem.client(Pem.CLIENT, Pem.SERVER);
    HttpClient client = client(known);
    try (Service service = Service.start(config);
        Aside.End end = Aside.end(service);
        Jedis jedis = TlsFixture.jedis(service, known);
        ClientFactory factory = TlsFixture.factory(Pem.CLIENT)) {
      assertThat(TlsFixture.spend(client, service, "k").statusCode()).isEqualTo(200);
      assertThat(TlsFixture.send(client, service, "POST", "/v1/admin/reload").statusCode())
          .isEqualTo(403);

      assertThat(command(jedis, "SLUICE.SPEND")).asInstanceOf(LIST).isNotEmpty();
      assertThatThrownBy(() -> command(jedis, "SLUICE.RESET"))
          .isInstanceOf(JedisDataException.class)
          .hasMessageStartingWith("NOPERM");

      assertThat(grpc(service, factory, "k").getOverallCode()).isEqualTo(Code.OK);
    }
  }

  /** A certificate that may only read is refused where a decision is asked for. */
  @Test
  void nameInAClientsCertificate_hasNoOtherRoles_onAnyDoor() throws Exception {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"), "certificates: [{name: client-7, roles: [read]}]\n");
    ServerConfig config = fixture.config(true, new ServerConfig.Control(tokens, null, null, null));
    SSLContext known = Pem.client(Pem.CLIENT, Pem.SERVER);
    try (Service service = Service.start(config);
        Aside.End end = Aside.end(service);
        Jedis jedis = TlsFixture.jedis(service, known);
        ClientFactory factory = TlsFixture.factory(Pem.CLIENT)) {
      assertThat(TlsFixture.spend(client(known), service, "k").statusCode()).isEqualTo(403);
      assertThatThrownBy(() -> command(jedis, "SLUICE.SPEND")).hasMessageStartingWith("NOPERM");
      assertThatThrownBy(() -> grpc(service, factory, "k"))
          .hasMessageContaining("PERMISSION_DENIED")
          .hasMessageContaining("client-7 has no role decide");
      assertThat(TlsFixture.send(client(known), service, "GET", "/v1/limits").statusCode())
          .isEqualTo(200);
    }
  }

  @Test
  void certificateWhoseBoundIsUsedUp_doesNotRefuseATokenOnItsConnection() throws Exception {
    String token = Tokens.fresh();
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            """
            tokens: [{name: ops, sha256: %s, roles: [decide]}]
            certificates:
              - {name: client-7, requests: {burst: 3, count: 1, period: 1h}, roles: [decide]}
            """
                .formatted(Tokens.sha256(token)));
    ServerConfig config = fixture.config(true, new ServerConfig.Control(tokens, null, null, null));
    SSLContext known = Pem.client(Pem.CLIENT, Pem.SERVER);
    try (Service service = Service.start(config);
        Aside.End end = Aside.end(service);
        Jedis jedis = TlsFixture.jedis(service, known);
        Jedis wrong = TlsFixture.jedis(service, known);
        Jedis other = TlsFixture.jedis(service, known)) {
      assertThat(command(jedis, "SLUICE.SPEND")).isNotNull();
      ProtocolCommand spend = () -> "SLUICE.SPEND".getBytes(StandardCharsets.US_ASCII);
      assertThatThrownBy(() -> wrong.sendCommand(spend)).hasMessageStartingWith("ERR wrong number");
      assertThat(jedis.sendCommand(Command.HELLO, "2")).isNotNull();
      assertThatThrownBy(() -> jedis.sendCommand(Command.HELLO, "2"))
          .hasMessageStartingWith("THROTTLED");
      assertThatThrownBy(() -> jedis.sendCommand(Command.RESET))
          .hasMessageStartingWith("THROTTLED");
      assertThat(jedis.auth(token)).isEqualTo("OK");
      assertThat(command(jedis, "SLUICE.SPEND")).isNotNull();
      assertThat(other.sendCommand(Command.HELLO, "2", "AUTH", "ops", token)).isNotNull();
      assertThat(command(other, "SLUICE.SPEND")).isNotNull();
    }
  }

  private static Object command(Jedis jedis, String name) {
    return jedis.sendCommand(() -> name.getBytes(StandardCharsets.US_ASCII), "ApiCallsPerKey", "k");
  }

  private static RateLimitResponse grpc(Service service, ClientFactory factory, String id) {
    RateLimitRequest request =
        RateLimitRequest.newBuilder()
            .setDomain("edge")
            .addDescriptors(
                RateLimitDescriptor.newBuilder()
                    .addEntries(Entry.newBuilder().setKey("ApiCallsPerKey").setValue(id)))
            .build();
    return TlsFixture.grpc(service, factory, RateLimitServiceBlockingStub.class)
        .shouldRateLimit(request);
  }

  @Test
  void certificateThatTheTokensFileDoesNotName_isNotedByItsName() throws Exception {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"), "certificates: [{name: other, roles: [decide]}]\n");
    Path audit = folder.resolve("audit.jsonl");
    ServerConfig config =
        fixture.config(true, new ServerConfig.Control(tokens, audit.toString(), null, null));
    SSLContext unnamed = Pem.client(Pem.CLIENT, Pem.SERVER);
    try (Service service = Service.start(config);
        Aside.End end = Aside.end(service);
        Jedis jedis = TlsFixture.jedis(service, unnamed);
        ClientFactory factory = TlsFixture.factory(Pem.CLIENT)) {
      HttpResponse<String> refused = TlsFixture.spend(client(unnamed), service, "k");
      assertThat(refused.statusCode()).isEqualTo(401);
      assertThat(refused.body()).doesNotContain("client-7");
      assertThatThrownBy(() -> command(jedis, "SLUICE.SPEND"))
          .isInstanceOf(JedisDataException.class)
          .hasMessageStartingWith("NOAUTH")
          .hasMessageNotContaining("client-7");
      assertThatThrownBy(() -> grpc(service, factory, "k"))
          .hasMessageContaining("UNAUTHENTICATED")
          .hasMessageNotContaining("client-7");
    }
    assertThat(Files.readAllLines(audit))
        .hasSize(3)
        .allMatch(line -> line.contains("\"who\":\"unknown\""))
        .allMatch(line -> line.contains("in the client's certificate: client-7\""));
  }

  private static HttpClient client(SSLContext context) {
    return HttpClient.newBuilder().sslContext(context).build();
  }

  private static String ping(Service service, SSLContext context) {
    try (Jedis jedis = TlsFixture.jedis(service, context)) {
      return jedis.ping();
    }
  }

  private static ServingStatus health(Service service, ClientFactory factory) {
    return TlsFixture.grpc(service, factory, HealthBlockingStub.class)
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }

  /** A request without encryption gets no answer, and does no harm; health checks make them. */
  @Test
  void plainRequest_isNotAnswered_andTheServerGoesOn_withoutAWarning() throws Exception {
    try (Service service = Service.start(fixture.config(false));
        Aside.End end = Aside.end(service);
        LogLines log = new LogLines()) {
      for (var address : service.addresses()) {
        try (Socket socket = new Socket("localhost", address.getPort())) {
          socket
              .getOutputStream()
              .write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8));
          byte[] answer = socket.getInputStream().readAllBytes();
          assertThat(new String(answer, StandardCharsets.ISO_8859_1)).doesNotContain("HTTP");
        }
      }
      assertThat(ping(service, Pem.client(null, Pem.SERVER))).isEqualTo("PONG");
      assertThat(log.text()).doesNotContain("closed");
    }
  }

  /** New connections get the new certificate; old ones, and requests under way, lose nothing. */
  @Test
  void certificateThatIsReplaced_underLoad_losesNoAnswer() throws Exception {
    SSLContext trusting = Pem.client(null, Pem.SERVER, Pem.NEXT);
    try (Service service = Service.start(fixture.config(false));
        Aside.End end = Aside.end(service);
        Load load = new Load(service, trusting);
        Jedis keptJedis = TlsFixture.jedis(service, trusting)) {
      HttpClient kept = client(trusting);
      assertThat(TlsFixture.spend(kept, service, "k").statusCode()).isEqualTo(200);
      assertThat(keptJedis.ping()).isEqualTo("PONG");
      assertThat(shownBy(service, TlsFixture.HTTP, trusting)).isEqualTo(Pem.leaf(Pem.SERVER));

      Pem.write(Pem.NEXT, folder);
      assertThat(service.reload()).isTrue();

      for (int door : new int[] {TlsFixture.HTTP, TlsFixture.RESP, TlsFixture.GRPC}) {
        assertThat(shownBy(service, door, trusting)).isEqualTo(Pem.leaf(Pem.NEXT));
      }
      HttpResponse<String> answer = TlsFixture.spend(kept, service, "k");
      assertThat(answer.sslSession().orElseThrow().getPeerCertificates())
          .containsExactly(Pem.leaf(Pem.SERVER));
      assertThat(keptJedis.ping()).isEqualTo("PONG");
      int before = load.answers.size();
      await().atMost(Duration.ofMinutes(1)).until(() -> load.answers.size() > before + 4);
      assertThat(load.answers).containsOnly("HTTP/1.1 200 OK");
    }
  }

  private static Certificate shownBy(Service service, int door, SSLContext context)
      throws IOException {
    try (SSLSocket socket = connect(service, door, context)) {
      return socket.getSession().getPeerCertificates()[0];
    }
  }

  private static SSLSocket connect(Service service, int door, SSLContext context)
      throws IOException {
    int port = service.addresses().get(door).getPort();
    return (SSLSocket) context.getSocketFactory().createSocket("localhost", port);
  }

  /** Clients with a connection for each request, until it is closed. */
  private static final class Load implements AutoCloseable {
    private final ExecutorService clients = Executors.newFixedThreadPool(2);
    private final Queue<String> answers = new ConcurrentLinkedQueue<>();
    private volatile boolean over;

    Load(Service service, SSLContext context) {
      for (int i = 0; i < 2; i++) {
        clients.execute(
            () -> {
              while (!over) {
                answers.add(ask(service, context));
              }
            });
      }
    }

    private static String ask(Service service, SSLContext context) {
      try (SSLSocket socket = connect(service, TlsFixture.HTTP, context)) {
        socket
            .getOutputStream()
            .write(
                "GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
        String answer = OneAnswer.read(socket.getInputStream());
        return answer.endsWith("}") ? answer.lines().findFirst().orElse("") : "cut: " + answer;
      } catch (IOException e) {
        return e.toString();
      }
    }

    @Override
    public void close() throws InterruptedException {
      over = true;
      clients.shutdown();
      assertThat(clients.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    }
  }

  @Test
  void badCertificate_isRefused_holdsUpNoLimit_andTheNextGoodOneIsApplied() throws Exception {
    SSLContext trusting = Pem.client(null, Pem.SERVER, Pem.NEXT);
    HttpClient client = client(trusting);
    long started = System.nanoTime();
    try (Service service = Service.start(fixture.config(false));
        Aside.End end = Aside.end(service)) {
      String before = TlsFixture.send(client, service, "GET", "/v1/limits").body();
      assertThat(before).contains("\"mistakes\":[]");

      fixture.writeLimits("7");
      Pem.writeKey(Pem.NEXT, folder);
      HttpResponse<String> refused = TlsFixture.send(client, service, "POST", "/v1/admin/reload");

      assertThat(refused.statusCode()).isEqualTo(409);
      assertThat(refused.body())
          .contains("\"applied\":false", "tls.key:1:1: found a key that does not belong");
      assertThat(TlsFixture.spend(client, service, "k").body()).contains("\"burst\":7");
      assertThat(shownBy(service, TlsFixture.HTTP, trusting)).isEqualTo(Pem.leaf(Pem.SERVER));
      String metrics = TlsFixture.send(client, service, "GET", "/metrics").body();
      assertThat(metrics)
          .contains("\nsluice_generation_mistakes{files=\"certificates\"} 1.0")
          .contains(
              "\nsluice_tls_certificate_end_timestamp_seconds "
                  + (double) Pem.leaf(Pem.SERVER).getNotAfter().toInstant().getEpochSecond());
      assertThat(generation("hash", metrics, "offered"))
          .isNotEqualTo(generation("hash", metrics, "active"));
      double active = Double.parseDouble(generation("age_seconds", metrics, "active"));
      double offered = Double.parseDouble(generation("age_seconds", metrics, "offered"));
      assertThat(offered).as("the files of a moment ago").isPositive().isLessThan(active);
      assertThat(active).isLessThan(secondsSince(started));

      long refusedAt = System.nanoTime();
      Pem.writeCertificate(Pem.NEXT, folder);
      HttpResponse<String> applied = TlsFixture.send(client, service, "POST", "/v1/admin/reload");

      assertThat(applied.statusCode()).isEqualTo(200);
      assertThat(applied.body()).contains("\"applied\":true", "\"mistakes\":[]");
      assertThat(TlsFixture.spend(client, service, "k").body()).contains("\"burst\":7");
      assertThat(shownBy(service, TlsFixture.HTTP, trusting)).isEqualTo(Pem.leaf(Pem.NEXT));
      metrics = TlsFixture.send(client, service, "GET", "/metrics").body();
      assertThat(metrics).contains("\nsluice_generation_mistakes{files=\"certificates\"} 0.0");
      assertThat(generation("hash", metrics, "offered"))
          .isEqualTo(generation("hash", metrics, "active"));
      assertThat(Double.parseDouble(generation("age_seconds", metrics, "active")))
          .as("the files of a moment ago")
          .isLessThan(secondsSince(refusedAt));
    }
  }

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  private static String generation(String what, String metrics, String which) {
    String series =
        "sluice_generation_%s{files=\"certificates\",generation=\"%s\"} ".formatted(what, which);
    return metrics
        .lines()
        .filter(line -> line.startsWith(series))
        .findFirst()
        .orElseThrow()
        .substring(series.length());
  }

  @Test
  void badCertificate_stopsTheStart() throws Exception {
    Pem.writeKey(Pem.NEXT, folder);
    assertThatThrownBy(() -> Service.start(fixture.config(false)))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("tls.key:1:1: found a key that does not belong to the certificate");
  }
}
