// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands on a table, in a real PostgreSQL. */
@Tag("slow")
final class OverridesTableCommandsTest {

  private static final String HEADER = "name,id,count,burst,period,comment\n";

  @TempDir Path folder;

  private String db;

  @BeforeEach
  void aTable() {
    db = LocalPostgres.newDatabase();
    assertThat(Cli.run("overrides", "migrate", "--db", db).code()).isEqualTo(Exit.DONE);
  }

  @Test
  void add_disable_enable_areSeenByDump() {
    Cli added = add("CertificatesPerDomain", "Example.com", "--comment", "Ticket 17");
    assertThat(added).isEqualTo(new Cli(Exit.DONE, "", "added 5:example.com\n"));
    String row = "CertificatesPerDomain,example.com,600,300,3h0m0s,Ticket 17\n";
    assertThat(dump()).isEqualTo(new Cli(Exit.DONE, HEADER + row, ""));

    assertThat(on("disable", "CertificatesPerDomain", "example.com").err())
        .isEqualTo("disabled 5:example.com\n");
    assertThat(dump().out()).isEqualTo(HEADER);

    assertThat(add("CertificatesPerDomain", "example.com").err())
        .isEqualTo("replaced 5:example.com; disabled as before, see sluice overrides enable\n");
    assertThat(dump().out()).isEqualTo(HEADER);

    assertThat(on("enable", "CertificatesPerDomain", "EXAMPLE.com").code()).isEqualTo(Exit.DONE);
    assertThat(dump().out()).as("the comment that was there stays").isEqualTo(HEADER + row);
  }

  @Test
  void dumpOfAll_isImportedAgain_withAuthorsEndsAndDisabledRows() throws Exception {
    assertThat(
            add("CertificatesPerDomain", "a.com", "--author", "ann", "--until", "2200-03-01")
                .code())
        .isEqualTo(Exit.DONE);
    assertThat(add("CertificatesPerDomain", "b.com").code()).isEqualTo(Exit.DONE);
    assertThat(on("disable", "CertificatesPerDomain", "b.com").code()).isEqualTo(Exit.DONE);
    String all =
        """
        name,id,count,burst,period,comment,author,until,enabled
        CertificatesPerDomain,a.com,600,300,3h0m0s,,ann,2200-03-01T00:00:00Z,true
        CertificatesPerDomain,b.com,600,300,3h0m0s,,,,false
        """;
    assertThat(dumpAll()).isEqualTo(new Cli(Exit.DONE, all, ""));

    Path file = Files.writeString(folder.resolve("all.csv"), all);
    db = LocalPostgres.newDatabase();
    assertThat(Cli.run("overrides", "migrate", "--db", db).code()).isEqualTo(Exit.DONE);
    assertThat(importCsv(file).err()).isEqualTo("2 added, 0 replaced, of which 1 disabled\n");
    assertThat(dumpAll().out()).isEqualTo(all);

    Path six =
        Files.writeString(
            folder.resolve("six.csv"), HEADER + "CertificatesPerDomain,b.com,700,300,3h0m0s,\n");
    assertThat(importCsv(six).err()).isEqualTo("0 added, 1 replaced, of which 1 disabled\n");
    Path broken = Files.writeString(folder.resolve("broken.csv"), HEADER + "Nothing,x\n");
    assertThat(importCsv(broken).code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(importCsv(broken).err()).contains("line 2: found 2 columns, expected 6");
  }

  @Test
  void dumpWithoutTheColumnOfEnds_saysHowManyOverridesHaveOne() {
    assertThat(add("CertificatesPerDomain", "a.com", "--until", "2200-03-01").err())
        .isEqualTo("added 5:a.com\n");
    assertThat(add("CertificatesPerDomain", "b.com").err()).isEqualTo("added 5:b.com\n");
    assertThat(dump().err()).isEqualTo("overrides whose end is not printed without --all: 1\n");
    assertThat(dump().code()).isEqualTo(Exit.DONE);
    assertThat(dumpAll().err()).isEmpty();
  }

  @Test
  void add_ofAnOverrideThatHasEnded_isRefused() {
    assertThat(add("CertificatesPerDomain", "a.com").code()).isEqualTo(Exit.DONE);
    Cli ended = add("CertificatesPerDomain", "a.com", "--until", "2025-03-01");
    assertThat(ended.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(ended.err())
        .isEqualTo("sluice: --until: found 2025-03-01T00:00:00Z, expected a time in the future\n");
    assertThat(dump().out()).isEqualTo(HEADER + "CertificatesPerDomain,a.com,600,300,3h0m0s,\n");
  }

  @Test
  void import_ofCsv_warnsOfOverridesThatHaveEnded() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("all.csv"),
            """
            name,id,count,burst,period,comment,author,until,enabled
            CertificatesPerDomain,a.com,600,300,3h0m0s,,,2025-03-01T00:00:00Z,true
            CertificatesPerDomain,b.com,600,300,3h0m0s,,,2200-03-01T00:00:00Z,true
            """);
    assertThat(importCsv(file))
        .isEqualTo(
            new Cli(
                Exit.DONE,
                "",
                "warning: the override of CertificatesPerDomain for \"a.com\" has ended and is not in force\n2 added, 0 replaced\n"));
  }

  @Test
  void import_ofManyOverridesThatHaveEnded_warnsOfTenEnabledOnes_andCountsTheOthers()
      throws Exception {
    StringBuilder all =
        new StringBuilder("name,id,count,burst,period,comment,author,until,enabled\n");
    for (int id = 10; id < 25; id++) {
      all.append("NewOrdersPerAccount,%s,6,3,3h,,,2025-03-01,%s\n".formatted(id, id != 12));
    }
    Path file = Files.writeString(folder.resolve("all.csv"), all);
    assertThat(importCsv(file).err())
        .contains("warning: the override of NewOrdersPerAccount for \"20\" has ended")
        .doesNotContain("\"12\"", "\"21\"")
        .endsWith("further warnings: 4\n15 added, 0 replaced, of which 1 disabled\n");
    Path lower =
        Files.writeString(folder.resolve("lower.csv"), all.toString().replace(",6,3,", ",2,1,"));
    assertThat(importCsv(lower).code()).isEqualTo(Exit.NO);
    assertThat(importCsv(lower).err()).doesNotContain("warning");
  }

  private static final String LIMIT_OF_TWO =
      "Calls: {id: string, quotas: [1000 per 1h, '10 per 1s, burst 20']}\n";

  @Test
  void severalQuotas_areAdded_dumped_andImportedAgain() throws Exception {
    Path limits = Files.writeString(folder.resolve("limits.yml"), LIMIT_OF_TWO);
    String[] add = {"overrides", "add", "Calls", "ann", "--limits", limits.toString(), "--db", db};
    Cli added =
        Cli.run(
            Stream.concat(
                    Stream.of(add), Stream.of("--quota", "5 per 1s, burst 9", "--quota=50 per 1h"))
                .toArray(String[]::new));
    assertThat(added).isEqualTo(new Cli(Exit.DONE, "", "added Calls:ann\n"));
    String[] dump = {"overrides", "dump", "--limits", limits.toString(), "--db", db, "--all"};
    String all =
        """
        name,id,count,burst,period,comment,author,until,enabled
        Calls,ann,50,50,1h0m0s,,,,true
        Calls,ann,5,9,1s,,,,true
        """;
    assertThat(Cli.run(dump)).isEqualTo(new Cli(Exit.DONE, all, ""));
    assertThat(Cli.run(java.util.Arrays.copyOf(dump, dump.length - 1)).out())
        .isEqualTo(HEADER + "Calls,ann,50,50,1h0m0s,\nCalls,ann,5,9,1s,\n");
    String[] one = {"--burst", "50", "--count", "50", "--period", "1h"};
    Cli fewer = Cli.run(Stream.concat(Stream.of(add), Stream.of(one)).toArray(String[]::new));
    assertThat(fewer.code()).isEqualTo(Exit.NO);
    assertThat(fewer.err()).contains("has several quotas", "--force");

    Path csv = Files.writeString(folder.resolve("all.csv"), all);
    Path yaml =
        Files.writeString(
            folder.resolve("overrides.yml"),
            "- Calls: {quotas: [50 per 1h, '5 per 1s, burst 9'], ids: [ann]}\n");
    for (String[] file :
        new String[][] {{"--csv", csv.toString()}, {"--overrides", yaml.toString()}}) {
      db = LocalPostgres.newDatabase();
      assertThat(Cli.run("overrides", "migrate", "--db", db).code()).isEqualTo(Exit.DONE);
      assertThat(
              Cli.run(
                  "overrides",
                  "import",
                  file[0],
                  file[1],
                  "--limits",
                  limits.toString(),
                  "--db",
                  db))
          .isEqualTo(new Cli(Exit.DONE, "", "1 added, 0 replaced\n"));
      dump[5] = db;
      assertThat(Cli.run(dump).out()).isEqualTo(all);
    }
  }

  @Test
  void add_withoutAQuota_orWithTwoForms_saysWhatIsMissing() {
    String[] add = {"overrides", "add", "NewOrdersPerAccount", "17", "--db", db};
    assertThat(Cli.run(add).err())
        .contains("needs --burst N, --count N, --period PERIOD, or --quota QUOTA");
    assertThat(add("NewOrdersPerAccount", "17", "--quota", "1 per 1s").err())
        .contains("found --quota beside --burst");
    String[] same = {
      "overrides",
      "add",
      "NewOrdersPerAccount",
      "17",
      "--db",
      db,
      "--quota",
      "1 per 1s",
      "--quota",
      "2 per 1s"
    };
    assertThat(Cli.run(same).err()).contains("two quotas with the same period");
    same[9] = "2 in 1m";
    assertThat(Cli.run(same).err()).contains("found \"2 in 1m\", expected COUNT per PERIOD");
  }

  private Cli dumpAll() {
    return Cli.run("overrides", "dump", "--all", "--db", db);
  }

  private Cli importCsv(Path file) {
    return Cli.run("overrides", "import", "--csv", file.toString(), "--db", db);
  }

  @Test
  void limitWithoutANumber_isKeptUnderItsName() throws Exception {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "ExportsPerUser: {id: string, burst: 10, count: 10, period: 1m}\n");
    String[] of = {"--limits", limits.toString()};
    assertThat(add("ExportsPerUser", "42", of).err()).isEqualTo("added ExportsPerUser:42\n");
    assertThat(Cli.run("overrides", "dump", "--db", db, of[0], of[1]))
        .isEqualTo(new Cli(Exit.DONE, HEADER + "ExportsPerUser,42,600,300,3h0m0s,\n", ""));
    assertThat(dump().err())
        .contains("no limit has the name \"ExportsPerUser\"")
        .endsWith(
            "\na limit is unknown; add --limits FILE or --names FILE, the file that declares it\n");
  }

  /** The checks of the table before limits without a number. */
  @Test
  void limitWithoutANumber_inATableOfAnOlderVersion_saysWhatToDo() throws Exception {
    execute("ALTER TABLE rate_limit_overrides ADD CHECK (limit_number > 0)");
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "ExportsPerUser: {id: string, burst: 10, count: 10, period: 1m}\n");
    Cli run = add("ExportsPerUser", "42", "--limits", limits.toString());
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err())
        .startsWith("sluice: database error: ")
        .endsWith("; bring the table up to date with: sluice overrides migrate --db URL\n");
    execute("ALTER TABLE rate_limit_overrides DROP COLUMN further_quotas");
    assertThat(add("CertificatesPerDomain", "example.com").err())
        .endsWith("; bring the table up to date with: sluice overrides migrate --db URL\n");
  }

  @Test
  void add_ofALowerOverride_isANo_withoutForce() {
    assertThat(add("NewOrdersPerAccount", "17").code()).isEqualTo(Exit.DONE);
    String[] lower = {
      "overrides",
      "add",
      "NewOrdersPerAccount",
      "17",
      "--burst=3",
      "--count=6",
      "--period=3h",
      "--db",
      db
    };
    Cli refused = Cli.run(lower);
    assertThat(refused.code()).isEqualTo(Exit.NO);
    assertThat(refused.err()).contains("NewOrdersPerAccount", "to lower overrides, add --force");
    assertThat(dump().out()).isEqualTo(HEADER + "NewOrdersPerAccount,17,600,300,3h0m0s,\n");
    Cli forced =
        Cli.run(Stream.concat(Stream.of(lower), Stream.of("--force")).toArray(String[]::new));
    assertThat(forced.code()).as(forced.err()).isEqualTo(Exit.DONE);
    assertThat(dump().out()).isEqualTo(HEADER + "NewOrdersPerAccount,17,6,3,3h0m0s,\n");
  }

  @Test
  void enable_ofNone_isANo() {
    Cli run = on("enable", "NewOrdersPerAccount", "17");
    assertThat(run).isEqualTo(new Cli(Exit.NO, "", "there is no override 3:17 in the table\n"));
  }

  @Test
  void import_isTheFile_andTheDumpsAreEqual() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("overrides.yml"),
            """
            - NewOrdersPerAccount: {burst: 300, count: 600, period: 180m, ids: [12345678, {id: 87654321, comment: Foo}]}
            - CertificatesPerDomain: {burst: 4, count: 4, period: 168h, ids: ["2001:db8::"]}
            - CertificatesPerFQDNSet: {burst: 4, count: 4, period: 168h, ids: ["b.example.com,a.example.com"]}
            """);
    Cli run = Cli.run("overrides", "import", "--overrides", file.toString(), "--db", db);
    assertThat(run).isEqualTo(new Cli(Exit.DONE, "", "4 added, 0 replaced\n"));
    assertThat(dump().out())
        .isEqualTo(Cli.run("overrides", "dump", "--overrides", file.toString()).out())
        .contains("NewOrdersPerAccount,87654321,600,300,3h0m0s,Foo");
    assertThat(Cli.run("overrides", "import", "--overrides", file.toString(), "--db", db).err())
        .isEqualTo("0 added, 4 replaced\n");
  }

  @Test
  void import_ofAFileWithAMistake_writesNothing() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("overrides.yml"),
            "- NewOrdersPerAccount: {burst: 3, count: 6, period: 1h, ids: [17, lol]}\n");
    Cli run = Cli.run("overrides", "import", "--overrides", file.toString(), "--db", db);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("overrides.yml:1:").contains("lol");
    assertThat(dump().out()).isEqualTo(HEADER);
  }

  @Test
  void import_warnsOfWhatCanNeverMatch_andOfWhatStaysDisabled() throws Exception {
    assertThat(add("CertificatesPerDomain", "example.com").code()).isEqualTo(Exit.DONE);
    assertThat(on("disable", "CertificatesPerDomain", "example.com").code()).isEqualTo(Exit.DONE);
    Path file =
        Files.writeString(
            folder.resolve("overrides.yml"),
            "- CertificatesPerDomain: {burst: 900, count: 900, period: 1h, ids: [www.example.com, example.com]}\n");
    Cli run = Cli.run("overrides", "import", "--overrides", file.toString(), "--db", db);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err())
        .contains("overrides.yml:1:", "warning: no request can match \"www.example.com\"")
        .endsWith("1 added, 1 replaced, of which 1 disabled\n");
  }

  @Test
  void idThatIsWrittenAsARange_isWarnedOf_byAddAndImport() throws Exception {
    String warning =
        "warning: an override applies to one id, here 198.51.100.0, and not to each address of"
            + " 198.51.100.0/24; for this id, write 198.51.100.0\n";
    assertThat(add("LoginsPerIPAddress", "198.51.100.0/24").err())
        .isEqualTo(warning + "added 101:198.51.100.0\n");
    Path file =
        Files.writeString(
            folder.resolve("range.csv"),
            HEADER + "LoginsPerIPAddress,198.51.100.0/24,700,300,3h0m0s,\n");
    assertThat(importCsv(file).err()).isEqualTo(warning + "0 added, 1 replaced\n");
  }

  @Test
  void disable_ofANameBelowADomain_findsItsOwnRowFirst() throws Exception {
    String row = "CertificatesPerDomain,www.example.com,600,300,3h0m0s,\n";
    Path file = Files.writeString(folder.resolve("www.csv"), HEADER + row);
    assertThat(importCsv(file).err())
        .startsWith("warning: no request can match \"www.example.com\"")
        .endsWith("1 added, 0 replaced\n");
    assertThat(add("CertificatesPerDomain", "example.com").err())
        .isEqualTo("added 5:example.com\n");
    assertThat(on("disable", "CertificatesPerDomain", "www.example.com").err())
        .isEqualTo("disabled 5:www.example.com\n");
    assertThat(dump().out())
        .isEqualTo(HEADER + "CertificatesPerDomain,example.com,600,300,3h0m0s,\n");
    assertThat(on("disable", "CertificatesPerDomain", "ftp.example.com").err())
        .isEqualTo("disabled 5:example.com\n");
  }

  @Test
  void import_ofACommentThatTheDatabaseCantKeep_isWrongInput() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("overrides.yml"),
            """
            - NewOrdersPerAccount: {burst: 3, count: 6, period: 1h, ids: [{id: 17, comment: "\\0"}]}
            """);
    Cli run = Cli.run("overrides", "import", "--overrides", file.toString(), "--db", db);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("U+0000");
  }

  @Test
  void dump_ofAFileAndATable_isRefused() {
    Cli run = Cli.run("overrides", "dump", "--overrides", "overrides.yml", "--db", db);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("expected one or the other");
  }

  @Test
  void add_ofSomethingWrong_isRefusedWithTheReason() {
    assertThat(add("NewOrdersPerAcount", "17").err()).contains("did you mean");
    assertThat(add("NewOrdersPerAccount", "lol").err()).contains("regId");
    assertThat(add("NewRegistrationsPerIPAddress", "10.0.0.1", "--strict").err())
        .contains("reserved");
    Cli burst =
        Cli.run(
            "overrides",
            "add",
            "NewOrdersPerAccount",
            "17",
            "--burst",
            "0",
            "--count",
            "1",
            "--period",
            "1h",
            "--db",
            db);
    assertThat(burst.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(burst.err()).contains("burst");
    Cli period =
        Cli.run(
            "overrides",
            "add",
            "NewOrdersPerAccount",
            "17",
            "--burst",
            "1",
            "--count",
            "1",
            "--period",
            "1 fortnight",
            "--db",
            db);
    assertThat(period.err()).contains("expected a duration");
    assertThat(dump().out()).isEqualTo(HEADER);
  }

  @Test
  void add_ofANameBelowADomain_isForTheDomain() {
    assertThat(add("CertificatesPerDomain", "www.example.com").err())
        .isEqualTo("added 5:example.com\n");
  }

  @Test
  void dump_ofABadRow_namesIt_andPrintsTheOthers() throws Exception {
    assertThat(add("NewOrdersPerAccount", "17").code()).isEqualTo(Exit.DONE);
    execute("INSERT INTO rate_limit_overrides VALUES (3, '3:lol', 1, 1, 1, true, '', now())");
    Cli run = dump();
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(run.out()).isEqualTo(HEADER + "NewOrdersPerAccount,17,600,300,3h0m0s,\n");
    assertThat(run.err()).startsWith("bad row \"3:lol\": ").contains("regId");
  }

  @Test
  void aDatabaseThatIsNotThere_isUnreachable() {
    Cli run = Cli.run("overrides", "dump", "--db", "postgresql://postgres@127.0.0.1:1/none");
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err()).startsWith("sluice: database error: ");
  }

  @Test
  void aDatabaseWithoutTheTable_saysHowToMakeIt() {
    Cli run = Cli.run("overrides", "dump", "--db", LocalPostgres.newDatabase());
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err())
        .isEqualTo(
            "sluice: database error: ERROR: relation \"rate_limit_overrides\" does not"
                + " exist; make the table with: sluice overrides migrate --db URL\n");
  }

  @Test
  void noDatabase_orNoUrl_isWrongInput() {
    assertThat(Cli.run("overrides", "migrate").err()).contains("--db URL");
    Cli run = Cli.run("overrides", "migrate", "--db", "mysql://secret@h/d");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("postgresql://").doesNotContain("secret");
  }

  private void execute(String sql) throws SQLException {
    try (var connection =
            DriverManager.getConnection("jdbc:" + db.replace("postgres@", ""), "postgres", "");
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private Cli dump() {
    return Cli.run("overrides", "dump", "--db", db);
  }

  private Cli on(String command, String limit, String id) {
    return Cli.run("overrides", command, limit, id, "--db", db);
  }

  private Cli add(String limit, String id, String... more) {
    String[] args = {
      "overrides",
      "add",
      limit,
      id,
      "--burst",
      "300",
      "--count",
      "600",
      "--period",
      "180m",
      "--db",
      db
    };
    String[] all = java.util.Arrays.copyOf(args, args.length + more.length);
    System.arraycopy(more, 0, all, args.length, more.length);
    return Cli.run(all);
  }
}
