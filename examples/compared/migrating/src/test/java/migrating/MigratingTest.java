// SPDX-License-Identifier: Apache-2.0
package migrating;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
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

  @Test
  void bucket4j_burstOfACustomer_isTheSame() throws Exception {
    FromBucket4j.Before before = new FromBucket4j.Before();
    FromBucket4j.After after = new FromBucket4j.After();

    assertThat(passed(30, () -> before.export("ann").equals("exported"))).isEqualTo(20);
    assertThat(passed(30, () -> after.export("ann").equals("exported"))).isEqualTo(20);
    assertThat(before.export("ann")).matches("retry in [1-5] s");
    assertThat(after.export("ann")).matches("retry in [1-5] s");
    assertThat(before.export("bob")).isEqualTo("exported");
    assertThat(after.export("bob")).isEqualTo("exported");
  }

  @Test
  void guava_rate_isTheSame() throws Exception {
    FromGuava.Before before = new FromGuava.Before();
    FromGuava.After after = new FromGuava.After();

    for (Callable<Boolean> mail : List.<Callable<Boolean>>of(before::mayMail, after::mayMail)) {
      long start = System.nanoTime();
      assertThat(passed(3, mail)).isEqualTo(3);
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
