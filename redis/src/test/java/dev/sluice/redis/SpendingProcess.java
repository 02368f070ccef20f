// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/** A process that spends from one bucket, and prints how often it was allowed to. */
final class SpendingProcess {

  static final int BURST = 30_000;
  static final int BOULDER_BUCKETS = 10; // with a tenth of the burst each

  private static final int TOGETHER = 100;
  private static final Quota QUOTA = Quota.burst(BURST).refill(1, Duration.ofHours(1));

  private SpendingProcess() {}

  public static void main(String[] args) {
    String uri = args[1];
    int spends = Integer.parseInt(args[2]);
    RedisClient client = RedisClient.create(args[1]);
    RedisCommands<String, String> commands = client.connect().sync();
    try (RedisStore store =
        RedisStore.builder(uri)
            .timeout(Duration.ofSeconds(30))
            .connectTimeout(Duration.ofSeconds(30))
            .denials(Duration.ZERO)
            .open()) {
      store.ping();
      System.out.write('.');
      System.out.flush();
      while (commands.get("go") == null) {
        LockSupport.parkNanos(1_000_000);
      }
      System.out.println(
          args[0].equals("boulder") ? boulder(commands, spends) : sluice(store, spends));
    } finally {
      client.shutdown();
    }
  }

  private static long sluice(RedisStore store, int spends) {
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(1, "Hot").id(IdFormat.string()).build()))
            .limit("Hot", QUOTA)
            .build();
    Limiter limiter = Limiter.of(limits, store);
    long granted = 0;
    for (int i = 0; i < spends; i += TOGETHER) {
      List<CompletableFuture<Decision>> calls = new ArrayList<>();
      for (int j = 0; j < TOGETHER; j++) {
        calls.add(limiter.async().spend("Hot", "x").toCompletableFuture());
      }
      granted += calls.stream().filter(call -> call.join().allowed()).count();
    }
    return granted;
  }

  /**
   * Boulder's scheme: read, decide here by this process's clock, add, set the life. On some
   * buckets, one after the other, since it only errs where a bucket begins and where it ends.
   */
  private static long boulder(RedisCommands<String, String> commands, int spends) {
    long granted = 0;
    for (int i = 0; i < spends; i++) {
      String key = "boulder:" + i * BOULDER_BUCKETS / spends;
      long now = System.currentTimeMillis() * 1_000_000;
      String stored = commands.get(key);
      long tat = stored == null ? 0 : Long.parseLong(stored);
      long after = Math.max(now, tat) + QUOTA.intervalNanos();
      if (now - (after - QUOTA.offsetNanos() / BOULDER_BUCKETS) < 0) {
        continue;
      }
      long ttl = Duration.ofNanos(after - now).plusMinutes(10).toSeconds();
      if (tat == 0) {
        commands.set(key, "" + after, SetArgs.Builder.ex(ttl));
      } else {
        commands.incrby(key, QUOTA.intervalNanos());
        commands.expire(key, ttl);
      }
      granted++;
    }
    return granted;
  }
}
