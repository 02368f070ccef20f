// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What the first call of a process finds, and the first that nobody answers. Its time-out runs
 * while classes are loaded, which takes long on a busy machine: so they are loaded when the store
 * is opened.
 */
@Tag("slow")
final class FirstCallTest {

  private static final int MOST_CLASSES = 8;

  /** Opens a store, and prints how many classes its first charge loaded. */
  static final class Fresh {

    private Fresh() {}

    public static void main(String[] args) {
      ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
      try (RedisStore store = RedisStore.open(args[0])) {
        var charges = Charges.spend("first");
        long before = classes.getTotalLoadedClassCount();
        var readings = store.charge(charges);
        long loaded = classes.getTotalLoadedClassCount() - before;
        System.out.println(readings.size() + " " + loaded);
      }
    }
  }

  @Test
  void open_loadsWhatTheFirstCallNeeds() throws IOException, InterruptedException {
    // The time-out is for the rehearsal as well.
    String address = TestServers.single() + "?timeout=10s&connectTimeout=30s&prefix=first-call-";
    String printed = run(Fresh.class, address);
    assertThat(printed).startsWith("1 ");
    assertThat(Integer.parseInt(printed.substring(2))).isLessThan(MOST_CLASSES);
  }

  /**
   * Opens a store whose server then falls silent, and prints how many of its calls failed and how
   * many classes they loaded.
   */
  static final class Silent {

    private static final int CALLERS = 5; // more than leave together

    private Silent() {}

    public static void main(String[] args) {
      ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
      try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
          RedisStore store = RedisStore.open(redis.uri() + "?timeout=6s&connectTimeout=30s")) {
        int none = failures(store); // loads what callers need themselves
        redis.freeze();
        long before = classes.getTotalLoadedClassCount();
        int failed = failures(store);
        long loaded = classes.getTotalLoadedClassCount() - before;
        redis.thaw();
        System.out.println(none + failed + " " + loaded);
      }
    }

    private static int failures(BucketStore store) {
      int failed = 0;
      List<CompletableFuture<Boolean>> calls = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        calls.add(
            store
                .chargeAsync(Charges.spend("k" + i))
                .handle((readings, failure) -> failure != null)
                .toCompletableFuture());
      }
      for (CompletableFuture<Boolean> call : calls) {
        failed += call.join() ? 1 : 0;
      }
      try {
        var unused = store.charge(Charges.spend("last"));
      } catch (StoreException e) {
        failed++;
      }
      return failed;
    }
  }

  @Test
  void open_loadsWhatTheFirstTimeOutNeeds() throws IOException, InterruptedException {
    String printed = run(Silent.class);
    assertThat(printed).startsWith("6 ");
    assertThat(Integer.parseInt(printed.substring(2))).isLessThan(MOST_CLASSES);
  }

  /** The first failure would give the server up. */
  @Test
  void open_observerHearsNothingOfWhatIsRehearsed() {
    List<String> heard = new CopyOnWriteArrayList<>();
    RedisStore store =
        TestServers.fresh(TestServers.single())
            .failures(1)
            .observer(
                new BucketStore.Observer() {
                  @Override
                  public void called(
                      String server, Result result, int batches, int charges, long elapsedNanos) {
                    heard.add("called " + result);
                  }

                  @Override
                  public void refused(String server, Refusal why) {
                    heard.add("refused " + why);
                  }

                  @Override
                  public void changed(String server, State state, String reason) {
                    heard.add("changed " + state);
                  }
                })
            .open();
    try {
      assertThat(store.charge(Charges.spend("a"))).hasSize(1);
      await().untilAsserted(() -> assertThat(heard).containsExactly("called ANSWERED"));
    } finally {
      store.close();
    }
  }

  private static String run(Class<?> main, String... args)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(args));
    Process fresh =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      String printed =
          new String(fresh.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      assertThat(fresh.waitFor(1, TimeUnit.MINUTES)).isTrue();
      return printed;
    } finally {
      fresh.destroyForcibly();
    }
  }
}
