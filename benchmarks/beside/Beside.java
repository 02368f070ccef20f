// SPDX-License-Identifier: Apache-2.0
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures a few scenes, using only the API that all versions of the library have. The script
 * {@code run} in this folder compares versions with this program. For each scene, the program
 * prints a line with the name, a tab, and the time.
 *
 * <p>As in a server, each request to the memory store has a new string as its id.
 */
public final class Beside {

  private static final int CALLS = 200_000; // the number of calls in a window of time
  private static final int WINDOWS = 21;
  private static final Quota QUOTA = Quota.per(30_000_000, Duration.ofMinutes(5L * 30_000_000));

  private Beside() {}

  public static void main(String[] args) throws Exception {
    for (int keys : new int[] {1, 1_000, 1_000_000}) {
      memory(keys);
    }
    if (args.length > 0) {
      redis(args[0]);
    }
    System.exit(0);
  }

  private static Limiter limiter(BucketStore store) {
    LimitName name = LimitName.builder(1, "L").id(IdFormat.string()).build();
    return Limiter.of(Limits.builder(Catalogue.of(name)).limit("L", QUOTA).build(), store);
  }

  private interface Spend {
    boolean spend(String id);
  }

  private static void memory(int keys) {
    Limiter limiter = limiter(BucketStore.inMemory());
    var limit = limiter.limit("L");
    byte[][] ids = new byte[keys][];
    for (int i = 0; i < keys; i++) {
      ids[i] =
          String.format(Locale.ROOT, "198.51.100.%09d", i * 7919L % 1_000_000_007L)
              .getBytes(java.nio.charset.StandardCharsets.US_ASCII);
      limiter.spend("L", text(ids[i]));
    }
    System.out.printf(
        Locale.ROOT, "ns, %,d keys, handle\t%.1f%n", keys, nanos(ids, limit::trySpend));
    System.out.printf(
        Locale.ROOT,
        "ns, %,d keys, by name\t%.1f%n",
        keys,
        nanos(ids, id -> limiter.spend("L", id).allowed()));
  }

  @SuppressWarnings("deprecation") // the fastest way to create a string without a cached hash
  private static String text(byte[] ascii) {
    return new String(ascii, 0);
  }

  /**
   * Returns the nanoseconds per decision in the median window. The time for creating the ids is not
   * included.
   */
  private static double nanos(byte[][] ids, Spend spend) {
    double[] windows = new double[WINDOWS];
    String[] texts = new String[CALLS];
    long random = 42;
    long allowed = 0;
    for (int window = -WINDOWS; window < WINDOWS; window++) {
      for (int i = 0; i < CALLS; i++) {
        random = random * 6364136223846793005L + 1442695040888963407L;
        texts[i] = text(ids[(int) ((random >>> 33) % ids.length)]);
      }
      long began = System.nanoTime();
      for (String text : texts) {
        allowed += spend.spend(text) ? 1 : 0;
      }
      if (window >= 0) {
        windows[window] = (System.nanoTime() - began) / (double) CALLS;
      }
    }
    if (allowed != 2L * WINDOWS * CALLS) {
      throw new IllegalStateException("denied");
    }
    Arrays.sort(windows);
    return windows[WINDOWS / 2];
  }

  private static void redis(String uri) throws Exception {
    try (RedisStore store = RedisStore.open(uri)) {
      Limiter limiter = limiter(store);
      for (int callers : new int[] {1, 64}) {
        callers(limiter, callers, 4); // warm-up
        System.out.printf(
            Locale.ROOT,
            "µs a decision, Redis, %d callers\t%.2f%n",
            callers,
            callers(limiter, callers, 4));
      }
    }
  }

  /** Returns the elapsed microseconds divided by the number of decisions of all callers. */
  private static double callers(Limiter limiter, int callers, int seconds) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    LongAdder decisions = new LongAdder();
    CountDownLatch ended = new CountDownLatch(callers);
    long began = System.nanoTime();
    for (int i = 0; i < callers; i++) {
      int caller = i;
      Thread thread =
          new Thread(
              () -> {
                for (int n = caller; !over.get(); n += 61) {
                  try {
                    limiter.spend("L", "k" + n % 10_000);
                    decisions.increment();
                  } catch (StoreException e) {
                    // Ignored: in an older version, the first calls can time out.
                  }
                }
                ended.countDown();
              });
      thread.setDaemon(true);
      thread.start();
    }
    Thread.sleep(seconds * 1_000L);
    over.set(true);
    ended.await();
    return (System.nanoTime() - began) / 1e3 / decisions.sum();
  }
}
