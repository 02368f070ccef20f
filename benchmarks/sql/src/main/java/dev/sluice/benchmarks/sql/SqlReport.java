// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.sql;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.benchmarks.report.Figure;
import dev.sluice.benchmarks.report.Goal;
import dev.sluice.benchmarks.sql.Load.Round;
import dev.sluice.benchmarks.sql.Subject.Database;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.testkit.servers.LocalMariaDb;
import dev.sluice.testkit.servers.LocalPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.mariadb.jdbc.MariaDbDataSource;

/**
 * The command {@code ./sluice bench sql}. Compares the PostgreSQL store with Bucket4j, which has
 * the same number of connections, and the MariaDB store with one prepared statement. The subjects
 * of a row run in one process and are measured in turn, in several rounds. A figure is the median
 * of the rounds. Each row is printed as soon as it has been measured.
 */
public final class SqlReport {

  private static final String USAGE =
      """
      Usage: sluice bench sql [SECONDS] [--connections N] [--url URL] [--out FILE]
        SECONDS          the seconds for each figure in each round (default: 2)
        --connections N  the number of connections of each subject (default: 2)
        --url URL        the PostgreSQL to use instead of the one from Maven; its schemas
                         sluice_bench_… are replaced
        --out FILE       the file for the rows in JSON (default: benchmarks/results/sql.json)
        --growth IDS     measures only the size of the table while this many ids spend, each once
      """;

  /**
   * The logger of Sluice, whose level is changed. Without this field, the logger could be
   * garbage-collected and would lose its level.
   */
  private static final Logger STORE_LOG = Logger.getLogger("dev.sluice");

  /** The names of the rows in docs/benchmarks.md. */
  private static final Set<String> HEADLINES =
      Set.of("PostgreSQL, 64 callers, 10,000 keys", "PostgreSQL, 64 callers, batches of 3 limits");

  /** A call of the SQL function with which the store spends, for a limit that denies nothing. */
  private static final String FUNCTION =
      "SELECT sluice_spend_v1(true, 1000, '\\x61'::bytea, 1, 1000000000000000)";

  private static final int ROUNDS = 3;
  private static final double WARM_UP_SECONDS = 5;
  private static final int KEYS = 10_000;
  private static final double MICROS_PER_MILLI = 1_000;

  private final double seconds;
  private final int connections;
  private final String url;
  private final List<Goal> goals = new ArrayList<>();
  private final List<String> json = new ArrayList<>();

  private SqlReport(double seconds, int connections, String url) {
    this.seconds = seconds;
    this.connections = connections;
    this.url = url;
  }

  /**
   * Measures all table rows, then compares the rows with the goals.
   *
   * @param args the arguments that the usage text describes
   * @throws Exception if the database fails
   */
  public static void main(String[] args) throws Exception {
    double seconds = 2;
    int connections = 2;
    String url = null;
    Path out = Path.of("benchmarks", "results", "sql.json");
    long growth = 0;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--connections" -> connections = (int) number(value(args, ++i));
        case "--url" -> url = value(args, ++i);
        case "--out" -> out = Path.of(value(args, ++i));
        case "--growth" -> growth = ids(value(args, ++i));
        case "--help", "-h" -> {
          System.out.print(USAGE);
          return;
        }
        default -> seconds = number(args[i]);
      }
    }
    STORE_LOG.setLevel(Level.WARNING);
    if (url == null) {
      LocalPostgres.useDisk();
      url = LocalPostgres.newDatabase();
    }
    SqlReport report = new SqlReport(seconds, connections, url);
    if (growth > 0) {
      new Growth(report.schema("sluice_bench_growth", "")).run(growth, connections);
      return;
    }
    report.run();
    report.write(out);
  }

  private static String value(String[] args, int at) {
    if (at == args.length) {
      throw usage(args[at - 1] + ": found nothing, expected a value");
    }
    return args[at];
  }

  private static double number(String text) {
    if (!text.matches("[1-9][0-9]{0,3}|0[.][0-9]{1,3}")) {
      throw usage("found " + text + ", expected a number");
    }
    return Double.parseDouble(text);
  }

  private static long ids(String text) {
    if (!text.matches("[1-9][0-9]{2,8}")) {
      throw usage("--growth: found " + text + ", expected a number from 100 to 999999999");
    }
    return Long.parseLong(text);
  }

  private static RuntimeException usage(String message) {
    System.err.printf("sluice bench sql: %s%n%n%s", message, USAGE);
    System.exit(2);
    throw new IllegalStateException(message);
  }

  private void run() throws SQLException, InterruptedException {
    System.out.printf(
        "PostgreSQL %s, fsync %s, %d connections for each subject, %s processors, Java %s%n",
        setting("server_version"),
        setting("fsync"),
        connections,
        Runtime.getRuntime().availableProcessors(),
        Runtime.version().feature());
    System.out.println("decisions/s (lowest to highest round; p50 / p99 in ms)");
    Database unlogged = new Database(false, schema("sluice_bench_unlogged", ""), false);
    Database logged =
        new Database(
            false, schema("sluice_bench_logged", "&options=-c%20synchronous_commit=on"), true);
    Load hot = new Load(64, 1, 0);
    Load spread = new Load(64, KEYS, 0);
    beside("1 caller", unlogged, new Load(1, KEYS, 0), 1, 3);
    besideStatements(unlogged);
    double peak = beside("64 callers, 10,000 keys", unlogged, spread, 1, 15);
    atHalf(unlogged, peak / 2);
    beside("64 callers, one hot key", unlogged, hot, 1, 15);
    beside("64 callers, batches of 3 limits", unlogged, spread, 3, 10);
    beside("64 callers, synchronous commit", logged, spread, 1, 15);
    Database mariaDb = mariaDb();
    if (mariaDb != null) {
      beside("1 caller", mariaDb, new Load(1, KEYS, 0), 1, 0);
      beside("64 callers, 10,000 keys", mariaDb, spread, 1, 0);
      beside("64 callers, one hot key", mariaDb, hot, 1, 0);
    }
    System.out.println();
    goals.forEach(goal -> System.out.println(goal.line()));
  }

  private String setting(String name) throws SQLException {
    try (Connection connection = PostgresUrl.dataSource(url).getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SHOW " + name)) {
      return rows.next() ? rows.getString(1) : "";
    }
  }

  private DataSource schema(String name, String options) throws SQLException {
    try (Connection connection = PostgresUrl.dataSource(url).getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("DROP SCHEMA IF EXISTS " + name + " CASCADE");
      statement.execute("CREATE SCHEMA " + name);
    }
    return PostgresUrl.dataSource(
        url + (url.contains("?") ? "&" : "?") + "currentSchema=" + name + options);
  }

  /** Starts MariaDB and returns a new database; null if MariaDB is not installed. */
  private static @Nullable Database mariaDb() throws SQLException {
    String server;
    try {
      server = "jdbc:mariadb://127.0.0.1:" + LocalMariaDb.port() + "/";
    } catch (UncheckedIOException e) {
      System.out.println("MariaDB: skipped, " + e.getMessage());
      return null;
    }
    MariaDbDataSource source = new MariaDbDataSource(server + "?user=root");
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE sluice_bench");
    }
    return new Database(
        true,
        new MariaDbDataSource(server + "sluice_bench?user=root&useServerPrepStmts=true"),
        false);
  }

  /** Measures the subjects of one table row. Returns the rate of Sluice. */
  @CanIgnoreReturnValue
  private double beside(String row, Database database, Load load, int charges, double wanted)
      throws SQLException, InterruptedException {
    Map<String, Subject> subjects = new LinkedHashMap<>();
    Map<String, List<Round>> rounds = new LinkedHashMap<>();
    try {
      for (String name : database.subjects()) {
        subjects.put(name, Subject.open(name, database, connections, charges));
        rounds.put(name, new ArrayList<>());
      }
      for (int round = 0; round <= ROUNDS; round++) {
        for (Map.Entry<String, Subject> subject : subjects.entrySet()) {
          Round measured = load.run(secondsOf(round), List.of(subject.getValue())).get(0);
          if (round > 0) {
            rounds.getOrDefault(subject.getKey(), List.of()).add(measured);
          }
        }
      }
    } finally {
      subjects.values().forEach(Subject::close);
    }
    String what = database.kind() + ", " + row;
    System.out.println(what);
    rounds.forEach((name, its) -> print(name, its));
    List<Round> ours = rounds.getOrDefault(Subject.SLUICE, List.of());
    double rate = median(ours, Round::perSecond);
    double best =
        rounds.entrySet().stream()
            .filter(one -> !one.getKey().equals(Subject.SLUICE))
            .mapToDouble(one -> median(one.getValue(), Round::perSecond))
            .max()
            .orElse(0);
    rounds.forEach(
        (name, theirs) -> {
          if (!name.equals(Subject.SLUICE)) {
            double other = median(theirs, Round::perSecond);
            if (wanted > 0) {
              goals.add(new Goal(what + " vs. " + name, rate / other, wanted, true));
            }
            json(what, "decisions/s", rate, name, other, null, null, other == best);
          }
        });
    return rate;
  }

  /**
   * Compares the latency of one caller with the latency of a statement that does nothing, and with
   * the latency of the store's function without the store's queue and threads.
   */
  private void besideStatements(Database database) throws SQLException, InterruptedException {
    List<Round> ours = new ArrayList<>();
    List<Round> functions = new ArrayList<>();
    List<Round> nothings = new ArrayList<>();
    try (Subject sluice = Subject.open(Subject.SLUICE, database, connections, 1);
        Subject function = Subject.statement(database.source(), FUNCTION);
        Subject selectOne = Subject.statement(database.source(), "select 1")) {
      for (int round = 0; round <= ROUNDS; round++) {
        List<Round> all =
            new Load(1, KEYS, 0).run(secondsOf(round), List.of(sluice, function, selectOne));
        if (round > 0) {
          ours.add(all.get(0));
          functions.add(all.get(1));
          nothings.add(all.get(2));
        }
      }
    }
    String row = "PostgreSQL, 1 caller, in turn with bounds";
    System.out.println(row);
    print(Subject.SLUICE, ours);
    print("the function alone", functions);
    print("select 1", nothings);
    double p50 = median(ours, Round::p50Micros);
    double bound = median(functions, Round::p50Micros);
    double least = median(nothings, Round::p50Micros);
    goals.add(new Goal(row + ": p50 vs. select 1", p50 / least, 1.3, false));
    json(row + ", p50", "µs", p50, null, null, "the function alone", bound, true);
    json(row + ", p50", "µs", p50, null, null, "select 1", least, false);
  }

  private void atHalf(Database database, double perSecond)
      throws SQLException, InterruptedException {
    List<Round> rounds = new ArrayList<>();
    try (Subject sluice = Subject.open(Subject.SLUICE, database, connections, 1)) {
      for (int round = 0; round <= ROUNDS; round++) {
        Round measured =
            new Load(64, KEYS, perSecond).run(secondsOf(round), List.of(sluice)).get(0);
        if (round > 0) {
          rounds.add(measured);
        }
      }
    }
    String row = "PostgreSQL, 64 callers, 10,000 keys, half of that rate";
    System.out.println(row);
    print(Subject.SLUICE, rounds);
    double p99 = median(rounds, Round::p99Micros) / MICROS_PER_MILLI;
    goals.add(new Goal(row + ": p99 in ms", p99, 10, false));
    json(row + ", p99", "ms", p99, null, null, null, null, true);
  }

  /** The first round only warms up: the compiler needs a few seconds for each subject. */
  private double secondsOf(int round) {
    return round == 0 ? Math.max(seconds, WARM_UP_SECONDS) : seconds;
  }

  private static double median(List<Round> rounds, ToDoubleFunction<Round> number) {
    return Figure.of(rounds.stream().mapToDouble(number)).median();
  }

  private static void print(String name, List<Round> rounds) {
    Figure rate = Figure.of(rounds.stream().mapToDouble(Round::perSecond));
    System.out.printf(
        Locale.ROOT,
        "  %-28s %,10.0f (%,.0f to %,.0f; %.2f / %.2f)%n",
        name,
        rate.median(),
        rate.lowest(),
        rate.highest(),
        median(rounds, Round::p50Micros) / MICROS_PER_MILLI,
        median(rounds, Round::p99Micros) / MICROS_PER_MILLI);
  }

  private void json(
      String row,
      String unit,
      double sluice,
      @Nullable String peerName,
      @Nullable Double peer,
      @Nullable String boundName,
      @Nullable Double bound,
      boolean best) {
    json.add(
        String.format(
            Locale.ROOT,
            "  {\"name\": \"%s\", \"unit\": \"%s\", \"sluice\": %s, \"peerName\": %s, \"peer\": %s,"
                + " \"boundName\": %s, \"bound\": %s, \"date\": \"%s\", \"machine\": \"%s %s, %d processors, JDK"
                + " %d\", \"command\": \"./sluice bench sql %s --connections %d\", \"page\": %s}",
            row,
            unit,
            rounded(sluice),
            peerName == null ? null : "\"" + peerName + "\"",
            rounded(peer),
            boundName == null ? null : "\"" + boundName + "\"",
            rounded(bound),
            LocalDate.now(ZoneOffset.UTC),
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            Runtime.getRuntime().availableProcessors(),
            Runtime.version().feature(),
            seconds == Math.rint(seconds) ? "" + (int) seconds : "" + seconds,
            connections,
            best && HEADLINES.contains(row)));
  }

  private static @Nullable String rounded(@Nullable Double number) {
    return number == null
        ? null
        : String.format(Locale.ROOT, number < 100 ? "%.2f" : "%.0f", number);
  }

  private void write(Path out) throws IOException {
    Files.writeString(out, "[\n" + String.join(",\n", json) + "\n]\n");
    System.out.println("Written: " + out);
  }
}
