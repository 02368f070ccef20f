// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.resp.RespClient.Failure;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.yaml.LimitFiles;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may do what, over the Redis protocol, in Redis' words. */
class RespAccessTest {

  private static final String DECIDE = Tokens.fresh();
  private static final String ADMIN = Tokens.fresh();
  private static final String SLOW = Tokens.fresh();
  private static final String NOAUTH = "NOAUTH Authentication required.";
  private static final String WRONGPASS =
      "WRONGPASS invalid username-password pair or user is disabled.";

  @TempDir private Path folder;
  private Path tokens;
  private LimitFiles files;
  private CurrentLimits loaded;
  private final ByteArrayOutputStream noted = new ByteArrayOutputStream();
  private AuditLog audit;
  private Access access;
  private RespServer server;

  @BeforeEach
  void start() throws IOException {
    tokens = folder.resolve("tokens.yml");
    Files.writeString(
        tokens,
        """
        tokens:
          - {name: shop, sha256: %s, roles: [decide], limits: ["ApiCalls*"]}
          - {name: ops, sha256: %s, roles: [decide, admin]}
          - name: slow
            sha256: %s
            requests: {burst: 3, count: 1, period: 1h}
            roles: [decide]
        """
            .formatted(Tokens.sha256(DECIDE), Tokens.sha256(ADMIN), Tokens.sha256(SLOW)));
    files = LimitFiles.builder().companion(tokens, Tokens.reader(true)).build();
    loaded = new CurrentLimits(files.load());
    audit = AuditLog.to(JsonLines.of(noted, AuditLog.KIND, new SimpleMeterRegistry()));
    access = Access.of(loaded, audit, new SimpleMeterRegistry(), null);
    BucketStore store = BucketStore.inMemory();
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("ApiCallsPerKey", Quota.per(100, Duration.ofMinutes(1)))
            .limit("LoginsPerIPAddress", Quota.per(100, Duration.ofMinutes(1)))
            .build();
    Limiter limiter = Limiter.of(limits, store);
    server =
        RespServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            limiter,
            new Reservations(limiter, store, TokenKey.random()),
            access,
            Denials.none(),
            null,
            new SimpleMeterRegistry(),
            ConnectionBudget.usual());
  }

  @AfterEach
  void stop() {
    Thread.currentThread().interrupt(); // so that nobody waits for clients
    server.close();
    var unused = Thread.interrupted();
    access.close();
    audit.close();
  }

  private static void assertFails(@Nullable Object reply, String text) {
    assertThat(reply).isEqualTo(new Failure(text));
  }

  private static String text(@Nullable Object reply) {
    return String.valueOf(reply);
  }

  @Test
  void commands_beforeAuth_areRefusedAsRedisDoes() {
    try (RespClient client = new RespClient(server.address())) {
      assertFails(client.call("PING"), NOAUTH);
      assertFails(client.call("SLUICE.SPEND", "ApiCallsPerKey", "k"), NOAUTH);
      assertFails(client.call("CL.THROTTLE", "k", "1", "1", "1"), NOAUTH);
      assertThat(text(client.call("HELLO", "3")))
          .contains("NOAUTH HELLO must be called with the client already authenticated");
      assertFails(client.call("AUTH", Tokens.fresh()), WRONGPASS);
      assertFails(client.call("AUTH", "ops", DECIDE), WRONGPASS);
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
      assertThat(client.call("PING")).isEqualTo("PONG");
      assertFails(client.call("AUTH", Tokens.fresh()), WRONGPASS);
      assertThat(client.call("PING")).as("known as before").isEqualTo("PONG");
      assertThat(client.call("RESET")).isEqualTo("RESET");
      assertFails(client.call("PING"), NOAUTH);
      assertThat(client.call("QUIT")).isEqualTo("OK");
    }
  }

  @Test
  void hello_authenticates_byNameAndByDefault() {
    for (String user : new String[] {"shop", "default"}) {
      try (RespClient client = new RespClient(server.address())) {
        assertThat(text(client.call("HELLO", "3", "AUTH", user, DECIDE))).contains("sluice");
        assertThat(client.call("PING")).isEqualTo("PONG");
      }
    }
    try (RespClient client = new RespClient(server.address())) {
      assertFails(client.call("HELLO", "3", "AUTH", "ops", DECIDE), WRONGPASS);
    }
  }

  @Test
  void refusal_namesTheCaller_fromItsFirstCommandOn() {
    try (RespClient client = new RespClient(server.address())) {
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
      assertThat(text(client.call("SLUICE.RESET", "ApiCallsPerKey", "k")))
          .contains("NOPERM User shop has no permissions to run the 'sluice.reset' command");
    }
  }

  @Test
  void roleAndScope_holdForEachCommand_alsoWithinABatch() {
    try (RespClient client = new RespClient(server.address())) {
      assertThat(client.call("AUTH", "shop", DECIDE)).isEqualTo("OK");
      assertThat(text(client.call("SLUICE.SPEND", "ApiCallsPerKey", "k"))).contains("allowed");
      assertThat(text(client.call("SLUICE.RESET", "ApiCallsPerKey", "k")))
          .contains("NOPERM User shop has no permissions to run the 'sluice.reset' command")
          .contains("no role admin");
      assertThat(text(client.call("SLUICE.REFUND", "ApiCallsPerKey", "k"))).contains("NOPERM");
      assertThat(
              text(
                  client.call(
                      "SLUICE.BATCH", "REFUND", "ApiCallsPerKey", "k", "1", "checkAndSpend")))
          .contains("NOPERM");
      assertThat(text(client.call("SLUICE.SPEND", "LoginsPerIPAddress", "192.0.2.7")))
          .contains("NOPERM", "may not use the limit LoginsPerIPAddress");
      assertThat(text(client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "192.0.2.7")))
          .contains("NOPERM");
      assertThat(text(client.call("CL.THROTTLE", "k", "1", "1", "1"))).contains("NOPERM");
      assertThat(client.call("AUTH", ADMIN)).isEqualTo("OK");
      assertThat(client.call("SLUICE.RESET", "ApiCallsPerKey", "k")).isEqualTo("OK");
      assertThat(text(client.call("CL.THROTTLE", "k", "1", "1", "1"))).doesNotContain("NOPERM");
    }
  }

  @Test
  void actsThatAreRefused_leaveALineEach_withTheBucket() {
    try (RespClient client = new RespClient(server.address())) {
      assertFails(client.call("SLUICE.RESET", "ApiCallsPerKey", "k"), NOAUTH);
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
      assertThat(text(client.call("SLUICE.REFUND", "ApiCallsPerKey", "k"))).contains("NOPERM");
      String[] batch = {
        "SLUICE.BATCH",
        "RESET",
        "ApiCallsPerKey",
        "a",
        "1",
        "-",
        "LoginsPerIPAddress",
        "b",
        "1",
        "-"
      };
      assertThat(text(client.call(batch))).contains("NOPERM");
      assertThat(client.call("AUTH", ADMIN)).isEqualTo("OK");
      assertThat(text(client.call("SLUICE.RESET", "Nothing", "k"))).contains("ERR");
      assertThat(text(client.call("SLUICE.REFUND", "ApiCallsPerKey", "k", "x"))).contains("ERR");
      assertThat(text(client.call("SLUICE.RESET", "ApiCallsPerKey"))).contains("ERR");
      assertThat(text(client.call("SLUICE.CHECK", "Nothing", "k"))).contains("ERR");
      assertThat(text(client.call("SLUICE.CHECK", "Nothing"))).contains("ERR");
    }
    await()
        .untilAsserted(
            () ->
                assertThat(noted.toString(StandardCharsets.UTF_8).lines())
                    .hasSize(7)
                    .allMatch(line -> line.contains("\"door\":\"resp\""))
                    .allMatch(line -> line.contains("\"result\":\"refused\"")));
    String[] lines = noted.toString(StandardCharsets.UTF_8).split("\n", -1);
    assertThat(lines[0])
        .contains("\"who\":\"unknown\"")
        .contains("\"what\":\"reset\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"");
    assertThat(lines[1]).contains("\"who\":\"shop\"", "\"what\":\"refund\"", "no role admin");
    assertThat(lines[2]).contains("\"what\":\"reset\"", "\"id\":\"a\"");
    assertThat(lines[3]).contains("\"limit\":\"LoginsPerIPAddress\",\"id\":\"b\"");
    assertThat(lines[4]).contains("\"who\":\"ops\"", "\"limit\":\"Nothing\",\"id\":\"k\"");
    assertThat(lines[5]).contains("\"what\":\"refund\"", "\"id\":\"k\"", "cost");
    assertThat(lines[6])
        .contains("\"what\":\"reset\",\"limit\":\"ApiCallsPerKey\"", "wrong number");
  }

  @Test
  void mistakesInActsWithoutTheRole_areNotedTenTimesAMinute() {
    try (RespClient client = new RespClient(server.address())) {
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
      for (int i = 0; i < 10; i++) {
        assertThat(text(client.call("SLUICE.BATCH", "RESET", "ApiCallsPerKey", "k", "1")))
            .contains("NOPERM");
        assertThat(text(client.call("SLUICE.BATCH", "REFUND", "ApiCallsPerKey", "k", "x", "-")))
            .contains("NOPERM");
        assertThat(text(client.call("SLUICE.BATCH", "RESET"))).contains("NOPERM");
      }
      assertThat(client.call("AUTH", ADMIN)).isEqualTo("OK");
      assertThat(client.call("SLUICE.RESET", "ApiCallsPerKey", "k")).isEqualTo("OK");
    }
    await()
        .untilAsserted(
            () -> assertThat(noted.toString(StandardCharsets.UTF_8)).contains("\"who\":\"ops\""));
    assertThat(noted.toString(StandardCharsets.UTF_8).lines().filter(l -> l.contains("refused")))
        .hasSizeBetween(10, 12);
  }

  @Test
  void tokenThatIsTakenOutOfTheFile_stopsOnAnOpenConnection() throws IOException {
    try (RespClient client = new RespClient(server.address())) {
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
      String rest = Files.readString(tokens).replace(Tokens.sha256(DECIDE), "0".repeat(64));
      Files.writeString(tokens, rest);
      loaded.replace(files.load());
      await().untilAsserted(() -> assertThat(text(client.call("PING"))).contains("NOAUTH"));
    }
  }

  @Test
  void eachCommandAfterTheFirstAuth_countsForTheToken_andQuitStillEnds() {
    try (RespClient client = new RespClient(server.address())) {
      assertThat(client.call("AUTH", SLOW)).isEqualTo("OK");
      assertThat(client.call("AUTH", SLOW)).isEqualTo("OK");
      assertThat(text(client.call("HELLO", "3"))).contains("sluice");
      assertThat(text(client.call("NOSUCH"))).contains("ERR unknown command");
      for (String command : new String[] {"NOSUCH", "AUTH " + SLOW, "HELLO", "RESET", "QUIT"}) {
        assertThat(text(client.call(command.split(" ")))).contains("THROTTLED slow sends more");
      }
      assertThat(client.isEnded()).isTrue();
    }
  }

  @Test
  void unknownTokens_areThrottled() {
    try (RespClient client = new RespClient(server.address())) {
      int refused = 0;
      long start = System.nanoTime();
      while (text(client.call("AUTH", Tokens.fresh())).contains("WRONGPASS")) {
        refused++;
      }
      long seconds = Duration.ofNanos(System.nanoTime() - start).toSeconds();
      assertThat(refused).as("30 a minute").isBetween(30, (int) (30 + seconds / 2 + 1));
      assertThat(client.call("AUTH", DECIDE)).isEqualTo("OK");
    }
  }
}
