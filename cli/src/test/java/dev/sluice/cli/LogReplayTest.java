// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class LogReplayTest {

  private static final String LIMITS =
      """
      names:
        - {number: 1001, name: LoginsPerClient, id: ipAddress}
      limits:
        LoginsPerClient: {burst: 2, count: 2, period: 1m}
      """;

  @TempDir Path folder;
  private String limits;
  private String log;

  @BeforeEach
  void writeFiles() throws IOException {
    limits = write("limits.yml", LIMITS);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < 5; i++) {
      lines.append(line("203.0.113.7", i));
    }
    for (int i = 0; i < 5; i++) {
      lines.append(line("203.0.113.8", 4 + i * 40));
    }
    log = write("access.log", lines.toString());
  }

  private static String line(String client, int second) {
    return String.format(
        Locale.ROOT,
        "%s - - [26/Nov/2026:10:%02d:%02d +0100] \"POST /login HTTP/1.1\" 200 5 \"-\" \"-\"\n",
        client,
        second / 60,
        second % 60);
  }

  @Test
  void count_saysWhatALimitDenies() {
    Cli run = replay("--count", "LoginsPerClient={ip}", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith("10 lines, 2026-11-26 10:00:00 to 10:02:44 +0100, 2 clients\n")
        .contains("every request", "LoginsPerClient", "3 (30.0 %)", "1 (50.0 %)")
        .contains("Most denied: 203.0.113.7, 3 of 5 requests denied");
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  /** As a shell does with {@code --csv x*.log}. */
  @ParameterizedTest
  @ValueSource(strings = {"--csv", "--report"})
  void result_overwritesAnEarlierResult_butNoOtherFile(String option) throws IOException {
    String before = Files.readString(Path.of(log));
    String count = "LoginsPerClient={ip}";
    Cli run = replay("--count", count, option, log, log);
    assertThat(run.err())
        .isEqualTo(
            "sluice: %s: %s: the file exists, and is not an earlier result; name another file\n"
                .formatted(option, log));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(Path.of(log)).hasContent(before);
    String result = folder.resolve("result").toString();
    for (int i = 0; i < 2; i++) {
      assertThat(replay("--count", count, option, result, log).code()).isEqualTo(Exit.DONE);
    }
  }

  @Test
  void report_doesNotReplaceAPageOfAnotherProgram() throws IOException {
    String page = write("index.html", "<!doctype html>\n<html lang=\"en\"></html>\n");
    Cli run = replay("--count", "LoginsPerClient={ip}", "--report", page, log);
    assertThat(run.err()).contains("index.html: the file exists, and is not an earlier result");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(Path.of(page)).content().endsWith("</html>\n");
  }

  /** A pipeline must not accept a candidate because a download failed. */
  @Test
  void conditionOnALogWithoutRequests_isAnError() throws IOException {
    String empty = write("empty.log", "");
    List<String> options =
        List.of("--count=LoginsPerClient={ip}", "--format=combined", "--fail-if=denied-clients>1%");
    Cli none = replay(with(options, empty));
    assertThat(none)
        .isEqualTo(new Cli(Exit.BROKEN_INPUT, "", "sluice: found no request to decide\n"));
    assertThat(replay(with(options, "--skip-status=200", log)).err())
        .isEqualTo("sluice: found no request to decide; --skip-status leaves out all 10\n");
    assertThat(replay(with(options, empty, log)).code()).isEqualTo(Exit.NO);
    Cli shard =
        replay("--count=LoginsPerClient={ip}", "--json", "--shard=1/1", "--format=combined", empty);
    assertThat(shard.code()).isEqualTo(Exit.DONE);
    Cli merged = Cli.run("replay", "--merge", write("1.json", shard.out()));
    assertThat(merged).isEqualTo(none);
  }

  private static String[] with(List<String> options, String... more) {
    return Stream.concat(options.stream(), Stream.of(more)).toArray(String[]::new);
  }

  @Test
  void rules_sayWhatARequestIsCharged() throws IOException {
    String rules =
        write(
            "rules.yml",
            "rules:\n  - path: /login\n    limits: [{limit: LoginsPerClient, id: '{ip}'}]\n");
    Cli run = replay("--rules", rules, log);
    assertThat(run.out()).contains("rules.yml:2 /login", "3 (30.0 %)");
    Cli json = replay("--rules", rules, "--json", "--ids", "mask", log);
    assertThat(json.out()).startsWith("{\"log\":{\"format\":\"combined\"").contains("203.0.113.x");
  }

  @Test
  void compressedLogAndStandardInput_areMerged() throws IOException {
    Path packed = folder.resolve("access.log.1.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(packed))) {
      out.write(line("203.0.113.9", 1).repeat(4).getBytes(StandardCharsets.UTF_8));
    }
    byte[] in = line("203.0.113.7", 3).getBytes(StandardCharsets.UTF_8);
    List<String> args =
        List.of(
            "replay",
            "--limits",
            limits,
            "--count",
            "LoginsPerClient={ip}",
            packed.toString(),
            log,
            "-");
    Cli run = Cli.runWith(in, args.toArray(String[]::new));
    assertThat(run.out()).startsWith("15 lines, ").contains("3 clients");
  }

  @Test
  void candidate_isCompared_andAConditionEndsThePipeline() throws IOException {
    String candidate = write("candidate.yml", LIMITS.replace("burst: 2", "burst: 1"));
    Cli run =
        replay(
            "--count",
            "LoginsPerClient={ip}",
            "--against",
            candidate,
            "--fail-if",
            "newly-denied-requests > 0",
            "--fail-if",
            "newly-denied-clients > 90%",
            log);
    assertThat(run.out()).contains("with candidate.yml", "1 request newly denied");
    assertThat(run.err()).isEqualTo("--fail-if: newly-denied-requests is 1 of 10, which is > 0\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @Test
  void conditionIsMet_thoughTheReaderOfThePipeHasGone() {
    for (String bound : List.of("0", "90")) {
      ByteArrayOutputStream err = new ByteArrayOutputStream();
      int code =
          Main.run(
              InputStream.nullInputStream(),
              closedPipe(),
              err,
              "replay",
              "--limits",
              limits,
              "--count",
              "LoginsPerClient={ip}",
              "--json",
              "--fail-if",
              "denied-requests > " + bound,
              log);
      boolean isMet = bound.equals("0");
      assertThat(code).isEqualTo(isMet ? Exit.NO : Exit.DONE);
      assertThat(err.toString(StandardCharsets.UTF_8))
          .isEqualTo(isMet ? "--fail-if: denied-requests is 3 of 10, which is > 0\n" : "");
    }
  }

  private static OutputStream closedPipe() {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        throw new IOException("Broken pipe");
      }
    };
  }

  @Test
  void why_tellsWhetherARequestWasDenied_thoughTheReaderOfThePipeHasGone() throws IOException {
    String line = line("203.0.113.7", 0).replace("/login", "/" + "x".repeat(4000)); // fills buffers
    int code =
        Main.run(
            InputStream.nullInputStream(),
            closedPipe(),
            OutputStream.nullOutputStream(),
            "why",
            "LoginsPerClient",
            "203.0.113.7",
            "--limits",
            limits,
            "--count",
            "LoginsPerClient={ip}",
            "--log",
            write("long.log", line.repeat(40)));
    assertThat(code).isEqualTo(Exit.NO);
  }

  @Test
  void csv_hasEachDenial() throws IOException {
    Path csv = folder.resolve("denials.csv");
    Cli run = replay("--count", "LoginsPerClient={ip}", "--csv", csv.toString(), log);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(Files.readAllLines(csv))
        .hasSize(4)
        .last()
        .isEqualTo(
            "2026-11-26T09:00:04Z,203.0.113.7,,LoginsPerClient,203.0.113.7,POST /login,200,26.0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--json | no option sets what a request is charged to",
        "--count=LoginsPerClient={ip} --fail-if=x | --fail-if: found \"x\", expected METRIC",
        "--count=LoginsPerClient={ip} --fail-if=newly-denied-clients>1 | requires --against",
        "--count=LoginsPerClient={ip} --ids=all | --ids: found \"all\"",
        "--count=LoginsPerClient={ip} --zone=Mars | --zone: found \"Mars\"",
        "--count=LoginsPerClient={ip} --window=x | --window",
        "--count=Logins={ip} | Logins",
        "--count=LoginsPerClient={ipp} | {ip",
        "--count=LoginsPerClient={ip} --format=haproxy --strict | access.log:1: ",
        "--count=LoginsPerClient={ip} --format=haproxy --fail-if=denied-requests>1 | which is not a line of the format haproxy: the line has no complete state",
        "--count=LoginsPerClient={ip} --cost-field=tokns | \"tokns\"",
        "--count=LoginsPerClient={ip} --count=LoginsPerClient={ip} | found --count twice for LoginsPerClient",
        "--count=LoginsPerClient={ip} --trusted-proxies=x | --trusted-proxies: ",
        "--count=LoginsPerClient={ip} --proxy-header=forwarded | requires --trusted-proxies",
        "--count=LoginsPerClient={ip} --store=redis://localhost | --store is only for a trace",
        "--count=LoginsPerClient={ip} --store-password-file=x | the store's password is only for a trace",
        "--count=LoginsPerClient={ip} --shard=1/2 --compare=http://127.0.0.1:1 | --shard and --compare contradict each other",
        "--count=LoginsPerClient={ip} --shard=1/2 --fail-if=denied-requests>1 | the condition is about all shards; give --fail-if to --merge",
        "--count=LoginsPerClient={ip} --csv=same --report=./same | --csv and --report name the same file",
        "--count=LoginsPerClient={ip} - - | standard input (-) is named several times"
      })
  void misuse_isRefused(String options, String message) {
    List<String> all = new ArrayList<>(List.of(options.split(" ", -1)));
    all.add(log);
    Cli run = replay(all.toArray(String[]::new));
    assertThat(run.err()).contains(message.replace("{ip", "ip"));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void candidateWithRules_isRefusedBesideCount() throws IOException {
    String rules = "rules:\n  - {path: /login, limit: LoginsPerClient, id: '{ip}', cost: 2}\n";
    String candidate = write("candidate.yml", LIMITS + rules);
    Cli run = replay("--count", "LoginsPerClient={ip}", "--against", candidate, log);
    assertThat(run.err()).contains("has rules, but --count charges requests without rules");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void pipe_isRead() throws IOException, InterruptedException {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Process writer = new ProcessBuilder("sh", "-c", "cat '%s' >'%s'".formatted(log, pipe)).start();
    Cli run = replay("--count", "LoginsPerClient={ip}", pipe.toString());
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).startsWith("10 lines, ");
    assertThat(writer.waitFor()).isZero();
  }

  @Test
  void zstdLog_isRead_withoutItsFormat() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    packed.writeBytes(new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 0, 0x58}); // window: 2 MiB
    int blocks = 20;
    for (int i = 1; i <= blocks; i++) { // each has its size, and is not compressed
      byte[] block = line("203.0.113." + i, i).repeat(1000).getBytes(StandardCharsets.UTF_8);
      int header = block.length << 3 | (i == blocks ? 1 : 0);
      packed.writeBytes(new byte[] {(byte) header, (byte) (header >> 8), (byte) (header >> 16)});
      packed.writeBytes(block);
    }
    Path file = Files.write(folder.resolve("access.log.zst"), packed.toByteArray());
    String rules = "rules:\n  - path: /login\n    limits: [{limit: LoginsPerClient, id: '{ip}'}]\n";
    limits = write("with-rules.yml", LIMITS + rules);
    Cli run = replay(file.toString());
    assertThat(run.out()).startsWith("20,000 lines, ");
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void damagedLog_isRefused_withItsName() throws IOException {
    Path packed = folder.resolve("cut.gz");
    Files.write(packed, new byte[] {0x1f, (byte) 0x8b, 8, 0, 0, 0});
    Cli run = replay("--count", "LoginsPerClient={ip}", packed.toString());
    assertThat(run.err()).contains("cut.gz");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void watchedBucket_isOnThePage() throws IOException {
    Path page = folder.resolve("r.html");
    String count = "--count=LoginsPerClient={ip}";
    String watch = "--watch=LoginsPerClient=203.0.113.7";
    Cli run = replay(count, watch, "--ids", "mask", "--report", page.toString(), log);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(Files.readString(page))
        .contains(
            "Tokens in LoginsPerClient of 203.0.113.x", "5 requests charged to the bucket, 3");
    assertThat(replay(count, watch, log).err()).contains("--watch requires --report FILE");
    assertThat(replay(count, "--watch=x", "--report", page.toString(), log).err())
        .contains("--watch: found \"x\", expected LIMIT=ID");
    assertThat(replay(count, "--watch=LoginsPerClient=x", "--report", page.toString(), log).code())
        .isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void shards_areMerged() throws IOException {
    String candidate = write("candidate.yml", LIMITS.replace("burst: 2", "burst: 1"));
    String count = "--count=LoginsPerClient={ip}";
    List<String> args = new ArrayList<>(List.of("replay", "--merge"));
    for (int i = 1; i <= 3; i++) {
      Cli shard = replay(count, "--json", "--against", candidate, "--shard", i + "/3", log);
      assertThat(shard.err()).isEmpty();
      args.add(write(i + ".json", shard.out()));
    }
    Cli whole = replay(count, "--against", candidate, log);
    assertThat(Cli.run(args.toArray(String[]::new)).out())
        .isEqualTo(whole.out().replace("candidate.yml", "the candidate"));
    args.add("--json");
    assertThat(Cli.run(args.toArray(String[]::new)).out())
        .isEqualTo(replay(count, "--json", "--against", candidate, log).out());
    args.addAll(List.of("--fail-if", "newly-denied-requests > 0"));
    assertThat(Cli.run(args.toArray(String[]::new)).code()).isEqualTo(Exit.NO);

    Cli one = Cli.run("replay", "--merge", args.get(2), args.get(3));
    assertThat(one.err()).contains("--merge: the shard 3 of 3 is missing");
    assertThat(one.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(Cli.run("replay", "--merge", "--limits", limits, args.get(2)).err())
        .contains("--merge: found options that read logs");
    assertThat(replay(count, "--shard", "4/3", log).err()).contains("--shard: found \"4/3\"");
  }

  @Test
  void fit_printsALimit_thatIsACandidate() throws IOException {
    Cli run = fit("--never-deny", "50%", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith("# 10 lines, 2026-11-26 10:00:00 to 10:02:44 +0100, 2 clients\n")
        .contains("# Each of these quotas never denies 50 % of the 2 ids of LoginsPerClient:")
        .containsPattern("#  +2 +1 +1 +3 +<- chosen\n")
        .endsWith("limits:\n  LoginsPerClient: {burst: 1, count: 2, period: 1m}\n");
    assertThat(run.code()).isEqualTo(Exit.DONE);

    String candidate = write("candidate.yml", run.out()); // without the section of names
    Cli replayed = replay("--count", "LoginsPerClient={ip}", "--against", candidate, log);
    assertThat(replayed.out()).contains("+1, as many clients");

    Cli all = fit("--never-deny", "100 %", "--prefer", "burst", "--rates", "10,20,60", log);
    assertThat(all.out()).endsWith("{burst: 1, count: 60, period: 1m}\n");
    Cli attacked =
        fit("--attack", "2026-11-26T10:00..2026-11-26T10:00:04", "--zone", "+01:00", log);
    assertThat(attacked.out())
        .contains(
            "# The percentage ignores the requests of the attack, half of which came from 1 heavy id.")
        .endsWith("{burst: 1, count: 2, period: 1m}\n");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "names:\n  - {name: LoginsPerClient, number: 1, id: ipAddress}\nlimits:\n  LoginsPerClient: {burst: 1, count: 2, period: 1m}\n",
        "LoginsPerClient: {number: 1, id: ipAddress, burst: 1, count: 2, period: 1m}\n",
        "LoginsPerClient: {burst: 1, count: 2, period: 1m}\n"
      })
  void candidate_mayDeclareTheNamesAgain(String text) throws IOException {
    String candidate = write("candidate.yml", text);
    Cli run = replay("--count", "LoginsPerClient={ip}", "--against", candidate, log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("+1, as many clients");
  }

  @Test
  void candidate_needsOnlyWhatItChanges() throws IOException {
    limits =
        write(
            "two.yml",
            """
            limits:
              LoginsPerClient: {id: ipAddress, burst: 2, count: 2, period: 1m}
              CallsPerClient: {id: ipAddress, burst: 9, count: 9, period: 1m}
            overrides:
              - LoginsPerClient: {burst: 4, count: 2, period: 1m, ids: [203.0.113.7, 203.0.113.9]}
            rules:
              - path: /login
                limits:
                  - {limit: LoginsPerClient, id: "{ip}"}
                  - {limit: CallsPerClient, id: "{ip}"}
            """);
    String one = write("one.yml", "LoginsPerClient: {burst: 1, count: 1, period: 1m}\n");
    Cli run = replay("--against", one, log); // the override in force stays, as in a server
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("1 (10.0 %)", "+2, 1 client more");
    String own =
        write(
            "own.yml",
            """
            overrides:
              - LoginsPerClient: {burst: 5, count: 2, period: 1m, ids: [203.0.113.7]}
            """);
    Cli overridden = replay("--against", own, log);
    assertThat(overridden.err()).isEmpty();
    assertThat(overridden.out()).contains("1 (10.0 %)", "-1, 1 client fewer");
    String list =
        write(
            "overrides.yml",
            "- LoginsPerClient: {burst: 5, count: 2, period: 1m, ids: [203.0.113.7]}\n");
    assertThat(replay("--against", list, log))
        .isEqualTo(new Cli(Exit.DONE, overridden.out().replace("own.yml", "overrides.yml"), ""));
  }

  @Test
  void candidate_withAnotherIdFormat_keepsTheOverridesInForce_whoseIdsFitIt() throws IOException {
    limits =
        write(
            "text.yml",
            """
            limits:
              LoginsPerClient: {id: string, burst: 2, count: 2, period: 1m}
            overrides:
              - LoginsPerClient: {burst: 4, count: 2, period: 1m, ids: [bob, 203.0.113.7, 203.0.113.9]}
            rules:
              - {path: /login, limit: LoginsPerClient, id: "{ip}"}
            """);
    String candidate =
        write("ip.yml", "LoginsPerClient: {id: ipAddress, burst: 1, count: 1, period: 1m}\n");
    Cli run = replay("--against", candidate, log);
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void overridesThatHaveEnded_areLeftOut_andTheReplaySaysSo() throws IOException {
    limits =
        write(
            "ended.yml",
            """
            limits:
              LoginsPerClient: {id: ipAddress, burst: 2, count: 2, period: 1m}
            overrides:
              - LoginsPerClient:
                  burst: 9
                  count: 9
                  period: 1m
                  ids: [{id: 203.0.113.7, until: 2020-01-01}, {id: 203.0.113.8, until: 2200-01-01}]
            """);
    String warning =
        "warning: overrides that have ended are left out, even for requests before their end: 1,"
            + " the first at %s:8\n".formatted(limits);
    Cli run = replay("--count", "LoginsPerClient={ip}", log);
    assertThat(run.err()).isEqualTo(warning);
    assertThat(run.out()).contains("3 (30.0 %)");
    String trace =
        "{\"at\":1500000000000000000,\"op\":\"spend\",\"limit\":\"LoginsPerClient\",\"id\":\"::1\"}\n";
    assertThat(replay(write("trace.jsonl", trace)).err()).isEqualTo(warning);
  }

  @Test
  void logsOfDifferentFormats_areRefused() throws IOException {
    String other =
        write(
            "json.log",
            "{\"time\":\"2026-11-26T10:00:00Z\",\"remote_addr\":\"203.0.113.7\"}\n".repeat(2));
    for (Cli run :
        List.of(
            replay("--count", "LoginsPerClient={ip}", log, other),
            fit(log, other),
            replay("--count", "LoginsPerClient={ip}", "--format", "nginx-json", other, log))) {
      assertThat(run.out()).isEmpty();
      assertThat(run.err())
          .contains(
              ".log:1: found ",
              "No other line of this file has this format either. Name the file's format with"
                  + " --format; logs of different formats need separate runs\n");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    }
  }

  @Test
  void logOfAnUnknownFormat_isNotTakenForATraceWithoutAWord() throws IOException {
    String rules = "rules:\n  - path: /login\n    limits: [{limit: LoginsPerClient, id: '{ip}'}]\n";
    limits = write("with-rules.yml", LIMITS + rules);
    String own = write("own.log", "10:00 203.0.113.7 /login\n");
    assertThat(replay(own).err())
        .contains("own.log:1: the text is not valid JSON")
        .endsWith("; if this is an access log, give its format with --format\n");
    assertThat(replay(own, log).err())
        .contains(
            "own.log: the format is not recognised from the first line; for access logs, give");
    assertThat(replay("--format", "trace", own, log).err())
        .contains("--format trace: expected one trace, without options for access logs");
  }

  @Test
  void fit_takesCostsFromRules_andLeavesOutClientsWithAnOverride() throws IOException {
    String rules =
        write(
            "rules.yml",
            "rules:\n  - path: /login\n    limits: [{limit: LoginsPerClient, id: '{ip}', cost: 2}]\n");
    String overrides =
        write(
            "overrides.yml",
            "- LoginsPerClient:\n    burst: 9\n    count: 9\n    period: 1m\n    ids: [203.0.113.7]\n");
    List<String> args =
        List.of("fit", "--limits", limits, "--limit=LoginsPerClient", "--rules", rules, log);
    assertThat(Cli.run(args.toArray(String[]::new)).out())
        .contains("the 2 ids of LoginsPerClient")
        .endsWith("{burst: 10, count: 1, period: 1m}\n");
    List<String> more = new ArrayList<>(args);
    more.addAll(List.of("--overrides", overrides));
    assertThat(Cli.run(more.toArray(String[]::new)).out())
        .contains("the 1 id of LoginsPerClient")
        .endsWith("{burst: 2, count: 5, period: 1m}\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--never-deny=99.9 | --never-deny: found \"99.9\", expected a percentage above 0% and up to 100%, such as 99.9%",
        "--never-deny=0% | --never-deny: found",
        "--never-deny=101% | --never-deny: found",
        "--prefer=small | --prefer: found \"small\", expected worst, burst, rate or strict",
        "--attack=x | --attack: found \"x\", expected FROM..TO",
        "--attack=2026-11-26T10:00Z..x | --attack: found \"x\", expected a time",
        "--attack=2026-11-26T10:00..2026-11-26T11:00 | --attack: found \"2026-11-26T10:00\", which has no zone; write 2026-11-26T10:00Z, 2026-11-26T10:00+01:00 or so, or give --zone",
        "--attack=2026-11-26T10:00Z..2026-11-26T09:00Z | whose end is not after its beginning",
        "--attack=2000-01-01T00:00Z..2100-01-01T00:00Z | no request is charged to LoginsPerClient outside",
        "--attack=2025-11-26T09:00Z..2025-11-26T10:00Z | --attack: no request in this time is charged to LoginsPerClient; the log's times are 2026-11-26T10:00+01:00 to 2026-11-26T10:02:44+01:00",
        "--rates=0 | --rates: found 0, expected a whole number > 0",
        "--limit=Logins | --limit: ",
        "--skip-status=200 | no request is charged to LoginsPerClient; ids with an override are left out",
        "--format=trace | --format: found \"trace\", expected one of alb",
      })
  void mistakesInTheOptionsOfFit_areRefused(String option, String message) {
    Cli run = fit(option, log);
    assertThat(run.err()).contains(message);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  private Cli fit(String... args) {
    List<String> all = new ArrayList<>(List.of("fit", "--limits", limits));
    if (!String.join(" ", args).contains("--limit=")) {
      all.addAll(List.of("--limit", "LoginsPerClient"));
    }
    all.addAll(List.of("--count", "LoginsPerClient={ip}"));
    all.addAll(List.of(args));
    return Cli.run(all.toArray(String[]::new));
  }

  @Test
  void costAboveTheSmallestBurst_isDenied() throws IOException {
    limits =
        write(
            "several.yml",
            """
            limits:
              LoginsPerClient: {id: ipAddress, burst: 1000, count: 1000, period: 1h}
            overrides:
              - LoginsPerClient: {quotas: [1000 per 1h, 3 per 1s], ids: [203.0.113.7]}
            rules:
              - {path: /login, limit: LoginsPerClient, id: "{ip}", cost: 5}
            """);
    Cli run = replay("--json", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("\"denied\":5");
  }

  @Test
  void severalQuotas_areRefused_whereOneIsDrawnOrFitted() throws IOException {
    limits =
        write(
            "several.yml",
            """
            names:
              - {name: LoginsPerClient, id: ipAddress}
            limits:
              LoginsPerClient: {quotas: [10 per 1h, 3 per 1m]}
            """);
    String report = folder.resolve("report.html").toString();
    String bucket = "LoginsPerClient=203.0.113.7";
    Cli watch =
        replay("--count", "LoginsPerClient={ip}", "--watch", bucket, "--report", report, log);
    assertThat(watch.err())
        .contains("--watch: LoginsPerClient has several quotas for 203.0.113.7", "sluice why");
    assertThat(watch.code()).isEqualTo(Exit.BROKEN_INPUT);
    Cli fit = fit(log);
    assertThat(fit.err()).contains("--limit: LoginsPerClient has several quotas");
    assertThat(fit.code()).isEqualTo(Exit.BROKEN_INPUT);
    Cli simulate = Cli.run("simulate", "--limits", limits, "--limit", "LoginsPerClient");
    assertThat(simulate.err()).contains("--limit: LoginsPerClient has several quotas");
    assertThat(simulate.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void why_ofSeveralQuotas_showsTheFewestTokens_andWhichQuotaDenied() throws IOException {
    limits =
        write(
            "several.yml",
            """
            LoginsPerClient: {id: ipAddress, quotas: [4 per 1h, 3 per 1s]}
            """);
    Cli run = why("LoginsPerClient", "203.0.113.7", "--log", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith(
            """
            5 requests are charged to LoginsPerClient of 203.0.113.7 (4 per 1h, burst 4 and 3 per 1s, burst 3); 1 of them are denied.
            The limit has several quotas; the tokens are those of the emptiest bucket.
            """)
        .contains(
            "2026-11-26T10:00:00  #############.......  3 -> 2  allowed",
            "2026-11-26T10:00:03  ....................  1 -> 0  allowed",
            "0 -> 0  denied by LoginsPerClient (4 per 1h), would pass after 14 min 56 s");
    limits = write("fast.yml", "LoginsPerClient: {id: ipAddress, quotas: [9 per 1h, 1 per 5s]}\n");
    assertThat(why("LoginsPerClient", "203.0.113.7", "--log", log).out())
        .contains("0 -> 0  denied by LoginsPerClient (1 per 5s), would pass after 4 s");
  }

  @Test
  void why_showsTheBucketBeforeAndAfterEachRequest() {
    Cli run = why("LoginsPerClient", "203.0.113.7", "--log", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith(
            "5 requests are charged to LoginsPerClient of 203.0.113.7 (2 per 1m, burst 2); 3 of them are denied.\n")
        .contains(
            "2026-11-26T10:00:00  ##########..........  2 -> 1  allowed, answered 200  POST /login",
            "2026-11-26T10:00:04  ....................  0 -> 0  denied by LoginsPerClient, would pass"
                + " after 26 s, answered 200  POST /login");
    assertThat(run.code()).isEqualTo(Exit.NO);

    Cli early =
        why("LoginsPerClient", "203.0.113.7", "--log", log, "--at", "2026-11-26T10:00:01+01:00");
    assertThat(early.out().lines()).hasSize(7);
    Cli other = why("LoginsPerClient", "203.0.113.9", "--log", log);
    assertThat(other.out()).startsWith("None of 10 requests is charged");
    assertThat(why("LoginsPerClient", "x", "--log", log).code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(why("LoginsPerClient", "203.0.113.7", "--log", log, "--at", "x").err())
        .contains("--at: found");
    String pasted = "2026-11-26T10:00:01";
    assertThat(why("LoginsPerClient", "203.0.113.7", "--log", log, "--at", pasted).err())
        .contains("--at: found \"2026-11-26T10:00:01\", which has no zone");
    Cli zoned =
        why("LoginsPerClient", "203.0.113.7", "--log", log, "--at", pasted, "--zone", "+01:00");
    assertThat(zoned.out()).isEqualTo(early.out());
  }

  @Test
  void why_ofALimitInShadow_showsWhatItWouldDeny() throws IOException {
    String rules =
        "rules:\n  - path: /**\n    limits: [{limit: LoginsPerClient, id: '{ip}', shadow: true}]\n";
    limits = write("with-rules.yml", LIMITS + rules);
    Cli run = Cli.run("why", "LoginsPerClient", "203.0.113.7", "--limits", limits, "--log", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith(
            "5 requests are charged to LoginsPerClient of 203.0.113.7 (2 per 1m, burst 2); 3 of them are denied.\n")
        .contains(
            "2026-11-26T10:00:00  ##########..........  2 -> 1  allowed, answered 200  POST /login",
            "0 -> 0  denied by LoginsPerClient (shadow), would pass after 26 s, answered 200");
    assertThat(run.code()).isEqualTo(Exit.NO);
    Path page = folder.resolve("r.html");
    Cli replay = replay("--watch=LoginsPerClient=203.0.113.7", "--report", page.toString(), log);
    assertThat(replay.code()).isEqualTo(Exit.DONE);
    assertThat(page).content().contains("5 requests charged to the bucket, 3 of them denied");
  }

  @Test
  void why_ofAnIpv6Client_namesTheRangeThatIsCharged() throws IOException {
    String ofIpv6 = write("ipv6.log", line("2001:db8::7", 1).repeat(3));
    Cli run = why("LoginsPerClient", "2001:db8::7", "--log", ofIpv6);
    assertThat(run.out())
        .isEqualTo(
            "None of 3 requests is charged to LoginsPerClient of 2001:db8::7. {ip} charges all IPv6"
                + " clients of a /64 range to one id: try 2001:db8::.\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(why("LoginsPerClient", "2001:db8::", "--log", ofIpv6).out())
        .startsWith("3 requests are charged to LoginsPerClient of 2001:db8::");
  }

  @Test
  void requestWithACostAboveTheBurst_neverPasses() throws IOException {
    String tokens =
        write(
            "tokens.jsonl",
            "{\"time\":\"2026-11-26T10:00:00Z\",\"remote_addr\":\"203.0.113.7\",\"tokens\":5}\n");
    Cli run = why("LoginsPerClient", "203.0.113.7", "--log", tokens, "--cost-field", "tokens");
    assertThat(run.out())
        .contains("denied by LoginsPerClient, never passes: its cost is above the burst");
    Path csv = folder.resolve("denials.csv");
    Cli replay =
        replay(
            "--count",
            "LoginsPerClient={ip}",
            "--cost-field",
            "tokens",
            "--csv",
            csv.toString(),
            tokens);
    assertThat(replay.err()).isEmpty();
    assertThat(csv).content().endsWith(",LoginsPerClient,203.0.113.7,,,\n");
  }

  @Test
  void why_ofAHugeBurst_showsAFullBucket() throws IOException {
    limits =
        write(
            "huge.yml",
            "LoginsPerClient: {id: ipAddress, burst: 500000000000000000, count: 1000000000, period: 1s}\n");
    Cli run = why("LoginsPerClient", "203.0.113.7", "--log", log);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("  ####################  500,000,000,000,000,000 -> ");
  }

  /** Each option would be ignored without a word. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "--log=x",
        "--limits=x",
        "--overrides=x",
        "--names=x",
        "--rules=x",
        "--count=A={ip}",
        "--format=caddy",
        "--at=2026-11-26T10:00:00Z",
        "--zone=UTC",
        "--window=1s",
        "--skip-status=429",
        "--cost-field=tokens",
        "--strict"
      })
  void why_ofAServer_refusesOptionsForLogs(String option) {
    Cli run =
        Cli.run("why", "LoginsPerClient", "203.0.113.7", "--server", "http://127.0.0.1:1", option);
    assertThat(run.err()).contains("found --server beside an option for logs or limit files");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--request=GET /", "--client=::1", "--token-file=x", "--cacert=x"})
  void why_ofALog_refusesOptionsForAServer(String option) {
    Cli run = why("LoginsPerClient", "203.0.113.7", "--log", log, option);
    assertThat(run.err()).contains(": requires --server URL");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  private Cli why(String... args) {
    List<String> all = new ArrayList<>(List.of("why"));
    all.addAll(List.of(args));
    all.addAll(List.of("--limits", limits, "--count", "LoginsPerClient={ip}"));
    return Cli.run(all.toArray(String[]::new));
  }

  private Cli replay(String... args) {
    List<String> all = new ArrayList<>(List.of("replay", "--limits", limits));
    all.addAll(List.of(args));
    return Cli.run(all.toArray(String[]::new));
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }
}
