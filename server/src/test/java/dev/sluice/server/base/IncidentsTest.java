// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.base.FailureLog.Incidents;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class IncidentsTest {

  private final AtomicLong now = new AtomicLong();
  private final Incidents incidents = new Incidents(now::get);
  private final List<String> logged = new ArrayList<>();

  @Test
  void equalCauses_withinASecond_shareAnIdAndALogLine() {
    String first = incidents.of("gone", logged::add);
    assertThat(incidents.of("gone", logged::add)).isEqualTo(first);
    assertThat(logged).containsExactly(first);
    now.addAndGet(1_000_000_000);
    assertThat(incidents.of("gone", logged::add)).isNotEqualTo(first);
    assertThat(logged).hasSize(2);
  }

  @Test
  void manyCauses_areAtMostEightLinesASecond_andEveryIdIsInTheLog() {
    for (int i = 0; i < 1000; i++) {
      assertThat(logged).doesNotHaveDuplicates();
      String id = incidents.of("cause " + i, logged::add);
      assertThat(logged).contains(id);
    }
    assertThat(logged).hasSize(Incidents.MOST);
  }
}
