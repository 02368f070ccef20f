// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proof.BrokenPromise;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the processes of a trial say of their failures. */
@Tag("slow")
class LogTest {

  /** A process whose load dies. */
  static final class Dying {
    private Dying() {}

    public static void main(String[] args) {
      System.out.print("grant k1 1 ");
      Log.die(new IllegalStateException("no\nmore"));
    }
  }

  @Test
  void loadThatDies_saysWhy() {
    assertThatThrownBy(() -> Log.run(Dying.class))
        .isInstanceOf(IOException.class)
        .hasMessage("Dying ended with 1: DIED java.lang.IllegalStateException: no more");
  }

  @Test
  void grantsThatNeverReachTheLimit_proveNothing() throws BrokenPromise {
    Log log = new Log(Load.QUOTA);
    log.add("grant k1 15 1000");
    log.requireWithinLimit(0);
    assertThatThrownBy(log::requireLimitReached)
        .isInstanceOf(BrokenPromise.class)
        .hasMessageContaining("granted 5 tokens less than its limit");
    log.add("grant k1 3 1000");
    log.requireLimitReached();
    log.add("grant k1 3 1000");
    assertThatThrownBy(() -> log.requireWithinLimit(0))
        .isInstanceOf(BrokenPromise.class)
        .hasMessageContaining("granted 1 tokens more than its limit");
  }

  @Test
  void firstDecisionsThatFail_sayWhy() throws Exception {
    List<String> printed;
    do { // on a busy machine, the first call of a process can time out before it is refused
      printed = Log.run(ColdStart.class, "redis://127.0.0.1:1/0", "2");
    } while (printed.get(printed.size() - 1).contains("timed out"));
    assertThat(printed).hasSize(3).startsWith("2");
    assertThat(printed.get(2)).contains("connection refused");
  }
}
