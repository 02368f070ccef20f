// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.resp.RespClient.Failure;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code CL.THROTTLE}, case by case: what redis-cell's own tests check, what it does and nobody
 * tests, and the errors. docs/doors/redis.md has a row for each case where Sluice differs.
 */
final class RedisCellTest {

  private final ManualTime time = new ManualTime();
  private final TestRespServer server =
      new TestRespServer(Limits.builder(Catalogue.samples()).build(), BucketStore.inMemory(time));
  private final RespClient client = server.connect();

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private static List<Long> numbers(long... numbers) {
    return Arrays.stream(numbers).boxed().toList();
  }

  private static List<Long> numbers(String reply) {
    return Stream.of(reply.split(" ", -1)).map(Long::valueOf).toList();
  }

  /** The table of its own test: a limit of 5, one token a second; seconds are rounded up here. */
  @Test
  void fifteenSteps_areAnsweredAsItTestsThem() {
    List<String> steps =
        List.of(
            // at milliseconds, quantity: limited, limit, remaining, retry after, reset after
            "0, 6: 1 5 5 -1 0",
            "0, 1: 0 5 4 -1 1",
            "0, 1: 0 5 3 -1 2",
            "0, 1: 0 5 2 -1 3",
            "0, 1: 0 5 1 -1 4",
            "0, 1: 0 5 0 -1 5",
            "0, 1: 1 5 0 1 5",
            "3000, 1: 0 5 2 -1 3",
            "3100, 1: 0 5 1 -1 4", // 3.9 s
            "4000, 1: 0 5 1 -1 4",
            "8000, 1: 0 5 4 -1 1",
            "9500, 1: 0 5 4 -1 1",
            "9500, 0: 0 5 4 -1 1",
            "9500, 2: 0 5 2 -1 3",
            "9500, 5: 1 5 2 3 3");
    for (String step : steps) {
      String[] parts = step.split(", |: ", -1);
      long at = ManualTime.START_NANOS + Duration.ofMillis(Long.parseLong(parts[0])).toNanos();
      time.set(at);
      assertThat(client.call("CL.THROTTLE", "foo", "4", "60", "60", parts[1]))
          .as(step)
          .isEqualTo(numbers(parts[2]));
    }
  }

  /** As the other doors report a cost above the burst; here between two spends of one run. */
  @Test
  void quantityAboveTheBurst_isInTheDenialLog() {
    Denials denials = Denials.to(null, true);
    BucketStore store = BucketStore.inMemory(time);
    Limiter limiter = Limiter.of(Limits.builder(Catalogue.samples()).build(), store);
    try (TestRespServer noted =
            new TestRespServer(limiter, store, ConnectionBudget.usual(), denials);
        RespClient caller = noted.connect()) {
      String command = "CL.THROTTLE k 4 60 60 %s\r\n";
      caller.raw(command.formatted(1) + command.formatted(6) + command.formatted(1));
      assertThat(caller.reply()).isEqualTo(numbers(0, 5, 4, -1, 1));
      assertThat(caller.reply()).isEqualTo(numbers(1, 5, 4, -1, 1));
      assertThat(caller.reply()).isEqualTo(numbers(0, 5, 3, -1, 2));
      assertThat(denials.last("cl.throttle", "k"))
          .singleElement()
          .satisfies(denial -> assertThat(denial.cost()).isEqualTo(6))
          .satisfies(denial -> assertThat(denial.decidedBy()).isEqualTo("request"));
    }
  }

  /** Its only test against a Redis. */
  @Test
  void oneInTwoSeconds_isAnsweredAsItTestsIt() {
    assertThat(client.call("CL.THROTTLE", "user123", "0", "1", "2", "1"))
        .isEqualTo(numbers(0, 1, 0, -1, 2));
    assertThat(client.call("CL.THROTTLE", "user123", "0", "1", "2", "1"))
        .isEqualTo(numbers(1, 1, 0, 2, 2));
    time.advance(Duration.ofSeconds(2));
    assertThat(client.call("CL.THROTTLE", "user123", "0", "1", "2", "1"))
        .isEqualTo(numbers(0, 1, 0, -1, 2));
  }

  /** The same command twice, on a new key. */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "no quantity is 1                | k 4 60 60    | 0 5 4 -1 1 | 0 | 0 5 3 -1 2",
        "a quantity of 0 reads           | k 4 60 60 0  | 0 5 5 -1 0 | 0 | 0 5 5 -1 0",
        "a quantity of all               | k 4 60 60 5  | 0 5 0 -1 5 | 0 | 1 5 0 5 5",
        "a quantity over the limit       | k 4 60 60 6  | 1 5 5 -1 0 | 0 | 1 5 5 -1 0",
        "the largest quantity            | k 4 60 60 9223372036854775807 | 1 5 5 -1 0 | 0 | 1 5 5 -1 0",
        "limited, and tokens are left    | k 4 60 60 3  | 0 5 2 -1 3 | 0 | 1 5 2 1 3",
        "limited, later                  | k 4 60 60 4  | 0 5 1 -1 4 | 1500000000 | 1 5 2 2 3",
        "signs and zeros                 | k +4 060 +60 +01 | 0 5 4 -1 1 | 0 | 0 5 3 -1 2",
        "zero with a sign                | k 4 60 60 -0 | 0 5 5 -1 0 | 0 | 0 5 5 -1 0",
        "an interval is rounded down     | k 0 3 1      | 0 1 0 -1 1 | 333333333 | 0 1 0 -1 1",
        "an interval, a nanosecond early | k 0 3 1      | 0 1 0 -1 1 | 333333332 | 1 1 0 1 1",
        "an interval below a microsecond | k 9 10000000 1 | 0 10 9 -1 1 | 0 | 0 10 8 -1 1",
        "the shortest interval           | k 0 1000000000 1 | 0 1 0 -1 1 | 1 | 0 1 0 -1 1",
        "a microsecond to wait is 1      | k 0 1000000 1 | 0 1 0 -1 1 | 0 | 1 1 0 1 1",
        "0.4 ms to wait is 1             | k 0 2500 1   | 0 1 0 -1 1 | 0 | 1 1 0 1 1",
        "1.0005 s to wait is 2           | k 0 2000 2001 | 0 1 0 -1 2 | 0 | 1 1 0 2 2",
        "1 s to wait is 1                | k 0 2000 2001 | 0 1 0 -1 2 | 500000 | 1 1 0 1 1",
        "the longest period              | k 0 1 9223372036 | 0 1 0 -1 9223372036 | 0 | 1 1 0 9223372036 9223372036",
        "the largest max_burst           | k 9223372035 1 1 | 0 9223372036 9223372035 -1 1 | 0 | 0 9223372036 9223372034 -1 2"
      })
  void everyCase_isAnswered(
      String what, String arguments, String first, long laterNanos, String second) {
    String[] command = ("CL.THROTTLE " + arguments).split(" ", -1);
    assertThat(client.call(command)).as(what).isEqualTo(numbers(first));
    time.advanceNanos(laterNanos);
    assertThat(client.call(command)).as(what).isEqualTo(numbers(second));
  }

  @Test
  void name_isTakenInAnyCase() {
    assertThat(client.call("cl.Throttle", "k", "4", "60", "60")).isEqualTo(numbers(0, 5, 4, -1, 1));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // too few or too many
        "CL.THROTTLE | expected CL.THROTTLE key max_burst count period [quantity]",
        "CL.THROTTLE k 1 1 | expected CL.THROTTLE key max_burst count period [quantity]",
        "CL.THROTTLE k 1 1 1 1 1 | expected CL.THROTTLE key max_burst count period [quantity]",
        // no number
        "CL.THROTTLE k x 1 1 | max_burst: found x, expected a whole number of 64 bits, 0 or more",
        "CL.THROTTLE k 1 x 1 | count: found x, expected a whole number of 64 bits, 1 or more",
        "CL.THROTTLE k 1 1 x | period: found x, expected a whole number of 64 bits, 1 or more seconds",
        "CL.THROTTLE k 1 1 1 x | quantity: found x, expected a whole number of 64 bits, 0 or more",
        "CL.THROTTLE k 1.0 1 1 | max_burst: found 1.0, expected",
        "CL.THROTTLE k 1 1e3 1 | count: found 1e3, expected",
        "CL.THROTTLE k 1 1 0x1 | period: found 0x1, expected",
        "CL.THROTTLE k 1 1 1 1.5 | quantity: found 1.5, expected",
        // empty or blank
        "CL.THROTTLE \"\" 1 1 1 | key: the id is empty, expected at least one byte",
        "CL.THROTTLE k \"\" 1 1 | max_burst: found",
        "CL.THROTTLE k 1 \"\" 1 | count: found",
        "CL.THROTTLE k 1 1 \"\" | period: found",
        "CL.THROTTLE k 1 1 1 \"\" | quantity: found",
        "CL.THROTTLE k \" \" 1 1 | max_burst: found",
        "CL.THROTTLE k 1 \" 1\" 1 | count: found",
        "CL.THROTTLE k 1 1 \"1 \" | period: found",
        "CL.THROTTLE k 1 1 1 \" \" | quantity: found",
        "CL.THROTTLE k + 1 1 | max_burst: found +, expected",
        "CL.THROTTLE k 1 - 1 | count: found -, expected",
        "CL.THROTTLE k 1 1 +-1 | period: found +-1, expected",
        // 2^63, which is beyond 64 bits with a sign
        "CL.THROTTLE k 9223372036854775808 1 1 | max_burst: found 9223372036854775808, expected",
        "CL.THROTTLE k 1 9223372036854775808 1 | count: found 9223372036854775808, expected",
        "CL.THROTTLE k 1 1 9223372036854775808 | period: found 9223372036854775808, expected",
        "CL.THROTTLE k 1 1 1 9223372036854775808 | quantity: found 9223372036854775808, expected",
        "CL.THROTTLE k 1 1 1 -9223372036854775809 | quantity: found -9223372036854775809, expected",
        // negative
        "CL.THROTTLE k -1 1 1 | max_burst: found -1, expected",
        "CL.THROTTLE k 1 -1 1 | count: found -1, expected",
        "CL.THROTTLE k 1 1 -5 | period: found -5, expected",
        "CL.THROTTLE k 1 1 1 -1 | quantity: found -1, expected",
        "CL.THROTTLE k 1 1 1 -9223372036854775808 | quantity: found -9223372036854775808, expected",
        // zero rates
        "CL.THROTTLE k 1 0 1 | count: found 0, expected",
        "CL.THROTTLE k 1 1 0 | period: found 0, expected",
        "CL.THROTTLE k 1 2000000000 1 | count: found 2000000000 in 1 s, expected at most one token a nanosecond",
        "CL.THROTTLE k 1 9223372036854775807 1 | count: found 9223372036854775807 in 1 s, expected at most",
        // products beyond 64 bits
        "CL.THROTTLE k 1 1 9223372036854775807 | period: found 9223372036854775807, expected at most 9223372036 seconds",
        "CL.THROTTLE k 1 1 9223372037 | period: found 9223372037, expected at most 9223372036 seconds",
        "CL.THROTTLE k 9223372036854775807 1 1 | max_burst: found 9223372036854775807, expected at most 9223372035",
        "CL.THROTTLE k 9223372036854775806 1 1 | max_burst: found 9223372036854775806, expected at most 9223372035",
        "CL.THROTTLE k 9223372036 1 1 | max_burst: found 9223372036, expected at most 9223372035",
        "CL.THROTTLE k 9223372035 1 2 | max_burst: found 9223372035, expected at most 4611686017",
        // as throttlecrab has it: the bucket holds max_burst itself
        "THROTTLE k 0 1 1 | max_burst: found 0, expected a whole number of 64 bits, 1 or more",
        "THROTTLE k -1 1 1 | max_burst: found -1, expected",
        "THROTTLE k 1 0 1 | count: found 0, expected",
        "THROTTLE k 1 1 0 | period: found 0, expected",
        "THROTTLE k 1 1 1 -1 | quantity: found -1, expected",
        "THROTTLE k 1 1 1 x | quantity: found x, expected",
        "THROTTLE k 9223372037 1 1 | max_burst: found 9223372037, expected at most 9223372036",
        "THROTTLE \"\" 1 1 1 | key: the id is empty, expected at least one byte",
        "THROTTLE k 1 1 | expected THROTTLE key max_burst count period [quantity]"
      })
  void badArguments_areNamed_andTheConnectionGoesOn(String command, String says) {
    client.raw(command + "\r\n");
    assertThat(client.reply())
        .isInstanceOfSatisfying(
            Failure.class,
            failure -> assertThat(failure.text()).startsWith("ERR ").contains(says, "expected"));
    assertThat(client.call("PING")).isEqualTo("PONG");
  }

  /** What was sent right before, without a mistake, must not be taken for it. */
  @ParameterizedTest
  @CsvSource({"x", "-1", "9223372036854775808", "''"})
  void badQuantity_behindAGoodCommand_isNamed(String quantity) {
    List<Long> good = numbers(0, 5, 4, -1, 1);
    assertThat(client.call("CL.THROTTLE", "k", "4", "60", "60", "1")).isEqualTo(good);
    assertThat(client.call("CL.THROTTLE", "k", "4", "60", "60", quantity))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR quantity: "));
    assertThat(client.call("CL.THROTTLE", "", "4", "60", "60", "1"))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR key: "));
  }

  @Test
  void keysOfAnyBytes_haveBucketsOfTheirOwn() {
    byte[][] call = {ascii("CL.THROTTLE"), {(byte) 0xff, 0}, ascii("0"), ascii("1"), ascii("60")};
    assertThat(client.send(call).reply()).isEqualTo(numbers(0, 1, 0, -1, 60));
    assertThat(client.send(call).reply()).isEqualTo(numbers(1, 1, 0, 60, 60));
    call[1] = new byte[] {(byte) 0xff, 1};
    assertThat(client.send(call).reply()).isEqualTo(numbers(0, 1, 0, -1, 60));
    assertThat(client.call("CL.THROTTLE", "", "0", "1", "60"))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR "));
    assertThat(client.call("CL.THROTTLE", "x".repeat(2000), "0", "1", "60"))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).contains("1024"));
  }

  /** redis-cell takes them. */
  @Test
  void throttle_beyondTheBoundsThatRedisCellLacks_isAnError() {
    assertThat(client.call("CL.THROTTLE", "日".repeat(113), "0", "1", "60"))
        .isInstanceOf(List.class);
    assertThat(client.call("CL.THROTTLE", "日".repeat(120), "0", "1", "60"))
        .isInstanceOfSatisfying(
            Failure.class,
            failure ->
                assertThat(failure.text())
                    .startsWith("ERR key: found 360 bytes, expected at most 1024; a byte"));
    assertThat(client.call("CL.THROTTLE", "k", "0", "1", "9223372036")).isInstanceOf(List.class);
    assertThat(client.call("CL.THROTTLE", "k", "0", "1", "9223372037"))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR period: "));
    assertThat(client.call("CL.THROTTLE", "k", "9223372036", "1", "1"))
        .isInstanceOfSatisfying(
            Failure.class, failure -> assertThat(failure.text()).startsWith("ERR max_burst: "));
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
