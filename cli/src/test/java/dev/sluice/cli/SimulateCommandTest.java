// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SimulateCommandTest {

  @TempDir Path folder;

  @Test
  void withoutOptions_aRogueScriptMeetsTheThreeAlgorithmsOfTheEssay() {
    Cli run = Cli.run("simulate");
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out())
        .isEqualTo(
            """
            rogue: 1 client, limit 100/1h, 4h in steps of 1m, seed 1

                                 time-bucket  leaky-bucket    gcra
            requests                     404           898     898
            admitted                     400           499     499
            denied                         4           399     399
            clients ever denied        100 %         100 %   100 %
            never served                   0             0       0
            longest lockout           59m24s        35.64s  35.64s
            peak in 1m                   100           101     101
            variance                     164          41.2    41.2
            wrongly denied                 -             0       -

            Verdict: With time-bucket a client is locked out for up to 59 min, with gcra for
              36 s. After the first 1 h, time-bucket lets up to 100 requests through in 1m,
              gcra 2.
            """);
  }

  @ParameterizedTest
  @ValueSource(strings = {"fa-IR", "ar-EG"})
  void table_hasTheSameDigits_inEveryCountry(String country) {
    Cli here = Cli.run("simulate");
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag(country));
    try {
      assertThat(Cli.run("simulate")).isEqualTo(here);
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void sameSeed_givesTheSameResult_andAnotherSeedAnother() {
    String[] command = {"simulate", "--traffic", "crowd", "--json", "--seed", "5"};
    Cli first = Cli.run(command);
    assertThat(Cli.run(command)).isEqualTo(first);
    command[5] = "6";
    assertThat(Cli.run(command).out()).isNotEqualTo(first.out());
  }

  @Test
  void json_hasAllThatChartsNeed() throws IOException {
    Cli run =
        Cli.run(
            "simulate",
            "--json",
            "--traffic=steady:clients=3",
            "--traffic=rogue",
            "--algorithm=leaky-bucket,gcra",
            "--drip-stall=1h+2h",
            "--watch=rogue-1",
            "--for=4h",
            "--bin=30m");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out().lines()).hasSize(1);
    JsonNode json = new ObjectMapper().readTree(run.out());
    assertThat(json.get("traffic")).hasSize(2);
    assertThat(json.get("lengthNanos").longValue()).isEqualTo(14_400_000_000_000L);
    assertThat(json.get("binNanos").longValue()).isEqualTo(1_800_000_000_000L);
    assertThat(json.get("seed").longValue()).isEqualTo(1);
    assertThat(json.get("watched").textValue()).isEqualTo("rogue-1");
    assertThat(json.get("outcomes")).hasSize(2);
    for (JsonNode outcome : json.get("outcomes")) {
      long admitted = 0;
      for (JsonNode count : outcome.get("admittedPerBin")) {
        admitted += count.longValue();
      }
      assertThat(admitted).isEqualTo(outcome.get("admitted").longValue()).isPositive();
      assertThat(outcome.get("deniedPerBin")).hasSize(8);
      assertThat(outcome.get("requests").longValue())
          .isEqualTo(admitted + outcome.get("denied").longValue());
      assertThat(outcome.get("clients").longValue()).isEqualTo(4);
      assertThat(outcome.get("clientsNeverServed").longValue()).isZero();
      assertThat(outcome.get("burst").longValue()).isEqualTo(100);
      assertThat(outcome.get("longestLockoutNanos").longValue()).isPositive();
      assertThat(outcome.get("longestLockoutClient").textValue()).isNotEmpty();
      assertThat(outcome.get("varianceAdmittedPerBin").doubleValue()).isPositive();
      assertThat(outcome.get("level").get(0)).hasSize(2);
    }
    assertThat(json.at("/outcomes/0/algorithm").textValue()).isEqualTo("leaky-bucket");
    assertThat(json.at("/outcomes/0/wronglyDenied").longValue()).isPositive();
    assertThat(json.at("/outcomes/0/drip"))
        .hasToString(
            "{\"everyNanos\":36000000000,\"stalls\":"
                + "[{\"fromNanos\":3600000000000,\"lengthNanos\":7200000000000}]}");
    assertThat(json.at("/outcomes/1/algorithm").textValue()).isEqualTo("gcra");
    assertThat(json.at("/outcomes/1").has("wronglyDenied")).isFalse();
    assertThat(json.at("/outcomes/1").has("drip")).isFalse();
  }

  @Test
  void severalLimits_areComparedWithEachOther() {
    Cli run = Cli.run("simulate", "--limit=100/1h", "--limit=100/1h,burst=20");
    assertThat(run.out())
        .isEqualTo(
            Cli.run("simulate", "--algorithm=gcra", "--limit=100/1h", "--limit=100/1h,burst=20")
                .out())
        .doesNotContain("leaky-bucket");
  }

  @Test
  void severalLimits_areCompared_byNumbersAndByNames() throws IOException {
    Cli typed =
        Cli.run("simulate", "--algorithm=gcra", "--limit=100/1h", "--limit=100/1h,burst=20");
    assertThat(typed.out().lines().skip(2).findFirst().orElseThrow())
        .matches(" +100/1h +100/1h,burst=20");
    Cli both = Cli.run("simulate", "--algorithm=gcra,sliding-log", "--limit=9/1m", "--limit=8/1m");
    assertThat(both.out()).contains("gcra 9/1m  sliding-log 9/1m  gcra 8/1m  sliding-log 8/1m");
    Cli sample = Cli.run("simulate", "--limit=LoginsPerIPAddress");
    assertThat(sample.out()).contains("limit 10/1m,");
    Path file = folder.resolve("limits.yml");
    Files.writeString(file, "LoginsPerIPAddress: {burst: 7, count: 7, period: 1h}\n");
    Cli named = Cli.run("simulate", "--limit=LoginsPerIPAddress", "--limits=" + file);
    assertThat(named.out()).contains("limit 7/1h,");
  }

  /** Eight columns beside each other were more than twice as wide. */
  @Test
  void table_ofAllAlgorithmsAndTwoLimits_fitsAnEightyColumnTerminal() {
    Cli run = Cli.run("simulate", "--algorithm", "all", "--limit", "9/1m", "--limit", "8/1m");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
    assertThat(run.out().lines().filter(line -> line.startsWith("requests")))
        .as("parts of the table, one below the other")
        .hasSizeGreaterThan(1);
  }

  @Test
  void report_isOnePage_thatNeedsNothingElse_andSaysHowItWasMade() throws IOException {
    Path page = folder.resolve("it's out.html");
    Cli run = Cli.run("simulate", "--algorithm", "all", "--report", page.toString());
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err()).isEqualTo("report: " + page + "\n");
    assertThat(run.out()).contains("sliding-counter");
    assertThat(Files.readString(page))
        .startsWith(SimulateCommand.REPORT)
        .contains("<svg", "sliding-counter", "@media print")
        .contains("sluice simulate --algorithm all --report '/", "it'\\''s out.html'")
        .doesNotContain("<script", "src=", "<link", "url(", "@import");
  }

  @Test
  void jsonAndReport_goTogether() throws IOException {
    Path page = folder.resolve("out.html");
    Cli run = Cli.run("simulate", "--json", "--report", page.toString());
    assertThat(new ObjectMapper().readTree(run.out()).get("outcomes")).hasSize(3);
    assertThat(page).isNotEmptyFile();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--algorithm=gcar | --algorithm: found \"gcar\", expected one of time-bucket, leaky-bucket, gcra, sliding-log, sliding-counter, all; did you mean \"gcra\"?",
        "--algorithm=all,token-bucket | --algorithm: found \"token-bucket\", expected one of time-bucket, leaky-bucket, gcra, sliding-log, sliding-counter, all",
        "--traffic=stedy | --traffic: found the kind \"stedy\", expected one of steady,",
        "--traffic=steady:clients=0 | --traffic: clients: found \"0\", expected a whole number from 1 to 1000000",
        "--traffic=steady:cost=101 | cost 101 exceeds the burst (100) of the limit 100/1h",
        "--limit=100/hour | --limit: found \"hour\", expected a duration such as 1s,",
        "--limit=0/1h | --limit: burst: found 0, expected a whole number > 0",
        "--limit=NoSuchLimit | --limit: found \"NoSuchLimit\", expected the name of a limit with a default",
        "--limit=LoginsPerIPAddres | --limit: found \"LoginsPerIPAddres\", expected the name of a limit with a default, or COUNT/PERIOD such as 100/1h; did you mean \"LoginsPerIPAddress\"?",
        "--limit=1/100000h | --limit: the bucket of 1/100000h takes 100000h to fill; at most 10 years are allowed",
        "--limits=nowhere.yml --limit=LoginsPerIPAddress | nowhere.yml: there is no such file",
        "--limit=100/1000d | --for TIME is needed: the time to fill the bucket (1000d) times 4 is more than 10 years",
        "--seed=99999999999999999999 | --seed: found \"99999999999999999999\", expected a whole number with fewer digits",
        "--for=soon | --for: found \"soon\", expected a duration",
        "--for=0s | --for: found 0s, expected a duration > 0",
        "--for=100000h | --for: found 100000h, expected at most 10 years",
        "--bin=1ms | --bin: found 1ms, expected a duration that splits the run of 4h into 1 to 2000 steps",
        "--watch=steady-1 | --watch: found \"steady-1\", expected the name of a client in the traffic, such as rogue-1",
        "--drip-every=never | --drip-every: found \"never\", expected a duration",
        "--drip-every=1ns | drip: one drip every 1ns for 4h makes more than 100000000 drips, the most allowed",
        "--drip-buckets=0 | --drip-buckets: found 0, expected a whole number > 0",
        "--drip-stall=1h | --drip-stall: found \"1h\", expected FROM+TIME such as 1h+30m",
        "--drip-stall=1h+0s | --drip-stall: found 0s, expected a duration > 0",
        "--drip-stall=x+1s | --drip-stall: found \"x\", expected a duration",
        "--drip-stall=1h+2562047h | --drip-stall: found a stall from PT1H for PT2562047H, expected a start >= 0 and a length > 0, each at most 10 years",
        "--drip-stall=1h+1h --algorithm=gcra | --drip-stall requires leaky-bucket in --algorithm: no other algorithm drains buckets",
        "--drip-buckets=3 --algorithm=gcra,sliding-log | --drip-buckets requires leaky-bucket in --algorithm",
        "--limits=limits.yml | --limits: no --limit option names a limit of limits.yml, expected an option such as --limit LoginsPerIPAddress",
        "--limits=limits.yml --limit=9/1m | --limits: no --limit option names a limit of limits.yml",
        "--names=names.yml | --names requires --limits, the file that uses the names",
        "--report=/ | --report: /: found a directory, expected a file",
        "--report=no/such/out.html | --report: no/such/out.html: there is no folder",
        "--seed=one | --seed: found \"one\", expected a whole number",
      })
  void mistake_isNamed_andNothingIsPrinted(String options, String message) {
    Cli run = Cli.run(("simulate " + options).split(" ", -1));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).startsWith("sluice: " + message);
  }

  @Test
  void completion_knowsAlgorithmsAndKindsOfTraffic() {
    assertThat(Cli.run("completion", "bash").out())
        .contains("simulate", "sliding-counter", "retry-storm", "--drip-stall");
  }
}
