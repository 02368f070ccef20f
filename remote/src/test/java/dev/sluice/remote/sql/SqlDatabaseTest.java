// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.remote.StoreContext;
import dev.sluice.remote.SystemTiming;
import dev.sluice.remote.Timing;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How often a database is cleaned; the stores' own tests have the rest. */
final class SqlDatabaseTest {

  private static final byte[] SECOND_STEP = {1};

  private final AtomicInteger opened = new AtomicInteger();

  @Test
  void pause_afterALotThatWasFull_isAsLongAsTheLot_elseUpToTwentyTimesAsLong() {
    long took = TimeUnit.MILLISECONDS.toNanos(23);
    assertThat(SqlDatabase.pauseNanos(took, 1_000)).isEqualTo(took);
    assertThat(SqlDatabase.pauseNanos(took, 500)).isEqualTo(2 * took);
    assertThat(SqlDatabase.pauseNanos(took, 50)).isEqualTo(20 * took);
    assertThat(SqlDatabase.pauseNanos(took, 0)).isEqualTo(20 * took);
    assertThat(SqlDatabase.pauseNanos(0, 0)).isEqualTo(TimeUnit.MILLISECONDS.toNanos(50));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cleaning_whoseSecondStepFails_isLoggedOnce_beginsAnew_andIsLoggedWhenItWorks(boolean breaks)
      throws InterruptedException {
    BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Logger log = Logger.getLogger("dev.sluice.odd");
    log.setFilter(
        line -> {
          lines.add(new SimpleFormatter().formatMessage(line));
          return false;
        });
    OddDialect dialect = new OddDialect(breaks);
    Timing timing = new FastTiming();
    StoreContext.Settings settings =
        new StoreContext.Settings(
            "odd",
            key -> key.getBytes(StandardCharsets.UTF_8),
            Duration.ofSeconds(10),
            1,
            1,
            1,
            Duration.ofHours(9),
            Duration.ZERO,
            null);
    SqlDatabase database =
        new SqlDatabase(
            "there",
            source(),
            dialect,
            2,
            new StoreContext(settings, timing, new BucketStore.Observer() {}));
    try {
      database.start();
      for (int step = 0; step < 7; step++) {
        assertThat(dialect.steps.poll(1, TimeUnit.MINUTES)).hasSize(step % 2);
      }
      assertThat(opened.get() > 2).as("a new connection after a failure").isEqualTo(breaks);
      assertThat(lines.poll(1, TimeUnit.MINUTES))
          .isEqualTo(
              "there: full buckets cannot be deleted, so the table grows: canceling statement");
      assertThat(lines).isEmpty();
      dialect.works = true;
      for (int step = 7; step < 13; step++) {
        assertThat(dialect.steps.poll(1, TimeUnit.MINUTES)).hasSize(step % 2);
      }
      assertThat(lines.poll(1, TimeUnit.MINUTES))
          .isEqualTo("there: full buckets are deleted again");
      assertThat(lines).isEmpty();
    } finally {
      database.close();
      timing.close();
      log.setFilter(null);
    }
  }

  private DataSource source() {
    return proxy(
        DataSource.class,
        method -> {
          opened.incrementAndGet();
          return proxy(Connection.class, SqlDatabaseTest::connection);
        });
  }

  private static @Nullable Object connection(String method) {
    return switch (method) {
      case "getAutoCommit", "isValid" -> true;
      case "isClosed" -> false;
      case "getNetworkTimeout" -> 0;
      default -> null;
    };
  }

  private interface Answers {
    @Nullable Object to(String method);
  }

  private static <T> T proxy(Class<T> type, Answers answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> answers.to(method.getName())));
  }

  /** Its table has two steps of keys, and the second step fails until it works. */
  private static final class OddDialect implements SqlDialect {

    final BlockingQueue<byte[]> steps = new LinkedBlockingQueue<>();
    volatile boolean works;
    private final boolean breaks;

    /**
     * Makes a dialect.
     *
     * @param breaks whether a failure breaks the connection
     */
    OddDialect(boolean breaks) {
      this.breaks = breaks;
    }

    @Override
    public Cleaned clean(Connection connection, byte[] after, int most) throws SQLException {
      steps.add(after);
      if (after.length == 0) {
        return new Cleaned(SECOND_STEP, 0);
      }
      if (works) {
        return new Cleaned(null, 0);
      }
      throw new SQLException("canceling statement");
    }

    @Override
    public String kind() {
      return "odd";
    }

    @Override
    public SqlCall call(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches) {
      throw new UnsupportedOperationException();
    }

    @Override
    public @Nullable String refusal(Connection connection) {
      return null;
    }

    @Override
    public SqlFault fault(@Nullable Throwable failure) {
      Throwable cause = Objects.requireNonNull(failure);
      return new OddFault(cause, false, false, breaks, false, false, false, false);
    }
  }

  private record OddFault(
      Throwable cause,
      boolean isRefusal,
      boolean isLocked,
      boolean breaksConnection,
      boolean isLostStatement,
      boolean wasNotBegun,
      boolean passes,
      boolean isOutage)
      implements SqlFault {

    @Override
    public String words() {
      return SqlFault.message(cause);
    }
  }

  /** A clock that runs faster, so that a minute between two rounds is short. */
  private static final class FastTiming implements Timing {

    private static final long SPEED = 10_000;

    private final Timing real = new SystemTiming("odd");
    private final long start = real.nanoTime();

    @Override
    public long nanoTime() {
      return (real.nanoTime() - start) * SPEED;
    }

    @Override
    public <T> BlockingQueue<T> queue() {
      return new LinkedBlockingQueue<>() {
        @Override
        public @Nullable T poll(long time, TimeUnit unit) throws InterruptedException {
          return super.poll(unit.toNanos(time) / SPEED, TimeUnit.NANOSECONDS);
        }
      };
    }

    @Override
    public void after(long nanos, Runnable task) {
      real.after(nanos, task);
    }

    @Override
    public void every(long nanos, Runnable task) {
      real.every(nanos, task);
    }

    @Override
    public <T> T await(CompletableFuture<T> future, long nanos)
        throws InterruptedException, ExecutionException, TimeoutException {
      return real.await(future, nanos);
    }

    @Override
    public void elsewhere(Runnable task) {
      real.elsewhere(task);
    }

    @Override
    public void close() {
      real.close();
    }
  }
}
