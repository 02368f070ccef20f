// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Vectors;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LintCommandTest {

  @TempDir Path folder;

  @Test
  void goodFiles_haveNoMistakes() throws IOException {
    Cli run =
        Cli.run(
            "lint",
            "--limits",
            write("d.yml", Vectors.text("limits/good-boulder-defaults.yml")),
            "--overrides",
            write("o.yml", Vectors.text("limits/good-boulder-overrides.yml")));
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out()).isEmpty();
    assertThat(run.err())
        .isEqualTo(
            """
            no mistakes, no warnings
            NewOrdersPerAccount: at most 600 in any 3h, 300 of them at once
            NewRegistrationsPerIPAddress: at most 40 in any 1s, 20 of them at once
            """);
  }

  @Test
  void against_warnsOfAnotherNumber() throws IOException {
    String now = write("new.yml", "Own: {id: string, burst: 1, count: 1, period: 1m}\n");
    String old =
        write("old.yml", "Own: {id: string, number: 1007, burst: 1, count: 1, period: 1m}\n");
    Cli run = Cli.run("lint", now, "--against", old);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out())
        .isEqualTo(
            now
                + ":1:1: warning: the bucket keys of Own change from \"1007:…\" to \"Own:…\": all its"
                + " buckets become full once, and its overrides and penalties in a PostgreSQL table"
                + " do not apply until they are set again\n");
    assertThat(Cli.run("lint", old, "--against", old).out()).isEmpty();
    Cli broken = Cli.run("lint", now, "--against", write("broken.yml", "Own: {id: string}\n"));
    assertThat(broken.out() + broken.err()).contains("broken.yml:1:1: the field burst is missing");
  }

  @Test
  void against_withoutLimitsOrNames_isRefused() throws IOException {
    String now = write("l.yml", "ApiCallsPerKey: {id: string, burst: 1, count: 1, period: 1s}\n");
    String rules = write("r.yml", "rules:\n- {path: /, limit: ApiCallsPerKey, id: x}\n");
    Cli run = Cli.run("lint", now, rules, "--against", rules);
    assertThat(run.err())
        .isEqualTo("sluice: --against: found no limits or names in %s\n".formatted(rules));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void aFileOfTokens_isCheckedAsTheOthersAre() throws IOException {
    String tokens = write("t.yml", "tokens:\n  - {name: a, sha256: abc, roles: [decide]}\n");
    for (String[] arguments : new String[][] {{"lint", tokens}, {"lint", "--tokens", tokens}}) {
      Cli run = Cli.run(arguments);
      assertThat(run.code()).isEqualTo(Exit.NO);
      assertThat(run.out())
          .isEqualTo(
              tokens
                  + ":2:23: not a SHA-256 hash (64 hexadecimal digits); copy the line that sluice"
                  + " token new prints\n");
    }
    String good =
        write(
            "c.yml",
            "certificates:\n  - {name: spiffe://prod/ns/shop/sa/checkout, roles: [decide]}\n");
    Cli run = Cli.run("lint", good);
    assertThat(run.err()).isEqualTo("no mistakes, no warnings\n");
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  /** A file that lost its end must not give a token more limits than were written for it. */
  @Test
  void aFreshTokensLines_areAMistake_whereverTheyAreCut() throws IOException {
    Cli fresh = Cli.run("token", "new", "--role", "decide", "--limit", "Orders*", "checkout");
    assertThat(fresh.code()).isEqualTo(Exit.DONE);
    List<String> lines = fresh.err().lines().skip(1).toList(); // the first says where they belong
    assertThat(lines).hasSize(4);
    for (int left = 1; left <= lines.size(); left++) {
      String file = write("t.yml", "tokens:\n" + String.join("\n", lines.subList(0, left)) + "\n");
      assertThat(Cli.run("lint", file).code())
          .as("%s lines", left)
          .isEqualTo(left == lines.size() ? Exit.DONE : Exit.NO);
    }
  }

  @Test
  void lintAndDiff_endWithTheirCode_thoughTheReaderOfThePipeHasGone() throws IOException {
    StringBuilder limits = new StringBuilder();
    StringBuilder mistakes = new StringBuilder();
    for (int i = 0; i < 3_000; i++) {
      limits.append("CallsPer%s: {id: string, burst: 1, count: 1, period: 1s}\n".formatted(i));
      mistakes.append("CallsPer%s: {id: string, burst: many}\n".formatted(i));
    }
    String one = write("one.yml", "CallsPerId: {id: string, burst: 1, count: 1, period: 1s}\n");
    String many = write("many.yml", limits.toString());

    assertThat(intoAClosedPipe("lint", write("bad.yml", mistakes.toString()))).isEqualTo(Exit.NO);
    assertThat(intoAClosedPipe("diff", "--exit-code", one, many)).isEqualTo(Exit.NO);
  }

  private static int intoAClosedPipe(String... args) {
    OutputStream pipe =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    return Main.run(InputStream.nullInputStream(), pipe, OutputStream.nullOutputStream(), args);
  }

  @Test
  void aPipe_isAMistake_andIsNotWaitedFor() throws Exception {
    Path pipe = folder.resolve("limits.yml");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Cli run = Cli.run("lint", pipe.toString());
    assertThat(run.out())
        .isEqualTo(pipe + ":1:1: found a pipe, a socket or a device, expected a regular file\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @Test
  void limitThatIsAskedFor_andHasNoDefault_isAMistake() throws IOException {
    String limits =
        write(
            "l.yml",
            "LoginsPerIPAddress: {burst: 1, count: 1, period: 1s}\nApiCallsPerKey: {unlimited: true}\n");
    Cli run =
        Cli.run(
            "lint",
            "--limits",
            limits,
            "--for",
            "LoginsPerIPAddress",
            "--for",
            "SignUpsPerIPAddress",
            "--for",
            "ApiCallsPerKey");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(run.out())
        .isEqualTo(
            limits
                + ":1:1: SignUpsPerIPAddress has no default, but --for requires one; write burst, count"
                + " and period, or \"SignUpsPerIPAddress: {unlimited: true}\"\n");
  }

  @Test
  void worstPeriod_isWhatTheLimitReallyLetsThrough() throws IOException {
    String limits =
        write(
            "l.yml",
            """
            LoginsPerIPAddress: {burst: 10, count: 5, period: 1m}
            ApiCallsPerKey: {burst: 1, count: 300000000, period: 1s}
            TokensPerKey: {id: string, burst: 1000, count: 1000, period: 24h, debt: 2}
            SignUpsPerIPAddress: {burst: 9223372036854775807, count: 9223372036854775807, period: 9223372036854775807ns}
            """);
    assertThat(Cli.run("lint", "--limits", limits).err())
        .contains("LoginsPerIPAddress: at most 15 in any 1m, 10 of them at once")
        .contains("ApiCallsPerKey: at most 333333334 in any 1s, 1 of them at once")
        .contains(
            "TokensPerKey: at most 2000 in any 24h, 1000 of them at once, and a debt of up to 2000")
        .contains("SignUpsPerIPAddress: at most 18446744073709551614 in any 2562047h47m16.8");
  }

  @Test
  void badFiles_haveEveryMistakeNamed_inOneRun() throws IOException {
    String defaults = write("d.yml", Vectors.text("limits/bad-defaults.yml"));
    String overrides = write("o.yml", Vectors.text("limits/bad-overrides.yml"));
    Cli run = Cli.run("lint", "--limits", defaults, "--overrides", overrides);
    assertThat(run.code()).isEqualTo(Exit.NO);
    for (int line : List.of(2, 4, 9, 14)) {
      assertThat(run.out()).contains(defaults + ":" + line + ":");
    }
    for (int line : List.of(2, 8, 16, 19)) {
      assertThat(run.out()).contains(overrides + ":" + line + ":");
    }
    assertThat(run.err()).isEqualTo("9 mistakes, no warnings\n");
  }

  @Test
  void files_areToldApartByTheirContent() throws IOException {
    String defaults =
        write("a.yml", "# ours\n---\nWidgetsPerUser: {burst: 1, count: 1, period: 7d}\n");
    String overrides =
        write("b.yml", "- WidgetsPerUser: {burst: 2, count: 2, period: 1h, ids: [x]}\n");
    String names = write("c.yml", "names:\n- number: 1001\n  name: WidgetsPerUser\n  id: string\n");
    Cli good = Cli.run("lint", overrides, names, defaults);
    assertThat(good.out()).isEmpty();
    assertThat(good.code()).isEqualTo(Exit.DONE);
    assertThat(good.err()).contains("WidgetsPerUser: at most 2 in any 7d");
    Cli unknown = Cli.run("lint", defaults);
    assertThat(unknown.code()).isEqualTo(Exit.NO);
    assertThat(unknown.out()).contains("found the name \"WidgetsPerUser\"");
    Cli twice = Cli.run("lint", defaults, "--limits", defaults);
    assertThat(twice.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(twice.err()).contains("found two files with defaults", "give one file of each kind");
    assertThat(Cli.run("lint", folder + "/nope.yml").err()).contains("there is no such file");
  }

  @Test
  void rules_areCheckedAgainstTheLimits() throws IOException {
    String limits = write("l.yml", "ApiCallsPerKey: {burst: 1, count: 1, period: 1s}\n");
    String rules =
        write(
            "r.yml", "rules:\n- {path: /, limit: ApiCallsPerKye, id: x}\n- {path: /x, cost: 1}\n");
    String found =
        rules
            + ":2:20: found \"ApiCallsPerKye\", expected the name of a limit; did you mean"
            + " \"ApiCallsPerKey\"?\n"
            + rules
            + ":3:3: the field limit, limits, unlimited or deny is missing\n";
    Cli given = Cli.run("lint", rules, limits);
    assertThat(given.out()).isEqualTo(found);
    assertThat(given.code()).isEqualTo(Exit.NO);
    assertThat(Cli.run("lint", "--limits", limits, "--rules", rules).out()).isEqualTo(found);
    assertThat(Cli.run("lint", rules).err()).contains("--rules requires --limits FILE");
    assertThat(Cli.run("lint", limits, rules, rules).err()).contains("two files with rules");
  }

  private static final String ONE_FILE =
      """
      names: [{number: 1001, name: Widgets, id: string}]
      limits:
        Widgets: {burst: 1, count: 1, period: 1s}
      overrides:
        - Widgets: {burst: 2, count: 2, period: 1s, ids: [a]}
      rulesOnly: [edge]
      rules:
        - {domain: edge, entries: [widget], limit: Widgets, id: "{widget}"}
      """;

  @Test
  void sections_ofOneFile_areAllRead() throws IOException {
    String file = write("all.yml", ONE_FILE);
    assertThat(Cli.run("lint", file).code()).isEqualTo(Exit.DONE);
    Cli twice = Cli.run("lint", "--limits", file, "--rules", file);
    assertThat(twice.code()).as(twice.out()).isEqualTo(Exit.DONE);
    String[] explain = {"explain-rule", "--limits", file, "--domain", "edge", "--entry"};
    assertThat(
            Cli.run(
                    Stream.of(explain, new String[] {"widget=b"})
                        .flatMap(Stream::of)
                        .toArray(String[]::new))
                .out())
        .contains("Widgets", "burst 1");
    assertThat(Cli.run("overrides", "dump", "--limits", file).out()).contains("Widgets,a,2,2,1s");
    String bad = write("bad.yml", ONE_FILE.replace("limit: Widgets", "limit: Wigdets"));
    assertThat(Cli.run("lint", bad).out())
        .isEqualTo(
            bad
                + ":8:46: found \"Wigdets\", expected the name of a limit; did you mean"
                + " \"Widgets\"?\n");
  }

  @Test
  void file_namedAsRules_mustHaveRules() throws IOException {
    String file = write("all.yml", ONE_FILE.substring(0, ONE_FILE.indexOf("rulesOnly")));
    assertThat(Cli.run("lint", "--limits", file, "--rules", file).out())
        .isEqualTo(file + ":1:1: the field rules is missing\n");
    assertThat(Cli.run("explain-rule", "--limits", file, "GET", "/").err())
        .contains("found no rules in " + file);
  }

  @Test
  void strict_refusesWhatIsNotCanonical() throws IOException {
    String overrides =
        write(
            "o.yml",
            """
            - NewRegistrationsPerIPAddress:
                burst: 1
                count: 1
                period: 1s
                ids: ['2602:080a:6000::1']
            """);
    assertThat(Cli.run("lint", "--overrides", overrides).code()).isEqualTo(Exit.DONE);
    Cli strict = Cli.run("lint", "--strict", "--overrides", overrides);
    assertThat(strict.code()).isEqualTo(Exit.NO);
    assertThat(strict.out()).contains(":5:", "canonical");
  }

  @Test
  void fileThatCanNotBeRead_isRefused() {
    Cli missing = Cli.run("lint", "--limits", folder.resolve("nope.yml").toString());
    assertThat(missing.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(missing.err()).contains("nope.yml: there is no such file");
    Cli directory = Cli.run("lint", "--limits", folder.toString());
    assertThat(directory.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(directory.err()).contains("found a directory, expected a file");
    Cli none = Cli.run("lint");
    assertThat(none.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(none.err()).contains("name at least one file, for example: sluice lint limits.yml");
  }

  @Test
  void badBytes_areMistakes_withAnExitCode() throws IOException {
    Path junk = folder.resolve("junk.yml");
    Files.write(junk, new byte[] {0, 1, 2, (byte) 0xff, (byte) 0xfe});
    Path huge = folder.resolve("huge.yml");
    try (RandomAccessFile sparse = new RandomAccessFile(huge.toFile(), "rw")) {
      sparse.setLength(100L << 20);
    }
    String bomb =
        """
        a: &a [x,x,x,x,x,x,x,x,x]
        b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
        c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
        d: [*c,*c,*c,*c,*c,*c,*c,*c,*c]
        """;
    for (String file :
        List.of(
            junk.toString(),
            huge.toString(),
            write("empty.yml", ""),
            write("bomb.yml", bomb),
            write("deep.yml", "[".repeat(100_000)),
            write("tabs.yml", "A:\n\tburst: 1\n"))) {
      Cli run = Cli.run("lint", "--limits", file);
      assertThat(run.code()).as(file + run.err()).isEqualTo(Exit.NO);
      assertThat(run.out()).startsWith(file + ":");
      assertThat(run.err()).contains("mistake");
    }
  }

  @Test
  void dump_printsCsv() throws IOException {
    String overrides = write("o.yml", Vectors.text("limits/good-boulder-overrides.yml"));
    Cli run = Cli.run("overrides", "dump", "--overrides", overrides);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out().getBytes(StandardCharsets.UTF_8)).doesNotContain('\r');
    assertThat(run.out())
        .isEqualTo(
            """
            name,id,count,burst,period,comment
            NewOrdersPerAccount,12345678,600,300,3h0m0s,
            NewOrdersPerAccount,87654321,600,300,3h0m0s,
            NewRegistrationsPerIPAddress,10.0.0.2,40,20,1s,
            NewRegistrationsPerIPAddress,10.0.0.5,40,20,1s,
            """);
    assertThat(Cli.run("overrides", "dump").err())
        .contains("the option --overrides FILE or --db URL is missing");
  }

  @Test
  void overridesOfALimitThatNoFileDeclares_areRefused_withTheOptionToAdd() throws IOException {
    String yaml = write("o.yml", "- Own: {burst: 2, count: 2, period: 1h, ids: [x]}\n");
    String csv = write("o.csv", "name,id,count,burst,period,comment\nOwn,x,2,2,1h,\n");
    for (String[] command :
        new String[][] {
          {"overrides", "dump", "--overrides", yaml},
          {"overrides", "import", "--overrides", yaml, "--db", "postgresql://h/d"},
          {"overrides", "import", "--csv", csv, "--db", "postgresql://h/d"}
        }) {
      Cli run = Cli.run(command);
      assertThat(run.err())
          .contains("\"Own\"")
          .endsWith(
              "a limit is unknown; add --limits FILE or --names FILE, the file that declares it\n");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    }
  }

  @Test
  void csvThatCannotBeRead_isRefused_inPlainWords() throws IOException {
    Path latin = folder.resolve("latin.csv");
    Files.writeString(
        latin,
        "name,id,count,burst,period,comment\nX,1,2,2,1h,Müller\n",
        StandardCharsets.ISO_8859_1);
    for (String[] file :
        new String[][] {
          {latin.toString(), ": expected text in UTF-8; in a spreadsheet, save as CSV UTF-8\n"},
          {folder.resolve("gone.csv").toString(), ": there is no such file\n"},
          {folder.toString(), ": found a directory, expected a file\n"}
        }) {
      Cli run = Cli.run("overrides", "import", "--csv", file[0], "--db", "postgresql://h/d");
      assertThat(run.err()).endsWith(file[0] + file[1]);
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    }
  }

  @Test
  void configurationOfAServer_isNotALimitFile() throws IOException {
    String server = write("sluice.yml", "http: 127.0.0.1:8080\nlimits: /etc/sluice/limits.yml\n");
    Cli run = Cli.run("lint", server);
    assertThat(run.err())
        .isEqualTo(
            "sluice: %s: found a configuration of sluice serve, expected a file with limits, rules or tokens; to check the configuration, run: sluice serve --config %1$s --print-config\n"
                .formatted(server));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    for (String text :
        new String[] {
          "limits: {}\nhttp: {burst: 1, count: 1, period: 1s}\n", "limits: # a.yml\n  {}\n"
        }) {
      assertThat(Cli.run("lint", write("limits.yml", text)).err()).contains("mistake");
    }
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }
}
