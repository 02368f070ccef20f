// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.servers.LocalPostgres;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.logging.Filter;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Overrides that change in a real PostgreSQL while a limiter runs. */
@Tag("slow")
class OverridesRefresherTest {

  private static final Duration OFTEN = Duration.ofMillis(20);
  private static final LimitName ORDERS =
      AcmeLimits.bundled().catalogue().get("NewOrdersPerAccount");

  private final AtomicReference<Limits> files = new AtomicReference<>(files(10, 20));
  private final CurrentLimits limits = new CurrentLimits(files.get());
  private final Recorder recorder = new Recorder();

  private DataSource source;
  private OverridesTable table;
  private OverridesRefresher refresher;

  @BeforeEach
  void aTable() throws SQLException {
    source = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    table = new OverridesTable(source, AcmeLimits.bundled().catalogue());
    table.migrate();
  }

  @AfterEach
  void close() {
    if (refresher != null) {
      refresher.close();
    }
  }

  @Test
  void aRow_holdsAtTheNextRefresh_inALiveLimiter_andWinsOverTheFile() throws SQLException {
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(new ManualTime()));
    start(table);
    put("1", 30); // no override in the files
    put("2", 40); // 20 there
    await().until(() -> burst("2") == 40);
    assertThat(burst("1")).isEqualTo(30);
    assertThat(burst("3")).isEqualTo(10);
    assertThat(limiter.spend("NewOrdersPerAccount", "1", 30).allowed()).isTrue();

    assertThat(table.setEnabled(ORDERS, "2", false)).isTrue();
    await().until(() -> burst("2") == 20);
    assertThat(burst("1")).isEqualTo(30);
  }

  @Test
  void aBadRow_isLeftOutAndCounted() throws SQLException {
    put("1", 30);
    sql("INSERT INTO rate_limit_overrides VALUES (77, '77:x', 1, 1, 1, true, '', now())");
    sql("INSERT INTO rate_limit_overrides VALUES (3, '3:lol', 1, 1, 1, true, '', now())");
    start(table);
    await().until(() -> recorder.bad.size() == 2); // the listener is told last
    assertThat(burst("1")).isEqualTo(30);
  }

  @Test
  void aFailedRefresh_keepsWhatIsThere_andTriesAgain() throws SQLException {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);

    sql("ALTER TABLE rate_limit_overrides RENAME TO gone");
    await().until(() -> recorder.failures.size() >= 3);
    assertThat(burst("1")).isEqualTo(30);
    assertThat(refresher.ready()).isTrue();

    sql("ALTER TABLE gone RENAME TO rate_limit_overrides");
    put("1", 31);
    await().until(() -> burst("1") == 31);
  }

  @Test
  void anEmptyRefresh_keepsWhatIsThere_andWarnsOnce() throws Exception {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);

    List<String> warned =
        logOf(
            () -> {
              sql("DELETE FROM rate_limit_overrides");
              await().until(() -> recorder.empties >= 3);
            });
    assertThat(burst("1")).isEqualTo(30);
    assertThat(warned).filteredOn(one -> one.contains("no valid row")).hasSize(1);
  }

  private static List<String> logOf(Event event) throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    Logger log = Logger.getLogger(OverridesRefresher.class.getName());
    Filter before = log.getFilter();
    log.setFilter(
        record -> {
          lines.add(new SimpleFormatter().formatMessage(record));
          return false;
        });
    try {
      event.happens();
    } finally {
      log.setFilter(before);
    }
    return lines;
  }

  /** As the rules of a filter refuse limits with a burst below a rule's cost. */
  @Test
  void limitsThatACheckRefuses_areNotReportedAsAFailedRead_andAreTriedAgain() throws Exception {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);
    Function<Limits, List<String>> check =
        checked ->
            checked.quotaFor(ORDERS, "1").burst() < 5 ? List.of("a burst below 5") : List.of();
    limits.addCheck(check);
    List<String> lines =
        logOf(
            () -> {
              put("1", 4);
              await().until(() -> !recorder.failures.isEmpty());
            });
    assertThat(lines)
        .isNotEmpty()
        .containsOnly(
            "the limits with the overrides of the table were refused; the previous limits stay in force:"
                + " a burst below 5");
    assertThat(recorder.failures.get(0).getCause()).hasMessage("a burst below 5");
    assertThat(refresher.refreshNow()).isFalse();
    assertThat(burst("1")).isEqualTo(30);
    refresher.baseChanged(); // does not apply the refused overrides
    limits.removeCheck(check);
    await().until(() -> burst("1") == 4);
  }

  /** As a job does that replaces all rows, and began before the read. */
  @Test
  void aTableThatGetsItsFirstRowDuringARead_keepsWhatIsThere() throws SQLException {
    put("1", 30);
    AtomicBoolean isEmptied = new AtomicBoolean();
    DataSource filling =
        afterEachQuery(
            () -> {
              if (isEmptied.getAndSet(false)) {
                put("3", 30);
              }
            });
    refresher =
        OverridesRefresher.start(
            new OverridesTable(filling, AcmeLimits.bundled().catalogue()),
            files::get,
            limits,
            Duration.ofHours(1),
            recorder);
    await().until(() -> burst("1") == 30);

    sql("TRUNCATE rate_limit_overrides");
    isEmptied.set(true);
    refresher.refreshNow();
    assertThat(isEmptied).isFalse();
    assertThat(burst("1")).isEqualTo(30);
    assertThat(recorder.empties).isEqualTo(1);
  }

  /** The database, where something happens between each query and whatever is asked next. */
  private DataSource afterEachQuery(Event event) {
    return Proxies.of(
        DataSource.class,
        source,
        (opened, connection) ->
            connection instanceof Connection real
                ? Proxies.of(
                    Connection.class,
                    real,
                    (prepared, statement) ->
                        statement instanceof PreparedStatement query
                            ? Proxies.of(
                                PreparedStatement.class,
                                query,
                                (asked, rows) -> {
                                  if (asked.equals("executeQuery")) {
                                    event.happens();
                                  }
                                  return rows;
                                })
                            : statement)
                : connection);
  }

  @Test
  void rowsThatAreAllDisabled_holdNothing() throws SQLException {
    put("2", 30);
    start(table);
    await().until(() -> burst("2") == 30);

    assertThat(table.setEnabled(ORDERS, "2", false)).isTrue();
    refresher.refreshNow();
    assertThat(burst("2")).as("that of the files").isEqualTo(20);
  }

  @Test
  void ready_isFalseUntilTheFirstReadSucceeds() throws SQLException {
    sql("ALTER TABLE rate_limit_overrides RENAME TO gone");
    start(table);
    await().until(() -> recorder.failures.size() >= 2);
    assertThat(refresher.ready()).isFalse();
    assertThat(burst("2")).isEqualTo(20);

    sql("ALTER TABLE gone RENAME TO rate_limit_overrides");
    await().until(refresher::ready);
  }

  @Test
  void aDatabaseThatIsNotThere_isAFailureLikeAnyOther() {
    start(
        new OverridesTable(
            PostgresUrl.dataSource("postgresql://postgres@127.0.0.1:1/none"),
            AcmeLimits.bundled().catalogue()));
    await().until(() -> recorder.failures.size() >= 2);
    assertThat(refresher.ready()).isFalse();
    assertThat(burst("2")).isEqualTo(20);
  }

  @Test
  void aReloadOfTheFiles_keepsTheTablesOverrides() throws SQLException {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);
    files.set(files(11, 21));
    refresher.baseChanged();
    assertThat(burst("1")).isEqualTo(30);
    assertThat(burst("2")).isEqualTo(21);
    assertThat(burst("3")).isEqualTo(11);
  }

  @Test
  void aReloadOfTheFiles_withOtherNames_keepsWhatTheyStillHave() throws SQLException {
    put("1", 30);
    sql(
        "INSERT INTO rate_limit_overrides VALUES (104, '104:k', 7, 7, 1000000000, true, '', now())");
    start(table);
    await().until(() -> burst("1") == 30);

    Catalogue more = AcmeLimits.bundled().catalogue().plus(Catalogue.samples());
    files.set(Limits.builder(more).build());
    refresher.baseChanged();
    assertThat(overridesOf(more)).containsExactlyInAnyOrder("1", "k");
    await().until(() -> recorder.bad.isEmpty());
    assertThat(overridesOf(more)).containsExactlyInAnyOrder("1", "k");

    files.set(Limits.builder(Catalogue.samples()).build());
    refresher.baseChanged();
    assertThat(overridesOf(Catalogue.samples())).containsExactly("k");
  }

  @Test
  void aListenerThatThrows_doesNotEndTheRefreshing() throws SQLException {
    put("1", 30);
    RefreshListener throwing =
        new RefreshListener() {
          @Override
          public void refreshed(Instant at, Limits limits, List<BadRow> bad) {
            throw new IllegalStateException("a listener of a test");
          }

          @Override
          public void failed(Instant at, SQLException failure, Duration retryIn) {
            recorder.failed(at, failure, retryIn);
            throw new IllegalStateException("a listener of a test");
          }
        };
    refresher = OverridesRefresher.start(table, files::get, limits, OFTEN, throwing);
    await().until(refresher::ready);
    put("1", 31);
    await().until(() -> burst("1") == 31);
    sql("ALTER TABLE rate_limit_overrides RENAME TO gone");
    await().until(() -> !recorder.failures.isEmpty());
    sql("ALTER TABLE gone RENAME TO rate_limit_overrides");
    put("1", 32);
    await().until(() -> burst("1") == 32);
  }

  @Test
  void aListenerThatThrowsAnError_doesNotEndTheRefreshing() throws SQLException {
    put("1", 30);
    RefreshListener throwing =
        new RefreshListener() {
          @Override
          public void refreshed(Instant at, Limits limits, List<BadRow> bad) {
            throw new NoClassDefFoundError("a listener of a test");
          }

          @Override
          public void failed(Instant at, SQLException failure, Duration retryIn) {
            recorder.failed(at, failure, retryIn);
            throw new NoClassDefFoundError("a listener of a test");
          }
        };
    refresher = OverridesRefresher.start(table, files::get, limits, OFTEN, throwing);
    await().until(refresher::ready);
    sql("ALTER TABLE rate_limit_overrides RENAME TO gone");
    await().until(() -> recorder.failures.size() >= 2);
    sql("ALTER TABLE gone RENAME TO rate_limit_overrides");
    put("1", 32);
    await().until(() -> burst("1") == 32);
  }

  @Test
  void aListenerWithALock_thatWhoAsksForARefreshHolds_keepsNobodyWaiting() throws Exception {
    put("1", 30);
    Object lock = new Object();
    CountDownLatch told = new CountDownLatch(1);
    RefreshListener locking =
        new RefreshListener() {
          @Override
          public void refreshed(Instant at, Limits merged, List<BadRow> bad) {
            told.countDown();
            synchronized (lock) {
              recorder.refreshed(at, merged, bad);
            }
          }
        };
    CompletableFuture<Void> asked;
    synchronized (lock) {
      refresher = OverridesRefresher.start(table, files::get, limits, OFTEN, locking);
      told.await(); // the periodic read waits for the lock from now on
      asked = CompletableFuture.runAsync(refresher::refreshNow);
      await().until(() -> isWaitedFor(lock, 2));
      refresher.close();
    }
    asked.get(60, TimeUnit.SECONDS);
  }

  /** What it read may be from before a change that another read has put in force. */
  @Test
  void aReadThatBeganBeforeTheOneInForce_isNotApplied() throws Exception {
    put("1", 30);
    CountDownLatch hasOldRows = new CountDownLatch(1);
    CountDownLatch isOvertaken = new CountDownLatch(1);
    DataSource slow =
        slowToEnd(
            () -> {
              hasOldRows.countDown();
              isOvertaken.await();
            });
    refresher =
        OverridesRefresher.start(
            new OverridesTable(slow, AcmeLimits.bundled().catalogue()),
            files::get,
            limits,
            Duration.ofHours(1),
            recorder);
    hasOldRows.await();
    put("1", 31);
    refresher.refreshNow();
    assertThat(burst("1")).isEqualTo(31);
    isOvertaken.countDown();
    await().until(() -> recorder.refreshes == 2);
    assertThat(burst("1")).isEqualTo(31);
  }

  /** For example, a read that hangs until its time-out. */
  @Test
  void aReadThatFails_afterALaterReadSucceeded_isNotTold() throws Exception {
    put("1", 30);
    CountDownLatch hasBegun = new CountDownLatch(1);
    CountDownLatch isOvertaken = new CountDownLatch(1);
    DataSource failing =
        slowToEnd(
            () -> {
              hasBegun.countDown();
              isOvertaken.await();
              throw new SQLException("timed out");
            });
    start(new OverridesTable(failing, AcmeLimits.bundled().catalogue()));
    hasBegun.await();
    assertThat(refresher.refreshNow()).isTrue();
    isOvertaken.countDown();
    await().until(() -> recorder.refreshes >= 2); // the next read, after the one that failed
    assertThat(recorder.failures).isEmpty();
  }

  /** Something that others do in between. */
  private interface Event {
    void happens() throws Exception;
  }

  /** The database, whose first connection does something between its work and its end. */
  private DataSource slowToEnd(Event first) {
    AtomicBoolean isFirst = new AtomicBoolean(true);
    return Proxies.of(
        DataSource.class,
        source,
        (method, result) ->
            result instanceof Connection connection && isFirst.getAndSet(false)
                ? Proxies.of(
                    Connection.class,
                    connection,
                    (ended, none) -> {
                      if (ended.equals("close")) {
                        first.happens();
                      }
                      return none;
                    })
                : result);
  }

  /** Whether so many threads wait for a lock. */
  private static boolean isWaitedFor(Object lock, int threads) {
    ThreadMXBean all = ManagementFactory.getThreadMXBean();
    int hash = System.identityHashCode(lock);
    return Arrays.stream(all.getThreadInfo(all.getAllThreadIds()))
            .filter(one -> one != null && one.getLockInfo() != null)
            .filter(one -> one.getLockInfo().getIdentityHashCode() == hash)
            .count()
        == threads;
  }

  @Test
  void aRefreshThatBringsTheSame_replacesNothing() throws SQLException {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);
    Limits held = limits.get();
    int before = recorder.refreshes;
    await().until(() -> recorder.refreshes >= before + 3);
    assertThat(limits.get()).isSameAs(held);
    sql("UPDATE rate_limit_overrides SET updated_at = now()");
    int touched = recorder.refreshes;
    await().until(() -> recorder.refreshes >= touched + 2);
    assertThat(limits.get()).isSameAs(held);
  }

  @Test
  void aTableOfTooManyRows_isAFailure_andKeepsWhatIsThere() throws SQLException {
    put("1", 30);
    start(new OverridesTable(source, AcmeLimits.bundled().catalogue(), 1));
    await().until(() -> burst("1") == 30);
    put("1", 31);
    put("2", 31);
    await().until(() -> !recorder.failures.isEmpty());
    assertThat(recorder.failures.get(0).getMessage())
        .isEqualTo("rate_limit_overrides has more than 1 rows, the maximum");
    assertThat(burst("2")).isEqualTo(20);
  }

  private List<String> overridesOf(Catalogue catalogue) {
    return catalogue.names().stream()
        .flatMap(name -> limits.get().overridesOf(name).stream())
        .map(LimitOverride::id)
        .toList();
  }

  @Test
  void afterClose_nothingChangesAnyMore() throws SQLException {
    put("1", 30);
    start(table);
    await().until(() -> burst("1") == 30);
    refresher.close();
    refresher.close();
    put("1", 31);
    assertThat(burst("1")).isEqualTo(30);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT9223372036.854775808S"})
  void anIntervalOutOfItsRange_isRefused(Duration interval) {
    assertThatThrownBy(
            () -> OverridesRefresher.start(table, files::get, limits, interval, recorder).close())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("interval: found %s, expected a duration > 0 and at most 292 years", interval);
  }

  /** As for want of memory; the end interrupts, so that no wait lasts any more. */
  @Test
  void aReadThatCannotBeScheduled_isGivenUpAtTheEnd() throws Exception {
    start(table);
    Duration tooLong = Duration.ofSeconds(Long.MAX_VALUE);
    Thread scheduling = new Thread(() -> refresher.scheduleSurely(tooLong));
    scheduling.setDaemon(true);
    scheduling.start();
    refresher.close();
    scheduling.interrupt();
    scheduling.join(Duration.ofMinutes(1).toMillis());
    assertThat(scheduling.isAlive()).isFalse();
  }

  @Test
  void theLongestInterval_isTaken() throws SQLException {
    put("1", 30);
    Duration longest = Duration.ofNanos(Long.MAX_VALUE);
    refresher = OverridesRefresher.start(table, files::get, limits, longest, recorder);
    await().until(refresher::ready);
    assertThat(burst("1")).isEqualTo(30);
    assertThat(recorder.failures).isEmpty();
  }

  @Test
  void backoff_doublesUpToTheBound_inTheUpperHalf() {
    Backoff earliest = new Backoff(Duration.ofMillis(250), Duration.ofSeconds(2), () -> 0);
    Backoff latest = new Backoff(Duration.ofMillis(250), Duration.ofSeconds(2), () -> 1);
    assertThat(List.of(1, 2, 3, 4, 5, 1_000_000).stream().map(latest::afterFailures))
        .containsExactly(
            Duration.ofMillis(250),
            Duration.ofMillis(500),
            Duration.ofMillis(1000),
            Duration.ofMillis(2000),
            Duration.ofMillis(2000),
            Duration.ofMillis(2000));
    assertThat(earliest.afterFailures(3)).isEqualTo(Duration.ofMillis(500));
  }

  private void start(OverridesTable from) {
    refresher = OverridesRefresher.start(from, files::get, limits, OFTEN, recorder);
  }

  private long burst(String account) {
    return limits.get().quotaFor(ORDERS, account).burst();
  }

  private void put(String account, long burst) throws SQLException {
    table.put(
        List.of(new LimitOverride(ORDERS, account, Quota.per(burst, Duration.ofHours(3)), "test")),
        true);
  }

  /** A default, and an override for account 2. */
  private static Limits files(long burst, long burstOfTwo) {
    return Limits.builder(AcmeLimits.bundled().catalogue())
        .limit("NewOrdersPerAccount", Quota.per(burst, Duration.ofHours(3)))
        .override("NewOrdersPerAccount", "2", Quota.per(burstOfTwo, Duration.ofHours(3)))
        .build();
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement work = connection.createStatement()) {
      work.execute(statement);
    }
  }

  private static final class Recorder implements RefreshListener {
    private final List<SQLException> failures = new CopyOnWriteArrayList<>();
    private volatile List<BadRow> bad = List.of();
    private volatile int empties;
    private volatile int refreshes;

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread at a time, as promised
    public void refreshed(Instant at, Limits limits, List<BadRow> bad) {
      this.bad = bad;
      refreshes++;
    }

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread at a time, as promised
    public void empty(Instant at, List<BadRow> bad) {
      empties++;
    }

    @Override
    public void failed(Instant at, SQLException failure, Duration retryIn) {
      failures.add(failure);
    }
  }
}
