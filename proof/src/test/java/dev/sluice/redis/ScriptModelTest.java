// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.remote.ClientClock;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisAsyncCommands;
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

/**
 * The simulated server's script and the real one on a real server, on the same random calls: the
 * answer, the keys, when they expire, and the server's time as the script sees it.
 */
final class ScriptModelTest {

  private static final int CALLS = 1_500;
  private static final List<String> KEYS = List.of("1:a", "1:b", "2:a", "2:b", "3:c");
  private static final long MILLI = 1_000_000;
  private static final long GONE = -2; // as PTTL answers

  @ParameterizedTest
  @ValueSource(longs = {1, 1_000, 50_000_000, 999_999_999, 86_400_000_000_000L, 1L << 61})
  void anyCall_isAnsweredAsTheRealScriptAnswers(long base) {
    Dice dice = new Dice(base);
    ManualTime time = new ManualTime(TimeUnit.DAYS.toNanos(365L * 125));
    ClientClock clock = new ClientClock(time, Duration.ZERO);
    InMemory model = new InMemory(Map.of(), 0, 0, 0);
    try (RealServer real = new RealServer()) {
      for (int call = 0; call < CALLS; call++) {
        long step = dice.between(0, Math.min(base, 1L << 50));
        time.advanceNanos(dice.chance(10) ? -step : step);
        List<List<Charge>> batches = batches(dice, base, time.nanos(), model);
        String when = World.text("base %d, call %d: %s", base, call, batches);
        byte[][] names = names(batches);
        byte[] argument = ChargeScript.argument(clock, batches);
        Ran ran = real.run(names, argument);
        model = new InMemory(model.keys, ran.fromNanos, ran.toNanos - ran.fromNanos, 0);
        assertThat(texts(ScriptModel.run(model, names, argument))).as(when).isEqualTo(ran.answer);
        requireSameKeys(real, model, when);
      }
    }
  }

  /**
   * Keys expire here: after two milliseconds, or while the calls go on, or long after them. For the
   * whole of a script, Redis expires keys by the millisecond in which the script began. The script
   * asks for the time after that, many milliseconds later on a busy machine.
   */
  @ParameterizedTest
  @ValueSource(longs = {1_000, 5_000_000, 50_000_000, 999_999_999, 86_400_000_000_000L, 1L << 61})
  void anyCall_byTheServersClock_isAnsweredAsTheRealScriptAnswers(long base) {
    Dice dice = new Dice(base);
    InMemory model = new InMemory(Map.of(), 0, 0, 0);
    try (RealServer real = new RealServer()) {
      for (int call = 0; call < CALLS; call++) {
        List<List<Charge>> batches = batches(dice, base, real.timeNanos(), model);
        String when = World.text("base %d, call %d: %s", base, call, batches);
        byte[][] names = names(batches);
        byte[] argument = ChargeScript.argument(null, batches);
        Ran ran = real.run(names, argument);
        List<String> answer = ran.answer;
        long now = Long.parseLong(answer.get(0)) * 1_000 * MILLI + Long.parseLong(answer.get(1));
        assertThat(now).as(when).isBetween(ran.fromNanos, ran.toNanos);
        Map<String, Stored> keys = model.keys;
        long beganMillis = ran.fromNanos / MILLI;
        List<String> modelled;
        do {
          model = new InMemory(keys, now, 0, beganMillis);
          modelled = texts(ScriptModel.run(model, names, argument));
          beganMillis++;
        } while (!modelled.equals(answer) && beganMillis <= now / MILLI);
        assertThat(modelled).as(when).isEqualTo(answer);
        requireSameKeys(real, model, when);
      }
    }
  }

  /** The real server has the keys that the model has, and for as long. */
  private static void requireSameKeys(RealServer real, InMemory model, String when) {
    Found found = real.look();
    long fromMillis = found.fromNanos / MILLI;
    long toMillis = found.toNanos / MILLI;
    for (String key : KEYS) {
      String of = key + ", " + when;
      String value = found.values.get(key);
      long leftMillis = found.leftMillis.get(key);
      Stored expected = model.keys.get(key);
      if (expected == null) {
        assertThat(value).as(of).isNull();
      } else if (value == null || leftMillis == GONE) {
        assertThat(toMillis).as(of).isGreaterThan(expected.fromMillis);
      } else {
        assertThat(value).as(of).isEqualTo(expected.value);
        assertThat(leftMillis)
            .as("how long it lives: %s", of)
            .isBetween(expected.fromMillis - toMillis, expected.toMillis - fromMillis);
      }
    }
  }

  /** The answer of the real script, which ran between two of the server's times. */
  private record Ran(List<String> answer, long fromNanos, long toNanos) {}

  /**
   * The keys of the real server, read between two of its times; those that are gone have no value.
   */
  private record Found(
      Map<String, String> values, Map<String, Long> leftMillis, long fromNanos, long toNanos) {}

  /** A real server with the real script. Questions that belong together are sent together. */
  private static final class RealServer implements AutoCloseable {
    private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
    private final RedisClient client =
        RedisClient.create(RedisURI.create("127.0.0.1", redis.port()));
    private final RedisAsyncCommands<byte[], byte[]> commands =
        client.connect(ByteArrayCodec.INSTANCE).async();
    private final String script = joined(commands.scriptLoad(ChargeScript.SOURCE));

    private static <T> T joined(RedisFuture<T> answer) {
      return answer.toCompletableFuture().join();
    }

    Ran run(byte[][] names, byte[] argument) {
      RedisFuture<List<byte[]>> from = commands.time();
      RedisFuture<List<Object>> answer =
          commands.evalsha(script, ScriptOutputType.MULTI, names, argument);
      long toNanos = timeNanos();
      return new Ran(texts(joined(answer)), nanos(joined(from)), toNanos);
    }

    Found look() {
      RedisFuture<List<byte[]>> from = commands.time();
      Map<String, RedisFuture<byte[]>> values = new HashMap<>();
      Map<String, RedisFuture<Long>> left = new HashMap<>();
      for (String key : KEYS) {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        values.put(key, commands.get(name));
        left.put(key, commands.pttl(name));
      }
      long toNanos = timeNanos();
      Found found = new Found(new HashMap<>(), new HashMap<>(), nanos(joined(from)), toNanos);
      for (String key : KEYS) {
        byte[] value = joined(values.get(key));
        if (value != null) {
          found.values.put(key, new String(value, StandardCharsets.UTF_8));
        }
        found.leftMillis.put(key, joined(left.get(key)));
      }
      return found;
    }

    long timeNanos() {
      return nanos(joined(commands.time()));
    }

    private static long nanos(List<byte[]> time) {
      return number(time.get(0)) * 1_000 * MILLI + number(time.get(1)) * 1_000;
    }

    private static long number(byte[] digits) {
      return Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
    }

    @Override
    public void close() {
      client.shutdown();
      redis.close();
    }
  }

  private static byte[][] names(List<List<Charge>> batches) {
    return batches.stream()
        .flatMap(List::stream)
        .map(charge -> charge.key().getBytes(StandardCharsets.UTF_8))
        .toArray(byte[][]::new);
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

  private static List<List<Charge>> batches(Dice dice, long base, long now, InMemory model) {
    List<List<Charge>> batches = new ArrayList<>();
    for (int i = 0; i <= dice.below(3); i++) {
      List<Charge> batch = new ArrayList<>();
      int first = dice.below(KEYS.size());
      for (int j = 0; j <= dice.below(3); j++) {
        batch.add(charge(dice, KEYS.get((first + j) % KEYS.size()), base, now, model));
      }
      batches.add(batch);
    }
    return batches;
  }

  private static Charge charge(Dice dice, String key, long base, long now, InMemory model) {
    Op act = Arrays.asList(Op.values()).get(dice.below(Op.values().length));
    if (act == Op.RESET) {
      return new Charge(key, act, 0, 0, Effect.NO_END);
    }
    long offset = dice.between(1, base) + (base < (1L << 60) ? base * dice.below(3) : 0);
    long increment = dice.chance(25) ? 0 : dice.between(0, offset);
    if (act == Op.SPEND_UP_TO) {
      long token = dice.between(1, offset);
      return new Charge(key, act, Math.max(increment, token), offset, token);
    }
    Stored known = model.keys.get(key);
    if (act == Op.WITHDRAW && known != null && dice.chance(50)) { // else it never finds its TAT
      return new Charge(key, act, increment, offset, Long.parseUnsignedLong(known.value));
    }
    boolean ends = act.hasEnd() && dice.chance(50);
    return new Charge(
        key, act, increment, offset, ends ? now + dice.between(0, offset) : Effect.NO_END);
  }

  /**
   * A value that expires at a moment of the server's clock.
   *
   * @param fromMillis then or later
   * @param toMillis then or earlier
   */
  private record Stored(String value, long fromMillis, long toMillis) {}

  /** The keys of the model during a call. */
  private static final class InMemory implements ScriptModel.Keyspace {
    private final Map<String, Stored> keys;
    private final long timeNanos;
    private final long spanNanos;

    /**
     * The keys that are left.
     *
     * @param timeNanos the server's time
     * @param spanNanos by how much it may have been later
     * @param expiryMillis the time by which keys expire
     */
    InMemory(Map<String, Stored> keys, long timeNanos, long spanNanos, long expiryMillis) {
      this.keys = new HashMap<>(keys);
      this.keys.values().removeIf(stored -> expiryMillis > stored.toMillis);
      this.timeNanos = timeNanos;
      this.spanNanos = spanNanos;
    }

    @Override
    public long timeNanos() {
      return timeNanos;
    }

    @Override
    public @Nullable String get(String key) {
      Stored stored = keys.get(key);
      return stored == null ? null : stored.value;
    }

    @Override
    public @Nullable String set(String key, String value, long expiresAtMillis) {
      long laterMillis = (timeNanos + spanNanos) / MILLI - timeNanos / MILLI;
      keys.put(key, new Stored(value, expiresAtMillis, expiresAtMillis + laterMillis));
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
