// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Vectors;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ReplayCommandTest {

  private static final String GOOD =
      "{\"at\":1700000000000000000,\"op\":\"spend\",\"limit\":\"NewOrdersPerAccount\",\"id\":\"3\"}";
  private static final String GOOD_ANSWER =
      "{\"allowed\":true,\"remaining\":2,\"retryInNanos\":0,\"resetInNanos\":333333333}";

  @TempDir Path folder;
  private String limits;
  private String overrides;

  @BeforeEach
  void writeLimits() throws IOException {
    limits = write("defaults.yml", Vectors.text("gcra/defaults.yml"));
    overrides = write("overrides.yml", Vectors.text("gcra/overrides.yml"));
  }

  @Test
  void trace_isDecidedAsRecorded() throws IOException {
    Cli run = replay(write("trace.jsonl", Vectors.text("gcra/trace.jsonl")));
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).isEqualTo(decisions());
  }

  @Test
  void limitWithoutADefault_isRefused_atItsLine() throws IOException {
    String open =
        "{\"at\":1700000000000000000,\"op\":\"spend\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";
    String trace = write("open.jsonl", GOOD + "\n" + open);
    Cli run = replay(trace);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .contains(
            trace + ":2: limit: ApiCallsPerKey has no default; write burst, count and period");
  }

  @Test
  void limitOfBoulderWithoutADefault_isDisabled_andWarnedOfOnce() throws IOException {
    String open =
        "{\"at\":1700000000000000000,\"op\":\"spend\",\"limit\":\"CertificatesPerDomain\",\"id\":\"example.com\"}";
    Cli run = replay(write("open.jsonl", GOOD + "\n" + open + "\n" + open));
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err().lines())
        .singleElement()
        .asString()
        .startsWith("warning: CertificatesPerDomain has no default, so it is disabled");
  }

  @Test
  void trace_inAProcessOfItsOwn_isDecidedAsRecorded_andNothingElseIsPrinted() throws Exception {
    String trace = write("trace.jsonl", Vectors.text("gcra/trace.jsonl"));
    try (CliProcess cli =
        CliProcess.start(
            "replay", "--format", "trace", "--limits", limits, "--overrides", overrides, trace)) {
      String out =
          new String(cli.process().getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(out).isEqualTo(decisions());
      assertThat(cli.err().readLine()).isNull();
      assertThat(cli.process().waitFor()).isEqualTo(Exit.DONE);
    }
  }

  @Test
  void reader_thatLeaves_endsTheReplayQuietly() throws Exception {
    String trace = write("long.jsonl", String.join("\n", Collections.nCopies(20_000, GOOD)));
    try (CliProcess cli =
        CliProcess.start("replay", "--limits", limits, "--overrides", overrides, trace)) {
      try (BufferedReader out = cli.out()) {
        assertThat(out.readLine()).isEqualTo(GOOD_ANSWER);
      }
      assertThat(cli.err().readLine()).isNull();
      assertThat(cli.process().waitFor()).isEqualTo(Exit.DONE);
    }
  }

  @Test
  void standardInput_isReplayed_withByteOrderMarkAndCarriageReturnsAndBlankLines() {
    byte[] in = ("\uFEFF" + GOOD + "\r\n\r\n  \n" + GOOD).getBytes(StandardCharsets.UTF_8);
    Cli run = Cli.runWith(in, "replay", "--limits", limits, "--overrides", overrides, "-");
    assertThat(run.out().lines()).hasSize(2).first().isEqualTo(GOOD_ANSWER);
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void inputThatCannotBeRead_isRefused_afterTheDecisionsSoFar() throws IOException {
    InputStream broken = InputStream.nullInputStream();
    broken.close();
    byte[] good = (GOOD + "\n").getBytes(StandardCharsets.UTF_8);
    InputStream in = new SequenceInputStream(new ByteArrayInputStream(good), broken);
    Cli run = Cli.runWith(in, "replay", "--limits", limits, "--overrides", overrides, "-");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).isEqualTo("sluice: standard input: can't be read: Stream closed\n");
    assertThat(run.out()).isEqualTo(GOOD_ANSWER + "\n");
  }

  /**
   * A bucket that was full at a later time may be forgotten by then, or not: no answer is right.
   */
  @Test
  void trace_thatStepsBackByMoreThanAnHour_isRefusedAtItsLine() throws IOException {
    String hourBack = GOOD.replace("1700000000000000000", "1699996400000000000");
    String further = GOOD.replace("1700000000000000000", "1699996399999999999");
    Cli run = replay(write("back.jsonl", String.join("\n", GOOD, hourBack, further)));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out().lines()).hasSize(2);
    assertThat(run.err())
        .contains("back.jsonl:3: at: found an operation PT1H0.000000001S before the latest one")
        .contains("sort the trace");
  }

  /** Thousands of ids that fill up between steps back: what is forgotten must not be luck. */
  @Test
  void trace_thatStepsBack_hasOneAnswer() throws IOException {
    List<String> lines = new ArrayList<>();
    Random random = new Random(1);
    long atNanos = 1_700_000_000_000_000_000L;
    for (int i = 0; i < 5_000; i++) {
      atNanos +=
          random.nextInt(4) == 0
              ? -random.nextLong(240_000_000_000L)
              : random.nextLong(300_000_000_000L);
      String id = String.valueOf(random.nextInt(500));
      lines.add(
          GOOD.replace("1700000000000000000", String.valueOf(atNanos))
              .replace("\"3\"", "\"" + id + "\""));
    }
    String trace = write("steps.jsonl", String.join("\n", lines));
    Cli first = replay(trace);
    assertThat(first.code()).isEqualTo(Exit.DONE);
    for (int i = 0; i < 3; i++) {
      assertThat(replay(trace)).isEqualTo(first);
    }
  }

  @Test
  void emptyTrace_hasNoDecisions_butIsNotDetected() throws IOException {
    String empty = write("empty.jsonl", "\n");
    assertThat(Cli.run("replay", "--limits", limits, "--format=trace", empty))
        .isEqualTo(new Cli(Exit.DONE, "", ""));
    Cli detected = replay(empty);
    assertThat(detected.err())
        .endsWith(
            "empty.jsonl: found no request; for a trace without operations, add --format trace\n");
    assertThat(detected.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // the second line | what is said of it
        "{'op':'spend','limit':'NewOrdersPerAccount','id':'3'} | at: the time is missing, expected nanoseconds",
        "{'at':-1,'op':'spend','limit':'NewOrdersPerAccount','id':'3'} | at: found -1, expected nanoseconds",
        "{'at':1.5,'op':'spend','limit':'NewOrdersPerAccount','id':'3'} | at: found the number 1.5, expected a whole number",
        "{'at':'1','op':'spend','limit':'NewOrdersPerAccount','id':'3'} | at: found the string \"1\", expected a whole number, without quotes",
        "{'at':9223372036854775808,'op':'spend','limit':'NewOrdersPerAccount','id':'3'} | at: found 9223372036854775808, expected a whole number of at most 64 bits",
        "{'at':1700000000000000000,'limit':'NewOrdersPerAccount','id':'3'} | op: the op is missing, expected one of check, spend, refund, reset, batchSpend",
        "{'at':1700000000000000000,'op':'spent','limit':'NewOrdersPerAccount','id':'3'} | op: found \"spent\", expected one of check, spend, refund, reset, batchSpend; did you mean \"spend\"?",
        "{'at':1700000000000000000,'op':'spend','limit':'NewOrderPerAccount','id':'3'} | limit: no limit has the name \"NewOrderPerAccount\"; did you mean \"NewOrdersPerAccount\"?",
        "{'at':1700000000000000000,'op':'spend','limit':'NewOrdersPerAccount','id':'x'} | id: ",
        "{'at':1700000000000000000,'op':'spend','limit':'NewOrdersPerAccount','id':'3','cost':4} | cost: cost 4 exceeds the burst (",
        "{'at':1700000000000000000,'op':'spend','limit':'NewOrdersPerAccount','id':'3','cost':18446744073709551616} | cost: found 18446744073709551616, expected a whole number of at most 64 bits",
        "{'at':1700000000000000000,'op':'spend','transactions':[]} | transactions: found a batch with the op spend, expected the op batchSpend",
        "{'at':1700000000000000000,'op':'batchSpend','limit':'NewOrdersPerAccount','id':'3'} | transactions: the transactions are missing",
        "{'at':1700000000000000000,'op':'batchSpend','transactions':[{'limit':'NewOrdersPerAccount','id':'3','kind':'check'}]} | transactions[0].kind: found \"check\", expected one of checkAndSpend, checkOnly, spendOnly",
        "{'at':1700000000000000000,'op':'batchSpend','transactions':[{'limit':'NewOrdersPerAccount','id':'3'},{'limit':'NewOrdersPerAccount','id':'03'}]} | transactions[1]: found the bucket 3:3 again",
        "{'at':1700000000000000000,'op':'spend','limit':'NewOrdersPerAccount','id':'3' | the text is not valid JSON",
        "nonsense | the text is not valid JSON",
        "[1] | found a list, expected a JSON object",
      })
  void brokenLine_isNamedByItsNumber_afterTheDecisionsBeforeIt(String line, String message)
      throws IOException {
    String file = write("broken.jsonl", GOOD + "\n" + line.replace('\'', '"') + "\n" + GOOD + "\n");
    Cli run = replay(file);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEqualTo(GOOD_ANSWER + "\n");
    assertThat(run.err()).startsWith("sluice: " + file + ":2: " + message);
    assertThat(run.err().lines()).hasSize(1);
  }

  @Test
  void allMistakesOfALine_areReportedAtOnce() throws IOException {
    String file =
        write(
            "mistakes.jsonl",
            "{'at':-1,'op':'spent','limit':'NewOrderPerAccount','costs':1}".replace('\'', '"'));
    Cli run = replay(file);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(
            run.err().lines().map(said -> said.replaceFirst("^(sluice: )?.*?:1: (\\w+): .*", "$2")))
        .containsExactly("costs", "op", "at", "limit", "id");
  }

  @Test
  void binaryJunk_isRefused() throws IOException {
    Path file = folder.resolve("junk");
    Files.write(file, new byte[] {0, 1, 2, (byte) 0xff, (byte) 0xfe, 10, 0x7f, 0x45});
    Cli run = replay(file.toString());
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).startsWith("sluice: " + file + ":1: the text is not valid JSON");
    assertThat(run.err().lines()).hasSize(1);
  }

  @Test
  void hundredMegabytes_withoutALineEnd_areRefused_notHeld() throws IOException {
    Path file = folder.resolve("huge");
    try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
      sparse.setLength(100L << 20);
    }
    Cli run = replay(file.toString());
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("line 1 has more than 1048576 bytes");
  }

  @Test
  void line_longerThanTheFirstBuffer_isRead() throws IOException {
    String padded = GOOD + " ".repeat(200_000);
    Cli run = replay(write("wide.jsonl", String.join("\n", List.of(GOOD, padded, GOOD))));
    assertThat(run.err()).isEmpty();
    assertThat(run.out().lines()).hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"http://localhost", "memroy"})
  void store_thatCanNotBeOpened_isRefused(String store) {
    Cli run = Cli.run("replay", "--limits", limits, "--store", store, "-");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("--store: found the store \"" + store + "\"");
  }

  @Test
  void limits_thatAreMissingOrBroken_areRefused() throws IOException {
    Cli none = Cli.run("replay", "-");
    assertThat(none.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(none.err()).contains("the option --limits FILE is missing");

    String bad = write("bad.yml", Vectors.text("limits/bad-defaults.yml"));
    Cli broken = Cli.run("replay", "--limits", bad, "-");
    assertThat(broken.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(broken.err()).contains(bad + ":2:", bad + ":4:", bad + ":9:", bad + ":14:");
    assertThat(broken.out()).isEmpty();
  }

  private Cli replay(String trace) {
    return Cli.run("replay", "--limits", limits, "--overrides", overrides, trace);
  }

  /** Replays the recorded trace on a store, and compares the decisions with the recorded ones. */
  static void assertDecidedAsRecorded(Path folder, String store) throws IOException {
    for (String name : List.of("defaults.yml", "overrides.yml", "trace.jsonl")) {
      Files.writeString(folder.resolve(name), Vectors.text("gcra/" + name));
    }
    Cli run =
        Cli.run(
            "replay",
            "--limits",
            folder.resolve("defaults.yml").toString(),
            "--overrides",
            folder.resolve("overrides.yml").toString(),
            "--store",
            store,
            folder.resolve("trace.jsonl").toString());
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).isEqualTo(decisions());
  }

  /** As recorded, in the command's spelling: without spaces. */
  private static String decisions() {
    return Vectors.text("gcra/decisions.jsonl").replace(" ", "");
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }
}
