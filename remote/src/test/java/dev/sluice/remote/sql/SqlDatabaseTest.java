// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How often a database is cleaned; the stores' own tests have the rest. */
final class SqlDatabaseTest {

  @Test
  void pause_afterALotThatWasFull_isAsLongAsTheLot_elseUpToTwentyTimesAsLong() {
    long took = TimeUnit.MILLISECONDS.toNanos(23);
    assertThat(SqlDatabase.pauseNanos(took, 1_000)).isEqualTo(took);
    assertThat(SqlDatabase.pauseNanos(took, 500)).isEqualTo(2 * took);
    assertThat(SqlDatabase.pauseNanos(took, 50)).isEqualTo(20 * took);
    assertThat(SqlDatabase.pauseNanos(took, 0)).isEqualTo(20 * took);
    assertThat(SqlDatabase.pauseNanos(0, 0)).isEqualTo(TimeUnit.MILLISECONDS.toNanos(50));
  }
}
