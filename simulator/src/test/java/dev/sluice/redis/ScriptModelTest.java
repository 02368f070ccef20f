// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The simulated server's script and the real one on a real server, on the same random calls. */
final class ScriptModelTest {

  private static final int CALLS = 1_500;
  private static final List<String> KEYS = List.of("1:a", "1:b", "2:a", "2:b", "3:c");

  @ParameterizedTest
  @ValueSource(longs = {1, 1_000, 50_000_000, 999_999_999, 86_400_000_000_000L, 1L << 61})
  void anyCall_isAnsweredAsTheRealScriptAnswers(long base) {
    Dice dice = new Dice(base);
    ManualTime time = new ManualTime(TimeUnit.DAYS.toNanos(365L * 125));
    InMemory model = new InMemory(time);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      RedisClient client = RedisClient.create(RedisURI.create("127.0.0.1", redis.port()));
      try (var connection = client.connect(ByteArrayCodec.INSTANCE)) {
        RedisCommands<byte[], byte[]> real = connection.sync();
        for (int call = 0; call < CALLS; call++) {
          long step = dice.between(0, Math.min(base, 1L << 50));
          time.advanceNanos(dice.chance(10) ? -step : step);
          List<List<Charge>> batches = batches(dice, base, time.nanos());
          byte[][] names =
              batches.stream()
                  .flatMap(List::stream)
                  .map(charge -> charge.key().getBytes(StandardCharsets.UTF_8))
                  .toArray(byte[][]::new);
          byte[] argument = ChargeScript.argument(new ClientClock(time, Duration.ZERO), batches);
          List<Object> answer =
              real.eval(
                  ChargeScript.SOURCE.getBytes(StandardCharsets.UTF_8),
                  ScriptOutputType.MULTI,
                  names,
                  argument);
          assertThat(texts(ScriptModel.run(model, names, argument)))
              .as("base %d, call %d: %s", base, call, batches)
              .isEqualTo(texts(answer));
        }
        for (String key : KEYS) {
          byte[] stored = real.get(key.getBytes(StandardCharsets.UTF_8));
          assertThat(model.get(key))
              .isEqualTo(stored == null ? null : new String(stored, StandardCharsets.UTF_8));
        }
      } finally {
        client.shutdown();
      }
    }
  }

  private static List<String> texts(List<Object> answer) {
    return answer.stream()
        .map(
            one ->
                one instanceof byte[] bytes
                    ? new String(bytes, StandardCharsets.UTF_8)
                    : String.valueOf(one))
        .toList();
  }

  private static List<List<Charge>> batches(Dice dice, long base, long now) {
    List<List<Charge>> batches = new ArrayList<>();
    for (int i = 0; i <= dice.below(3); i++) {
      List<Charge> batch = new ArrayList<>();
      int first = dice.below(KEYS.size());
      for (int j = 0; j <= dice.below(3); j++) {
        batch.add(charge(dice, KEYS.get((first + j) % KEYS.size()), base, now));
      }
      batches.add(batch);
    }
    return batches;
  }

  private static Charge charge(Dice dice, String key, long base, long now) {
    Op act = Arrays.asList(Op.values()).get(dice.below(Op.values().length));
    if (act == Op.RESET) {
      return new Charge(key, act, 0, 0, Effect.NO_END);
    }
    long offset = dice.between(1, base) + (base < (1L << 60) ? base * dice.below(3) : 0);
    long increment = dice.chance(25) ? 0 : dice.between(0, offset);
    boolean ends = act.hasEnd() && dice.chance(50);
    return new Charge(
        key, act, increment, offset, ends ? now + dice.between(0, offset) : Effect.NO_END);
  }

  /** The keys of the model, which nobody expires here: the real ones live for minutes more. */
  private static final class InMemory implements ScriptModel.Keyspace {
    private final Map<String, String> keys = new HashMap<>();
    private final ManualTime time;

    InMemory(ManualTime time) {
      this.time = time;
    }

    @Override
    public long timeNanos() {
      return time.nanos();
    }

    @Override
    public @Nullable String get(String key) {
      return keys.get(key);
    }

    @Override
    public @Nullable String set(String key, String value, long expiresAtMillis) {

      keys.put(key, value);
      return null;
    }

    @Override
    public @Nullable String delete(String key) {
      keys.remove(key);
      return null;
    }

    @Override
    public void decided(Charge charge, long nowNanos, long tatNanos, long afterNanos) {
      assertThat(Gcra.aheadNanos(nowNanos, tatNanos)).isNotNegative();
    }
  }
}
