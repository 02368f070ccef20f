// SPDX-License-Identifier: Apache-2.0
package migrating;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Before and after a move the same calls pass; the docs quote both. */
class MigratingTest {

  private static long passed(int calls, Callable<Boolean> call) throws Exception {
    long passed = 0;
    for (int i = 0; i < calls; i++) {
      passed += call.call() ? 1 : 0;
    }
    return passed;
  }

  /** A token comes each six seconds. Sluice rounds a wait up, and adds jitter. */
  private static void exports(UnaryOperator<String> export) {
    List<String> answers = Stream.generate(() -> export.apply("ann")).limit(30).toList();

    assertThat(answers.subList(0, 20)).containsOnly("exported");
    assertThat(answers.subList(20, 30)).allMatch(answer -> answer.matches("retry in [1-7] s"));
    assertThat(export.apply("bob")).isEqualTo("exported");
  }

  @Test
  void bucket4j_burstOfACustomer_isTheSame() {
    exports(new FromBucket4j.Before()::export);
    exports(new FromBucket4j.After()::export);
  }

  /** Counts the time from when the limiter is made: Guava's collects permits from then on. */
  @Test
  void guava_rate_isTheSame() throws Exception {
    for (Supplier<Callable<Boolean>> limiter :
        List.<Supplier<Callable<Boolean>>>of(
            () -> new FromGuava.Before()::mayMail, () -> new FromGuava.After()::mayMail)) {
      long start = System.nanoTime();
      assertThat(passed(3, limiter.get())).isEqualTo(3);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(350));
    }
  }

  @Test
  void resilience4j_callsInTheFirstMoment_areTheSame() throws Exception {
    FromResilience4j.Before before = new FromResilience4j.Before();
    FromResilience4j.After after = new FromResilience4j.After();

    assertThat(passed(10, () -> before.call(() -> "done").equals("done"))).isEqualTo(10);
    assertThat(passed(10, () -> after.call(() -> "done").equals("done"))).isEqualTo(10);
  }
}
