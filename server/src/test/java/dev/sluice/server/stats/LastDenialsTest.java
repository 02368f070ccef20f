// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.stats.Denials.Denial;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.server.stats.Denials.LastDenials;
import java.time.Instant;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** How many denials are kept, and which are forgotten. */
class LastDenialsTest {

  private final LastDenials last = new LastDenials();

  private void add(String id, long cost) {
    add(id, cost, Instant.EPOCH);
  }

  private void add(String id, long cost, Instant at) {
    last.add(
        "Calls",
        id,
        new Denial(at, DeniedRequest.at("http"), "Calls", id, cost, 1, "store", false));
  }

  private Set<String> kept() {
    Set<String> ids = new TreeSet<>();
    last.forEach((limit, id) -> ids.add(id));
    return ids;
  }

  /** Ids are often personal data: docs/web-page.md promises it. */
  @Test
  void denialsOfTenMinutesAgo_areForgotten() {
    add("ann", 1);
    add("bob", 1);
    add("ann", 2, Instant.EPOCH.plusSeconds(300));
    last.forget(Instant.EPOCH.plusSeconds(600));
    assertThat(kept()).containsExactly("ann", "bob");
    last.forget(Instant.EPOCH.plusSeconds(601));
    assertThat(kept()).containsExactly("ann");
    assertThat(last.of("Calls", "ann")).extracting(Denial::cost).containsExactly(2L);
    last.forget(Instant.EPOCH.plusSeconds(901));
    assertThat(kept()).isEmpty();
  }

  @Test
  void longIds_areFewer() {
    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < LastDenials.MOST; i++) {
        add("x".repeat(995) + (10_000 + i), 1);
      }
      assertThat(kept()).hasSize(LastDenials.MOST_CHARACTERS / 1000);
      last.forget(Instant.EPOCH.plusSeconds(601));
    }
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
