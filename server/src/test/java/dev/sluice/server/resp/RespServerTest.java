// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;
import static org.assertj.core.api.InstanceOfAssertFactories.MAP;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.resp.RespClient.Failure;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RespServerTest {

  private final ManualTime time = new ManualTime();
  private final TestRespServer server = new TestRespServer(limits(), BucketStore.inMemory(time));
  private final RespClient client = server.connect();

  private static Limits limits() {
    return Limits.builder(Catalogue.samples())
        .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
        .limit("ApiCallsPerKey", Quota.burst(100).refill(50, Duration.ofSeconds(1)))
        .override("SignUpsPerIPv6Range", "2001:db8::/64", Quota.per(3, Duration.ofDays(1)))
        .unlimited("FailedLoginsPerIPAddress")
        .build();
  }

  /** A limit of that number would share the buckets of all keys. */
  @Test
  void numberOfTheCallersQuotas_isAMistakeInAFileOfNames(@TempDir Path folder) throws IOException {
    String names =
        "names: [{number: %s, name: Mine, id: string}]".formatted(ThrottleCommands.LIMIT.number());
    LimitFiles files =
        LimitFiles.builder()
            .names(Files.writeString(folder.resolve("names.yml"), names))
            .defaults(Files.writeString(folder.resolve("limits.yml"), "Mine: {unlimited: true}"))
            .build();
    assertThat(files.lint())
        .extracting(Problem::message)
        .containsOnlyOnce(
            "found 2000000001, expected another number: Sluice's own limits have the numbers from 2000000000 to 2000000099");
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private static List<Long> numbers(long... numbers) {
    return Arrays.stream(numbers).boxed().toList();
  }

  /** What comes in one read is decided together where it can be; the replies are the same. */
  @Test
  void commandsOfOneRead_areAnsweredAsOneByOne() {
    List<String> commands =
        List.of(
            "CL.THROTTLE %s 4 60 60",
            "CL.THROTTLE %s 4 60 60 9",
            "cl.throttle %s 5 60 60",
            "THROTTLE %s 5 60 60 2",
            "CL.THROTTLE %s 4 x 60",
            "SLUICE.SPEND LoginsPerIPAddress 192.0.2.%d",
            "SLUICE.SPEND LoginsPerIPAddress 192.0.2.%d 3",
            "sluice.spend ApiCallsPerKey %s 0",
            "SLUICE.SPEND ApiCallsPerKey %s 101",
            "SLUICE.SPEND ApiCallsPerKey %s x",
            "SLUICE.SPEND LoginsPerIPAddress %s",
            "SLUICE.SPEND FailedLoginsPerIPAddress 192.0.2.%d",
            "SLUICE.SPEND ApiCallsPerKy %s",
            "SLUICE.SPEND OrdersPerAccount 7",
            "SLUICE.SPENDUPTO LoginsPerIPAddress 192.0.2.%d 3",
            "SLUICE.CHECK LoginsPerIPAddress 192.0.2.%d",
            "SLUICE.RESET LoginsPerIPAddress 192.0.2.%d",
            "PING");
    Random random = new Random(15);
    try (TestRespServer other = new TestRespServer(limits(), BucketStore.inMemory(time));
        RespClient alone = other.connect()) {
      for (int round = 0; round < 50; round++) {
        StringBuilder sent = new StringBuilder();
        List<@Nullable Object> expected = new ArrayList<>();
        int size = 1 + random.nextInt(80);
        for (int i = 0; i < size; i++) {
          int id = random.nextInt(4);
          String text = commands.get(random.nextInt(commands.size()));
          String command = text.replace("%s", "key" + id).replace("%d", "" + id);
          sent.append(command).append("\r\n");
          expected.add(alone.call(command.split(" ", -1)));
        }
        client.raw(sent.toString());
        List<@Nullable Object> replies = new ArrayList<>();
        for (int i = 0; i < size; i++) {
          replies.add(client.reply());
        }
        assertThat(replies).isEqualTo(expected);
        time.advance(Duration.ofMillis(random.nextInt(3_000)));
      }
    }
  }

  /** Commands that are decided together are counted together, but before INFO tells of them. */
  @Test
  void info_countsEveryCommand() {
    String throttle = "CL.THROTTLE k 10 10 60\r\n";
    client.raw(throttle.repeat(3) + "throttle k 10 10 60\r\n" + throttle + "INFO\r\n");
    for (int i = 0; i < 5; i++) {
      assertThat(client.reply()).asInstanceOf(LIST).hasSize(5);
    }
    assertThat((String) client.reply()).contains("total_commands_processed:6\r\n");
    client.raw(throttle);
    assertThat(client.reply()).asInstanceOf(LIST).hasSize(5);
    assertThat((String) client.call("INFO")).contains("total_commands_processed:8\r\n");
  }

  @Test
  void connectionThatEnds_isNoLongerCounted() {
    Gauge connections = server.meters().get("sluice.resp.connections").gauge();
    try (RespClient second = server.connect();
        RespClient third = server.connect()) {
      for (RespClient one : List.of(client, second, third)) {
        assertThat(one.call("PING")).isEqualTo("PONG");
      }
      assertThat(connections.value()).isEqualTo(3);
    }
    await().until(() -> connections.value() == 1);
    assertThat((String) client.call("INFO"))
        .contains("connected_clients:1\r\n", "total_connections_received:3\r\n");
    assertThat(server.meters().get("sluice.resp.commands").tag("command", "ping").functionCounter())
        .extracting(FunctionCounter::count)
        .isEqualTo(3.0);
  }

  @Test
  void throttle_answersAsThrottlecrabDoes() {
    assertThat(client.call("THROTTLE", "k", "2", "60", "60")).isEqualTo(numbers(1, 2, 1, 1, 0));
    assertThat(client.call("THROTTLE", "k", "2", "60", "60")).isEqualTo(numbers(1, 2, 0, 2, 0));
    assertThat(client.call("THROTTLE", "k", "2", "60", "60")).isEqualTo(numbers(0, 2, 0, 2, 1));
    assertThat(client.call("THROTTLE", "k", "2", "60", "60", "3"))
        .isEqualTo(numbers(0, 2, 0, 2, -1));
  }

  @Test
  void spendUpTo_takesWhatIsThere() {
    List<@Nullable Object> took = new ArrayList<>(List.of("taken", 10L));
    took.addAll(fields(1, 0, 60_000_000_000L, 60_000_000_000L));
    assertThat(client.call("SLUICE.SPENDUPTO", "LoginsPerIPAddress", "192.0.2.9", "99"))
        .isEqualTo(took);
    List<@Nullable Object> nothing = new ArrayList<>(List.of("taken", 0L));
    nothing.addAll(fields(0, 0, 6_000_000_000L, 60_000_000_000L));
    assertThat(client.call("SLUICE.SPENDUPTO", "LoginsPerIPAddress", "192.0.2.9", "2"))
        .isEqualTo(nothing);
    assertThat(client.call("SLUICE.SPENDUPTO", "LoginsPerIPAddress", "192.0.2.9", "0"))
        .asString()
        .contains("ERR", "found 0, expected the largest number of tokens to spend, 1 or more");
  }

  @Test
  void spend_check_refund_andReset_ofAConfiguredLimit() {
    assertThat(client.call("SLUICE.SPEND", "LoginsPerIPAddress", "192.0.2.7", "4"))
        .isEqualTo(fields(1, 6, 0, 24_000_000_000L));
    assertThat(client.call("SLUICE.CHECK", "LoginsPerIPAddress", "192.0.2.7"))
        .isEqualTo(fields(1, 5, 0, 30_000_000_000L));
    assertThat(client.call("SLUICE.SPEND", "LoginsPerIPAddress", "192.0.2.7", "7"))
        .isEqualTo(fields(0, 6, 6_000_000_000L, 24_000_000_000L));
    assertThat(client.call("SLUICE.REFUND", "LoginsPerIPAddress", "192.0.2.7", "2"))
        .isEqualTo(fields(1, 8, 0, 12_000_000_000L));
    assertThat(client.call("SLUICE.RESET", "LoginsPerIPAddress", "192.0.2.7")).isEqualTo("OK");
    assertThat(client.call("SLUICE.CHECK", "LoginsPerIPAddress", "192.0.2.7", "0"))
        .isEqualTo(fields(1, 10, 0, 0));
  }

  @Test
  void limitWithoutANumber_isSpentByItsName() {
    Limits own =
        Limits.builder(Catalogue.of(LimitName.builder("ExportsPerUser").build()))
            .limit("ExportsPerUser", Quota.per(10, Duration.ofMinutes(1)))
            .build();
    try (TestRespServer other = new TestRespServer(own, BucketStore.inMemory(time));
        RespClient one = other.connect()) {
      assertThat(one.call("SLUICE.SPEND", "ExportsPerUser", "42"))
          .isEqualTo(fields(1, 9, 0, 6_000_000_000L));
    }
  }

  private static List<Object> fields(long allowed, long remaining, long retryIn, long resetIn) {
    return List.of(
        "allowed",
        allowed,
        "limited",
        1L,
        "remaining",
        remaining,
        "retryInNanos",
        retryIn,
        "resetInNanos",
        resetIn,
        "degraded",
        0L,
        "decidedBy",
        "store");
  }

  /** A client that pipelined a transaction learned of it at EXEC alone. */
  @Test
  void multi_namesTheCommandForSeveralLimits() {
    for (String command : new String[] {"MULTI", "multi", "EXEC"}) {
      assertThat(client.call(command).toString()).contains("SLUICE.BATCH");
    }
  }

  @Test
  void resp3_hasMapsAndTruth() {
    assertThat(client.call("HELLO", "3"))
        .isInstanceOfSatisfying(
            Map.class,
            hello -> {
              assertThat(hello.get("proto")).isEqualTo(3L);
              assertThat(hello.get("mode")).isEqualTo("standalone");
            });
    assertThat(client.call("SLUICE.SPEND", "FailedLoginsPerIPAddress", "192.0.2.7"))
        .isInstanceOfSatisfying(
            Map.class,
            decision -> {
              assertThat(decision.get("allowed")).isEqualTo(true);
              assertThat(decision.get("limited")).isEqualTo(false);
              assertThat(decision.get("remaining")).isNull();
              assertThat(decision.get("resetInNanos")).isEqualTo(0L);
            });
    assertThat(client.call("CL.THROTTLE", "k", "0", "1", "60")).isEqualTo(numbers(0, 1, 0, -1, 60));
  }

  @Test
  void reservation_isCancelledByItsToken_once() {
    assertThat(client.call("HELLO", "3")).isInstanceOf(Map.class);
    Map<?, ?> held =
        (Map<?, ?>) client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "192.0.2.7", "4", "30s");
    assertThat(held.get("allowed")).isEqualTo(true);
    assertThat(held.get("remaining")).isEqualTo(6L);
    assertThat(held.get("expiresInNanos")).isEqualTo(30_000_000_000L);
    String token = String.valueOf(held.get("token"));

    assertThat(client.call("SLUICE.CANCEL", token)).isEqualTo("OK");

    assertThat(client.call("SLUICE.CANCEL", token))
        .isEqualTo(new Failure("USEDTOKEN the reservation was cancelled or settled already"));
    Map<?, ?> state =
        (Map<?, ?>) client.call("SLUICE.CHECK", "LoginsPerIPAddress", "192.0.2.7", "0");
    assertThat(state.get("remaining")).isEqualTo(10L);
  }

  @Test
  void reservation_isSettledByItsToken_once() {
    assertThat(client.call("HELLO", "3")).isInstanceOf(Map.class);
    Map<?, ?> held = (Map<?, ?>) client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "::7", "4");
    String token = String.valueOf(held.get("token"));
    assertThat(client.call("SLUICE.SETTLE", token, "LoginsPerIPAddress", "0"))
        .isEqualTo(
            new Failure(
                "ERR cost of LoginsPerIPAddress: found 0, expected 1 or more; if the call cost nothing, set allowZero (ALLOWZERO over the Redis protocol)"));

    Map<?, ?> settled =
        (Map<?, ?>) client.call("SLUICE.SETTLE", token, "LoginsPerIPAddress", "0", "allowzero");

    assertThat(settled.get("settled")).isEqualTo(true);
    assertThat(String.valueOf(settled.get("limits")))
        .contains("limit=LoginsPerIPAddress")
        .contains("charged=0")
        .contains("givenBack=4")
        .contains("remaining=10");
    assertThat(client.call("SLUICE.SETTLE", token, "LoginsPerIPAddress", "1"))
        .isEqualTo(new Failure("USEDTOKEN the reservation was cancelled or settled already"));
  }

  @Test
  void reservation_thatIsDenied_hasNoToken() {
    Map<Object, Object> held = new HashMap<>();
    List<?> reply =
        (List<?>) client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "192.0.2.7", "10");
    assertThat(reply).hasSize(18);
    reply = (List<?>) client.call("SLUICE.RESERVE", "LoginsPerIPAddress", "192.0.2.7");
    for (int i = 0; i < reply.size(); i += 2) {
      held.put(reply.get(i), reply.get(i + 1));
    }
    assertThat(held).containsEntry("allowed", 0L).containsEntry("token", null);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SLUICE.RESERVE LoginsPerIPAddress 192.0.2.7 1 2d | ERR expires: found 48h, expected a time from 1s to 24h",
        "SLUICE.RESERVE Nope 192.0.2.7 | ERR limit: no limit has the name \"Nope\"",
        "SLUICE.SETTLE x a 1 b | ERR found b after the costs, expected ALLOWZERO or a limit and its cost",
        "SLUICE.SETTLE x a -1 | ERR cost of a: found -1, expected 0 or more",
        "SLUICE.SETTLE x a one | ERR cost: found one, expected a whole number of tokens",
        "SLUICE.SETTLE x a 1 a 2 | ERR the cost of a is given twice; give it once",
        "SLUICE.SETTLE x a 1 | UNKNOWNTOKEN the reservation token was not signed with this server's key; give all servers of a fleet the same --token-key-file",
        "SLUICE.CANCEL x | UNKNOWNTOKEN the reservation token was not signed with this server's key; give all servers of a fleet the same --token-key-file",
      })
  void reservation_withAMistake_isRefused(String command, String error) {
    assertThat(client.call(command.split(" "))).isEqualTo(new Failure(error));
  }

  @Test
  void settlement_withMoreThan100Costs_isRefused() {
    StringBuilder command = new StringBuilder("SLUICE.SETTLE x");
    for (int i = 0; i < 100; i++) {
      command.append(" a").append(i).append(" 1");
    }
    assertThat(client.call((command + " ALLOWZERO").split(" ")).toString())
        .contains("UNKNOWNTOKEN");
    assertThat(client.call((command + " b 1").split(" ")))
        .isEqualTo(
            new Failure(
                "ERR costs: found more than 100 costs, expected at most 100, as many as a reservation has"));
  }

  @Test
  void settlement_ofSeveralQuotas_namesEachByItsPeriod() {
    Limits own =
        Limits.builder(Catalogue.of(LimitName.builder("Calls").build()))
            .limit(
                "Calls",
                List.of(Quota.per(100, Duration.ofHours(1)), Quota.per(10, Duration.ofSeconds(1))))
            .build();
    try (TestRespServer other = new TestRespServer(own, BucketStore.inMemory(time));
        RespClient one = other.connect()) {
      assertThat(one.call("HELLO", "3")).isInstanceOf(Map.class);
      Map<?, ?> held = (Map<?, ?>) one.call("SLUICE.RESERVE", "Calls", "a", "7");
      Object settled = one.call("SLUICE.SETTLE", String.valueOf(held.get("token")), "Calls", "9");
      assertThat(settled.toString())
          .contains("id=a, period=1h0m0s, charged=9", "id=a, period=1s, charged=9");
    }
  }

  @Test
  void batch_isAllOrNothing_withTheDecisionOfEach() {
    assertThat(client.call("HELLO", "3")).isInstanceOf(Map.class);
    Object batch =
        client.call(
            "SLUICE.BATCH",
            "spend",
            "LoginsPerIPAddress",
            "192.0.2.7",
            "2",
            "checkAndSpend",
            "ApiCallsPerKey",
            "k",
            "100",
            "checkOnly");
    assertThat(batch)
        .isInstanceOfSatisfying(
            Map.class,
            decision -> {
              assertThat(decision.get("allowed")).isEqualTo(true);
              assertThat((List<?>) decision.get("decisions")).hasSize(2);
            });
    assertThat(
            client.call(
                "SLUICE.BATCH",
                "SPEND",
                "LoginsPerIPAddress",
                "192.0.2.7",
                "9",
                "checkAndSpend",
                "ApiCallsPerKey",
                "k",
                "1",
                "checkAndSpend"))
        .isInstanceOfSatisfying(
            Map.class, decision -> assertThat(decision.get("allowed")).isEqualTo(false));
    assertThat(client.call("SLUICE.CHECK", "ApiCallsPerKey", "k", "100"))
        .isInstanceOfSatisfying(
            Map.class, decision -> assertThat(decision.get("allowed")).isEqualTo(true));
    assertThat(client.call("SLUICE.BATCH", "RESET", "ApiCallsPerKey", "k", "nope", "checkAndSpend"))
        .asString()
        .contains("cost: found nope");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SLUICE.SPEND NoSuchLimit x | NoSuchLimit",
        "SLUICE.SPEND SignUpsPerIPAddress x | SignUpsPerIPAddress has no default",
        "SLUICE.SPEND SignUpsPerIPv6Range 2001:db8:1::/64 | SignUpsPerIPv6Range has no default",
        "SLUICE.CHECK SignUpsPerIPv6Range 2001:db8:1::/64 | SignUpsPerIPv6Range has no default",
        "SLUICE.REFUND SignUpsPerIPv6Range 2001:db8:1::/64 | SignUpsPerIPv6Range has no default",
        "SLUICE.RESET SignUpsPerIPv6Range 2001:db8:1::/64 | SignUpsPerIPv6Range has no default",
        "SLUICE.RESERVE SignUpsPerIPv6Range 2001:db8:1::/64 | SignUpsPerIPv6Range has no default",
        "SLUICE.BATCH SPEND SignUpsPerIPv6Range 2001:db8:1::/64 1 checkOnly | has no default",
        "SLUICE.SPEND LoginsPerIPAddress x | x",
        "SLUICE.SPEND LoginsPerIPAddress 192.0.2.7 11 | cost",
        "SLUICE.SPEND LoginsPerIPAddress 192.0.2.7 -1 | cost",
        "SLUICE.SPEND LoginsPerIPAddress 192.0.2.7 many | cost",
        "SLUICE.SPEND LoginsPerIPAddress | sluice.spend",
        "SLUICE.RESET LoginsPerIPAddress 192.0.2.7 1 | sluice.reset",
        "SLUICE.BATCH TAKE LoginsPerIPAddress 192.0.2.7 1 checkOnly | TAKE",
        "SLUICE.BATCH SPEND LoginsPerIPAddress 192.0.2.7 1 checkonly | checkOnly",
        "SLUICE.BATCH SPEND LoginsPerIPAddress 192.0.2.7 1 checkOnly x | four",
        "NOSUCH a b | unknown command 'NOSUCH', with args beginning with: 'a' 'b'",
        "CLIENT KILL x | unknown subcommand"
      })
  void mistakes_areAnswered_andTheConnectionGoesOn(String command, String says) {
    client.raw(command + "\r\n");
    assertThat(client.reply())
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR ").contains(says));
    assertThat(client.call("PING")).isEqualTo("PONG");
  }

  @Test
  void pipelinedCommands_areAnsweredInOrder() {
    StringBuilder text = new StringBuilder();
    int count = 5_000;
    for (int i = 0; i < count; i++) {
      text.append("ECHO ").append(i).append("\r\nCL.THROTTLE k 9999 1 3600\r\n");
    }
    Thread sender = new Thread(() -> client.raw(text.toString()));
    sender.start();
    for (int i = 0; i < count; i++) {
      assertThat(client.reply()).isEqualTo(String.valueOf(i));
      assertThat(client.reply()).isEqualTo(numbers(0, 10_000, 9_999 - i, -1, 3600L * (i + 1)));
    }
  }

  /** What stands behind a run is decided behind it: on the same bucket, and on the same version. */
  @Test
  void runOfThrottles_isDecidedBeforeAnythingElse_inOrder() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 40; i++) { // more than a run holds
      text.append("CL.THROTTLE plain 99 1 60\r\n");
    }
    text.append("THROTTLE plain 100 1 60 1\r\n"); // the same bucket
    text.append("CL.THROTTLE \"50%\" 9 1 60\r\n"); // not a key for a run
    text.append("CL.THROTTLE plain x 1 60\r\n");
    text.append("CL.THROTTLE plain 99 1 60\r\n");
    text.append("SLUICE.SPEND LoginsPerIPAddress 192.0.2.1\r\n");
    text.append("CL.THROTTLE plain 99 1 60\r\n");
    text.append("HELLO 3\r\nCL.THROTTLE \"50%\" 9 1 60\r\nCL.THROTTLE plain 99 1 60\r\n");
    client.raw(text.toString());
    for (int i = 0; i < 40; i++) {
      assertThat(client.reply()).isEqualTo(numbers(0, 100, 99 - i, -1, 60L * (i + 1)));
    }
    assertThat(client.reply()).isEqualTo(numbers(1, 100, 59, 60 * 41, 0));
    assertThat(client.reply()).isEqualTo(numbers(0, 10, 9, -1, 60));
    assertThat(client.reply())
        .isEqualTo(
            new Failure("ERR max_burst: found x, expected a whole number of 64 bits, 0 or more"));
    assertThat(client.reply()).isEqualTo(numbers(0, 100, 58, -1, 60 * 42));
    assertThat(client.reply()).asInstanceOf(LIST).contains("remaining", 9L);
    assertThat(client.reply()).isEqualTo(numbers(0, 100, 57, -1, 60 * 43));
    assertThat(client.reply()).asInstanceOf(MAP).containsEntry("proto", 3L);
    assertThat(client.reply()).isEqualTo(numbers(0, 10, 8, -1, 120));
    assertThat(client.reply()).isEqualTo(numbers(0, 100, 56, -1, 60 * 44));
  }

  @Test
  void whatClientsSendOnConnect_isAnsweredAsRedisDoes() {
    assertThat(client.call("CLIENT", "SETINFO", "LIB-NAME", "x")).isEqualTo("OK");
    assertThat(client.call("CLIENT", "SETNAME", "me")).isEqualTo("OK");
    assertThat(client.call("CLIENT", "GETNAME")).isEqualTo("me");
    assertThat((Long) client.call("CLIENT", "ID")).isPositive();
    assertThat(client.call("SELECT", "0")).isEqualTo("OK");
    assertThat(client.call("SELECT", "1")).isInstanceOf(Failure.class);
    assertThat(client.call("AUTH", "secret"))
        .isInstanceOfSatisfying(
            Failure.class,
            failure -> assertThat(failure.text()).contains("without any password configured"));
    assertThat(client.call("CONFIG", "GET", "save", "other")).isEqualTo(List.of("save", ""));
    assertThat((String) client.call("INFO")).contains("redis_version:", "sluice_version:unknown");
    assertThat((List<?>) client.call("COMMAND")).hasSameSizeAs(commands());
    assertThat((Long) client.call("COMMAND", "COUNT")).isEqualTo(commands().size());
    assertThat((List<?>) client.call("COMMAND", "DOCS", "ping")).hasSize(2);
    assertThat(client.call("COMMAND", "INFO", "nosuch")).isEqualTo(Arrays.asList((Object) null));
    assertThat(client.call("READONLY")).isInstanceOf(Failure.class);
    assertThat(client.call("PING", "hello")).isEqualTo("hello");
    assertThat(client.call("HELLO", "4"))
        .isEqualTo(new Failure("NOPROTO unsupported protocol version"));
    assertThat(client.call("RESET")).isEqualTo("RESET");
    assertThat(client.call("CLIENT", "GETNAME")).isNull();
    assertThat(client.call("QUIT")).isEqualTo("OK");
    assertThat(client.isEnded()).isTrue();
  }

  /** Clients that read from replicas send them what does not write. */
  @Test
  void commandInfo_saysWhatWrites_andWhereTheKeyIs() {
    assertThat(client.call("COMMAND", "INFO", "CL.THROTTLE", "SLUICE.SPEND", "PING"))
        .isEqualTo(
            List.of(
                info("cl.throttle", -5, List.of("write", "fast"), 1),
                info("sluice.spend", -3, List.of("write", "fast"), 0),
                info("ping", -1, List.of("fast"), 0)));
    List<Object> writing = new ArrayList<>();
    List<Object> withKey = new ArrayList<>();
    for (Object one : (List<?>) client.call("COMMAND")) {
      List<?> info = (List<?>) one;
      if (((List<?>) info.get(2)).contains("write")) {
        writing.add(info.get(0));
      }
      if (info.subList(3, 6).equals(numbers(1, 1, 1))) {
        withKey.add(info.get(0));
      } else {
        assertThat(info.subList(3, 6)).as("%s", info).isEqualTo(numbers(0, 0, 0));
      }
    }
    assertThat(writing)
        .containsExactlyInAnyOrder(
            "cl.throttle",
            "throttle",
            "sluice.spend",
            "sluice.spendupto",
            "sluice.refund",
            "sluice.reset",
            "sluice.batch",
            "sluice.reserve",
            "sluice.cancel",
            "sluice.settle");
    assertThat(withKey).containsExactlyInAnyOrder("cl.throttle", "throttle");
  }

  private static List<Object> info(String name, long arity, List<String> flags, long key) {
    List<Object> none = List.of();
    return List.of(name, arity, flags, key, key, key, none, none, none, none);
  }

  private static List<Command> commands() {
    BucketStore store = BucketStore.inMemory();
    Limiter limiter = Limiter.of(limits(), store);
    LimitCommands limits = new LimitCommands(limiter, AuditLog.none(), Denials.none());
    List<Command> all = new ArrayList<>(new ThrottleCommands(limiter, Denials.none()).all());
    all.addAll(limits.all());
    all.addAll(
        new ReservationCommands(limits, new Reservations(limiter, store, TokenKey.random())).all());
    all.addAll(new ConnectionCommands("", () -> "").all());
    return all;
  }

  @ParameterizedTest
  @ValueSource(strings = {"*1\r\n+PING\r\n", "*2000\r\n", "*1\r\n$99999999\r\n", "PING \"\r\n"})
  void aProtocolError_isSaid_andEndsTheConnection(String bytes) {
    client.call("PING");
    client.raw(bytes);
    assertThat(client.reply())
        .isInstanceOfSatisfying(
            Failure.class,
            failure -> assertThat(failure.text()).startsWith("ERR Protocol error: "));
    assertThat(client.isEnded()).isTrue();
  }

  /** What a web page can make a browser send must not spend or reset anything. */
  @Test
  void httpRequests_endTheConnection() {
    client.raw("POST / HTTP/1.1\r\nHost: x\r\n\r\nSLUICE.RESET LoginsPerIPAddress 192.0.2.7\r\n");
    assertThat(client.reply()).isInstanceOf(Failure.class);
    assertThat(client.isEnded()).isTrue();
    try (RespClient other = server.connect()) {
      other.raw("GET / HTTP/1.1\r\nHost: x\r\n\r\nSLUICE.RESET LoginsPerIPAddress x\r\n");
      assertThat(other.reply()).isInstanceOf(Failure.class); // GET is no command
      assertThat(other.reply()).isInstanceOf(Failure.class);
      assertThat(other.isEnded()).isTrue();
    }
  }

  @Test
  void aHalfClosedConnection_getsAllItsReplies() {
    int count = 20_000;
    Thread sender =
        new Thread(
            () -> {
              client.raw("PING\r\n".repeat(count));
              client.endOutput();
            });
    sender.start();
    for (int i = 0; i < count; i++) {
      assertThat(client.reply()).isEqualTo("PONG");
    }
    assertThat(client.isEnded()).isTrue();
  }

  /** Alone, and among commands of one read, which are decided together. */
  @Test
  void debtOfARule_isForgivenByNoCommand(@TempDir Path folder) throws IOException {
    Limits withRules =
        LimitFiles.builder()
            .defaults(
                Files.writeString(
                    folder.resolve("limits.yml"),
                    "ApiCallsPerKey: {burst: 9, count: 9, period: 9s, debt: 10}"))
            .companion(
                Files.writeString(
                    folder.resolve("rules.yml"),
                    "rules: [{entries: [k], limit: ApiCallsPerKey, id: \"{k}\", excess: debt}]"),
                RuleBook.reader())
            .build()
            .load();
    BucketStore store = BucketStore.inMemory(time);
    LimitName name = withRules.catalogue().get("ApiCallsPerKey");
    Quota deep = Quota.burst(99).refill(9, Duration.ofSeconds(9));
    for (String key : List.of("ann", "bob")) {
      Transaction debt = Transaction.of(name, deep, key).withCost(99).spendOnly();
      assertThat(Limiter.of(withRules, store).spend(List.of(debt)).parts().get(0).allowed())
          .isTrue();
    }
    try (TestRespServer other = new TestRespServer(withRules, store);
        RespClient asking = other.connect()) {
      Object owed = asking.call("SLUICE.CHECK", "ApiCallsPerKey", "ann");
      assertThat(asking.call("SLUICE.SPEND", "ApiCallsPerKey", "ann")).isEqualTo(owed);
      asking.raw("SLUICE.SPEND ApiCallsPerKey ann\r\nSLUICE.SPEND ApiCallsPerKey bob\r\n");
      assertThat(List.of(asking.reply(), asking.reply())).containsExactly(owed, owed);
      assertThat(asking.call("SLUICE.CHECK", "ApiCallsPerKey", "ann")).isEqualTo(owed);
    }
  }
}
