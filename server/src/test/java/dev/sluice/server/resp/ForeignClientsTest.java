// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;
import static org.assertj.core.api.InstanceOfAssertFactories.MAP;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;

/** Clients that others wrote for Redis, as their users set them up. */
@Tag("slow")
final class ForeignClientsTest {

  private final ManualTime time = new ManualTime();
  private final TestRespServer server =
      new TestRespServer(
          Limits.builder(Catalogue.samples())
              .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
              .build(),
          BucketStore.inMemory(time));

  @AfterEach
  void stop() {
    server.close();
  }

  /** A name that the clients do not know. */
  private record Name(String text) implements ProtocolKeyword, ProtocolCommand {
    @Override
    public byte[] getBytes() {
      return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] getRaw() {
      return getBytes();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ProtocolVersion.class,
      names = {"RESP2", "RESP3"})
  void lettuce_connects_pipelines_andReadsErrors(ProtocolVersion version) throws Exception {
    RedisURI uri = RedisURI.create("127.0.0.1", server.address().getPort());
    uri.setClientName("a-name");
    RedisClient client = RedisClient.create(uri);
    client.setOptions(ClientOptions.builder().protocolVersion(version).build());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      assertThat(connection.sync().ping()).isEqualTo("PONG");
      assertThat(connection.sync().clientGetname()).isEqualTo("a-name");
      List<RedisFuture<List<Object>>> futures = new ArrayList<>();
      for (int i = 0; i < 2_000; i++) {
        CommandArgs<String, String> args =
            new CommandArgs<>(StringCodec.UTF8).add("key").add(999).add(1).add(60);
        futures.add(
            connection
                .async()
                .dispatch(new Name("CL.THROTTLE"), new ArrayOutput<>(StringCodec.UTF8), args));
      }
      for (int i = 0; i < futures.size(); i++) {
        List<Object> reply = futures.get(i).get(60, TimeUnit.SECONDS);
        assertThat(reply.get(0)).isEqualTo(i < 1_000 ? 0L : 1L);
        assertThat(reply.get(2)).isEqualTo(Math.max(0L, 999 - i));
      }
      CommandArgs<String, String> wrong =
          new CommandArgs<>(StringCodec.UTF8).add("NoSuchLimit").add("x");
      assertThatThrownBy(
              () ->
                  connection
                      .sync()
                      .dispatch(
                          new Name("SLUICE.SPEND"),
                          new NestedMultiOutput<>(StringCodec.UTF8),
                          wrong))
          .isInstanceOf(RedisCommandExecutionException.class)
          .hasMessageContaining("NoSuchLimit");
    } finally {
      client.shutdown(0, 0, TimeUnit.SECONDS);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = RedisProtocol.class,
      names = {"RESP2", "RESP3"})
  void jedis_connects_pipelines_andReadsErrors(RedisProtocol protocol) {
    DefaultJedisClientConfig config =
        DefaultJedisClientConfig.builder()
            .protocol(protocol)
            .clientName("a-name")
            .timeoutMillis(20_000)
            .build();
    HostAndPort address = new HostAndPort("127.0.0.1", server.address().getPort());
    try (Jedis jedis = new Jedis(address, config)) {
      assertThat(jedis.ping()).isEqualTo("PONG");
      assertThat(jedis.clientGetname()).isEqualTo("a-name");
      Name throttle = new Name("CL.THROTTLE");
      assertThat(jedis.sendCommand(throttle, "key", "1", "1", "60"))
          .isEqualTo(List.of(0L, 2L, 1L, -1L, 60L));
      Pipeline pipeline = jedis.pipelined();
      for (int i = 0; i < 100; i++) {
        var unused = pipeline.sendCommand(throttle, "key", "1", "1", "60");
      }
      assertThat(pipeline.syncAndReturnAll())
          .filteredOn(reply -> ((List<?>) reply).get(0).equals(0L))
          .hasSize(1);
      assertThatThrownBy(() -> jedis.sendCommand(new Name("SLUICE.SPEND"), "NoSuchLimit", "x"))
          .isInstanceOf(JedisDataException.class)
          .hasMessageContaining("NoSuchLimit");
      assertThat(jedis.sendCommand(new Name("SLUICE.RESET"), "LoginsPerIPAddress", "192.0.2.7"))
          .isEqualTo("OK".getBytes(StandardCharsets.US_ASCII));
    }
  }

  /**
   * What go-redis 9.22 sends for each new connection, in its spelling and order; older ones leave
   * out {@code maint_notifications}. An error there switches that off.
   */
  @ParameterizedTest
  @ValueSource(strings = {"2", "3"})
  void goRedis_connects_andGoesOnBehindTheErrorThatItExpects(String protocol) {
    try (RespClient goRedis = new RespClient(server.address())) {
      Object hello = goRedis.call("hello", protocol, "setname", "a-name");
      if (protocol.equals("3")) {
        assertThat(hello).asInstanceOf(MAP).containsEntry("proto", 3L);
      } else {
        assertThat(hello).asInstanceOf(LIST).contains("proto", 2L);
      }
      assertThat(goRedis.call("client", "setname", "a-name")).isEqualTo("OK");
      assertThat(
              goRedis.call(
                  "client", "maint_notifications", "on", "moving-endpoint-type", "internal-ip"))
          .isInstanceOfSatisfying(
              RespClient.Failure.class,
              failure -> assertThat(failure.text()).startsWith("ERR unknown subcommand"));
      goRedis.send("client", "setinfo", "LIB-NAME", "go-redis(,go1.25.4)");
      goRedis.send("client", "setinfo", "LIB-VER", "9.22.0");
      goRedis.send("CL.THROTTLE", "user123", "15", "30", "60");
      assertThat(goRedis.reply()).isEqualTo("OK");
      assertThat(goRedis.reply()).isEqualTo("OK");
      assertThat(goRedis.reply()).isEqualTo(List.of(0L, 16L, 15L, -1L, 2L));
    }
  }

  private String run(String... command) throws Exception {
    List<String> words = new ArrayList<>(List.of(command));
    words.addAll(1, List.of("-p", String.valueOf(server.address().getPort())));
    Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return output;
  }

  @Test
  @EnabledIf("dev.sluice.server.Programs#haveRedisTools")
  void redisCli_callsAndShowsEach() throws Exception {
    assertThat(run("redis-cli", "CL.THROTTLE", "user123", "15", "30", "60", "1").lines())
        .containsExactly("0", "16", "15", "-1", "2");
    assertThat(run("redis-cli", "-3", "SLUICE.SPEND", "LoginsPerIPAddress", "192.0.2.7"))
        .contains("allowed (true)", "remaining 9");
    assertThat(run("redis-cli", "SLUICE.SPEND", "LoginsPerIPAddress", "not-an-address"))
        .contains("ERR ", "not-an-address");
    assertThat(run("redis-cli", "INFO")).contains("sluice_version:unknown");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 16})
  @EnabledIf("dev.sluice.server.Programs#haveRedisTools")
  void redisBenchmark_runs(int pipeline) throws Exception {
    String output =
        run(
            "redis-benchmark",
            "-q",
            "-c",
            "8",
            "-n",
            "20000",
            "-r",
            "1000",
            "-P",
            String.valueOf(pipeline),
            "CL.THROTTLE",
            "key:__rand_int__",
            "9",
            "1",
            "60");
    assertThat(output).contains("requests per second").doesNotContain("ERR", "WARNING");
  }
}
