// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.FailureRule;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.server.Aside;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.HostPort.AddressException;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.InsecureException;
import dev.sluice.server.service.ServerConfig.Snapshot;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Table;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import dev.sluice.yaml.LimitFilesException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The service without the command line: its start, its end, and a start that fails half-way. */
class ServiceTest {

  private static final Http LOOPBACK = Configs.onPort(0).http();

  /** Services of earlier tests may still be closing. */
  private final Set<Thread> before = Thread.getAllStackTraces().keySet();

  private static String spend(Service service) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(0)) + "/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}"))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
  }

  @Test
  void service_withoutSettings_answersByTheSamples() throws Exception {
    try (Service service = Service.start(Configs.of(Sources.SAMPLE));
        Aside.End end = Aside.end(service)) {
      service.ping();
      assertThat(spend(service)).contains("\"remaining\":99");
    }
  }

  /** A network that lets clients reach the port of gRPC gives them nothing else by it. */
  @Test
  void portOfGrpc_answersNoJson() throws Exception {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    Doors doors =
        new Doors(Http.on(any), null, any, Settings.of(OverridePolicy.ALLOW), null, false, false);
    try (Service service = Service.start(Configs.of(doors));
        Aside.End end = Aside.end(service)) {
      assertThat(json(service.addresses().get(0))).isEqualTo(400);
      assertThat(json(service.addresses().get(1))).isEqualTo(404);
    }
  }

  private static int json(InetSocketAddress port) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(port) + "/json"))
            .POST(BodyPublishers.ofString("{}"))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
  }

  @Test
  void service_thatIsClosed_keepsItsBuckets_forTheNext(@TempDir Path folder) throws Exception {
    ServerConfig config = slow(folder);
    for (String remaining : List.of("\"remaining\":99", "\"remaining\":98")) {
      try (Service service = Service.start(config)) {
        assertThat(spend(service)).contains(remaining);
      }
    }
    assertThat(threads()).isEmpty();
  }

  @Test
  void service_thatIsClosedByAnInterruptedThread_keepsItsBuckets(@TempDir Path folder)
      throws Exception {
    ServerConfig config = slow(folder);
    Service first = Service.start(config);
    assertThat(spend(first)).contains("\"remaining\":99");
    Aside.end(first).close();
    Service next = Service.start(config);
    assertThat(spend(next)).contains("\"remaining\":98");
    Aside.end(next).close();
  }

  /** Keeps its buckets in the folder; a token comes back after an hour. */
  private static ServerConfig slow(Path folder) throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "ApiCallsPerKey: {burst: 100, count: 1, period: 1h}\n");
    return new ServerConfig(
        Configs.onPort(0),
        Sources.of(new ServerConfig.Files(limits, null, null, null)),
        Configs.keptIn(folder.resolve("buckets")),
        ServerConfig.Control.NONE,
        Telemetry.NONE);
  }

  @Test
  void start_onATakenPort_endsWhatWasStarted(@TempDir Path folder) throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServerConfig config =
          new ServerConfig(
              Configs.onPort(taken.getLocalPort()),
              Sources.SAMPLE,
              Configs.keptIn(folder.resolve("buckets")),
              ServerConfig.Control.NONE,
              Telemetry.NONE);

      assertThatThrownBy(() -> Service.start(config)).isInstanceOf(AddressException.class);

      assertThat(threads()).isEmpty();
    }
  }

  /** The threads of a service that only its end ends. */
  private List<String> threads() throws InterruptedException {
    List<String> alive = new ArrayList<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("sluice-") && !before.contains(thread)) {
        thread.join(Duration.ofMinutes(1).toMillis());
        if (thread.isAlive()) {
          alive.add(thread.getName());
        }
      }
    }
    return alive;
  }

  @Test
  void settingsThatCannotBeUsed_areNamed(@TempDir Path folder) throws Exception {
    assertThatThrownBy(
            () -> Service.start(Configs.of(Storage.in(StoreAccess.of("rediss-typo://x")))))
        .isInstanceOfSatisfying(
            ConfigException.class, e -> assertThat(e.setting()).isEqualTo("store"));
    Path torn = Files.writeString(folder.resolve("buckets"), "SLUICE");
    assertThatThrownBy(() -> Service.start(Configs.of(Configs.keptIn(torn))))
        .isInstanceOfSatisfying(
            ConfigException.class, e -> assertThat(e.setting()).isEqualTo("snapshot"));
    assertThatThrownBy(
            () ->
                new Storage(
                    StoreAccess.of("redis://127.0.0.1:1"),
                    new Snapshot(torn, Duration.ofHours(1)),
                    TokenKey.random(),
                    FailureRule.fail(),
                    Map.of(),
                    false))
        .hasMessageContaining("a snapshot works with the memory store only");
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT9223372036.854775808S"})
  void intervalsOutOfTheirRange_areRefused(Duration every) {
    DataSource none = PostgresUrl.dataSource("postgresql://127.0.0.1:1/none");
    String rule = "every: found %s, expected a duration > 0 and at most 292 years".formatted(every);
    assertThatThrownBy(() -> new Table(none, every)).hasMessage(rule);
    assertThatThrownBy(() -> new Snapshot(Path.of("buckets"), every)).hasMessage(rule);
  }

  /** TLS alone lets everybody in who trusts the certificate; a certificate of theirs does not. */
  @Test
  void doorBeyondLoopback_needsTlsAndAccessControl_orASwitchForEach(@TempDir Path folder) {
    Path any = folder.resolve("any");
    InetSocketAddress open = new InetSocketAddress("0.0.0.0", 0);
    TlsFiles encrypted = new TlsFiles(any, any, null);
    assertThatThrownBy(
            () ->
                Configs.of(
                    new Doors(
                        LOOPBACK,
                        open,
                        null,
                        Settings.of(OverridePolicy.ALLOW),
                        null,
                        false,
                        false)))
        .isInstanceOf(InsecureException.class)
        .hasMessageStartingWith(
            "0.0.0.0:0 is not loopback, and nothing would be encrypted and everybody");
    assertThatThrownBy(() -> Configs.of(grpc(open, encrypted, false)))
        .isInstanceOf(InsecureException.class)
        .hasMessageContaining("everybody who reaches the port could spend")
        .hasMessageContaining("--tls-client-ca FILE");
    TlsFiles optional = new TlsFiles(any, any, new ClientCertificates(any, false));
    assertThatThrownBy(() -> Configs.of(grpc(open, optional, false)))
        .isInstanceOf(InsecureException.class);

    TlsFiles required = new TlsFiles(any, any, new ClientCertificates(any, true));
    assertThat(Configs.of(grpc(open, required, false)).doors().grpc()).isEqualTo(open);
    assertThat(Configs.of(grpc(open, null, true)).doors().grpc()).isEqualTo(open);
  }

  private static Doors grpc(InetSocketAddress address, @Nullable TlsFiles tls, boolean insecure) {
    return new Doors(
        LOOPBACK, null, address, Settings.of(OverridePolicy.ALLOW), tls, insecure, insecure);
  }

  @Test
  void limitsThatAreAskedFor_mustBeThere() {
    assertThatThrownBy(() -> Service.start(asking("ApiCallsPerKye")))
        .isInstanceOf(UnknownLimitException.class)
        .hasMessageStartingWith("the test: ")
        .hasMessageContaining("did you mean");
    assertThatThrownBy(() -> Service.start(asking("NewOrdersPerAccount")))
        .isInstanceOf(MissingDefaultException.class);
  }

  @ParameterizedTest
  @EnumSource(
      value = MissingDefault.class,
      names = {"WARN", "ALLOW"})
  void limitThatARuleNames_mayBeMissing_andIsCounted(MissingDefault policy, @TempDir Path folder)
      throws Exception {
    String configured = "NewOrdersPerAccount: {burst: 1, count: 1, period: 1h}\n";
    Path limits = Files.writeString(folder.resolve("limits.yml"), configured);
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"), "rules: [{path: /, limit: ApiCallsPerKey, id: x}]\n");
    ServerConfig.Files files = new ServerConfig.Files(limits, null, null, rules);
    assertThatThrownBy(() -> Service.start(Configs.of(Sources.of(files))))
        .isInstanceOf(LimitFilesException.class);
    try (Service service =
            Service.start(Configs.of(new Sources(files, null, List.of(), policy, null)));
        Aside.End end = Aside.end(service)) {
      assertThat(missingDefaults(service)).isEqualTo("1.0");
      Files.writeString(limits, configured + "ApiCallsPerKey: {burst: 1, count: 1, period: 1h}\n");
      assertThat(service.reload()).isTrue();
      assertThat(missingDefaults(service)).isEqualTo("0.0");
      Files.writeString(limits, configured);
      assertThat(service.reload()).isTrue();
      assertThat(missingDefaults(service)).isEqualTo("1.0");
    }
  }

  private static String missingDefaults(Service service) throws Exception {
    URI metrics = URI.create("http://" + HostPort.format(service.addresses().get(0)) + "/metrics");
    String body =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
            .body();
    String name = "ratelimits_missing_defaults ";
    return body.lines()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()))
        .findFirst()
        .orElse("none");
  }

  private static ServerConfig asking(String limit) {
    List<Requirement> one = List.of(new Requirement(limit, "the test", MissingDefault.REFUSE));
    return Configs.of(new Sources(ServerConfig.Files.NONE, null, one, MissingDefault.REFUSE, null));
  }
}
