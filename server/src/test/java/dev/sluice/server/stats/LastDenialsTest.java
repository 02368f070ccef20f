// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.stats.Denials.Denial;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.server.stats.Denials.LastDenials;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** How many denials are kept, and which are forgotten. */
class LastDenialsTest {

  private final LastDenials last = new LastDenials();

  private void add(String id, long cost) {
    last.add(
        "Calls",
        id,
        new Denial(Instant.EPOCH, DeniedRequest.at("http"), "Calls", id, cost, 1, "store", false));
  }

  @Test
  void lastTen_ofAnId_areKept_newestFirst() {
    for (int i = 1; i <= 25; i++) {
      add("ann", i);
    }
    assertThat(last.of("Calls", "ann"))
        .extracting(Denial::cost)
        .containsExactly(25L, 24L, 23L, 22L, 21L, 20L, 19L, 18L, 17L, 16L);
    assertThat(last.of("Other", "ann")).isEmpty();
  }

  @Test
  void textsOfARequest_areCut() {
    String cut = "x".repeat(200) + "…";
    DeniedRequest asked =
        new DeniedRequest("http", "x".repeat(16_000), "x".repeat(201), "x".repeat(300));
    assertThat(asked).isEqualTo(new DeniedRequest("http", cut, cut, cut));
    assertThat(new DeniedRequest("http", "GET", "/a", null).path()).isEqualTo("/a");
  }

  @Test
  void idsDeniedLongestAgo_areForgotten_beyondTheBound() {
    add("first", 1);
    add("second", 1);
    for (int i = 0; i < LastDenials.MOST - 2; i++) {
      add("id" + i, 1);
    }
    add("first", 2);
    assertThat(last.of("Calls", "first")).hasSize(2);
    assertThat(last.of("Calls", "second")).isEmpty();
    assertThat(last.of("Calls", "id0")).hasSize(1);
  }
}
