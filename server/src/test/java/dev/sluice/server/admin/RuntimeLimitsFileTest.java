// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.store.BucketStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Entries in a file whose limits went away, changed, or came back. */
@Tag("slow")
class RuntimeLimitsFileTest {

  private static final LimitName A = LimitName.builder(1, "A").build();
  private static final LimitName B = LimitName.builder(2, "B").build();
  private static final LimitName B_BY_ADDRESS =
      LimitName.builder(2, "B").id(IdFormat.ipAddress()).build();
  private static final Quota QUOTA = Quota.per(5, Duration.ofMinutes(1));
  private static final Instant UNTIL = Instant.parse("2099-01-01T00:00:00Z");

  @TempDir Path folder;
  private Path file;

  @BeforeEach
  void keepsTwoOverridesAndAPenaltyOfB() {
    file = folder.resolve("kept.yml");
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
      runtime.put(override(B, "bob"), false, true);
      runtime.put(override(B, "::1"), false, true);
      assertThat(runtime.ban(B, "bob", UNTIL, new Note("too loud", "ann"))).isNotNull();
    }
  }

  @Test
  void override_endsByTheServersClock_alsoOneOfTheDeployedFiles() {
    Instant soon = Instant.now().plusSeconds(1);
    LimitOverride deployed = new LimitOverride(A, "deployed", QUOTA, "", "", soon);
    LimitOverride set = new LimitOverride(A, "set", QUOTA, "", "ann", soon);
    LimitOverride tomorrow =
        new LimitOverride(A, "tomorrow", QUOTA, "", "ann", soon.plus(Duration.ofDays(1)));
    LimitOverride later =
        new LimitOverride(A, "later", QUOTA, "", "ann", soon.plus(Duration.ofDays(9)));
    Limits base = limits(A, B).withOverrides(List.of(deployed));
    try (RuntimeLimits runtime = start(new CurrentLimits(base))) {
      List.of(set, tomorrow, later).forEach(one -> runtime.put(one, false, true));
      await()
          .untilAsserted(
              () -> {
                assertThat(runtime.limits().get().overridesOf(A))
                    .containsExactlyInAnyOrder(tomorrow, later);
                assertThat(runtime.ending()).containsExactly(tomorrow); // set after the limits
              });
    }
  }

  /** Else the limits of a proxy would be ignored for the id, and each decision take two calls. */
  @Test
  void penalty_thatEndedLongAgo_isNoPartOfTheLimits() throws IOException {
    Instant end = Instant.now().plusSeconds(2).minus(RuntimeLimits.GRACE);
    Path penalties = folder.resolve("kept.yml.penalties");
    String kept = Files.readString(penalties);
    Files.writeString(penalties, kept.replace(UNTIL.toString(), end.toString()));
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
      assertThat(runtime.limits().get().penaltyFor(B, "bob")).isNotNull();
      await().untilAsserted(() -> assertThat(runtime.limits().get().hasPenalties()).isFalse());
    }
    assertThat(penalties).content().contains(end.toString());
  }

  @Test
  void limitThatIsGone_stopsNeitherTheStart_norOtherChanges_andItsEntriesComeBackWithIt() {
    CurrentLimits base = new CurrentLimits(limits(A));
    try (RuntimeLimits runtime = start(base)) {
      runtime.put(override(A, "ann"), false, true);
      assertThat(runtime.ban(A, "ann", UNTIL, new Note("", ""))).isNotNull();
      assertThat(runtime.limits().get().overridesOf(A)).containsExactly(override(A, "ann"));
      assertThat(runtime.limits().get().penaltyFor(A, "ann")).isNotNull();

      base.replace(limits(A, B));
      runtime.baseChanged();
      await().untilAsserted(() -> assertThatAllOfBHold(runtime.limits().get()));
      assertThat(runtime.remove(B, "::1")).isTrue();
      assertThat(runtime.limits().get().overridesOf(B)).containsExactly(override(B, "bob"));
    }
    try (RuntimeLimits again = start(new CurrentLimits(limits(A, B)))) {
      assertThat(again.limits().get().overridesOf(A)).containsExactly(override(A, "ann"));
      assertThat(again.limits().get().overridesOf(B)).containsExactly(override(B, "bob"));
      assertThat(again.limits().get().penaltyFor(A, "ann")).isNotNull();
      assertThat(again.limits().get().penaltyFor(B, "bob")).isNotNull();
    }
  }

  @Test
  void idThatFitsNoMore_isKept_whileThoseThatFitHold() {
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B_BY_ADDRESS)))) {
      assertThat(runtime.limits().get().overridesOf(B_BY_ADDRESS))
          .containsExactly(override(B_BY_ADDRESS, "::1"));
      runtime.put(override(B_BY_ADDRESS, "::2"), false, true);
      assertThat(runtime.ban(B_BY_ADDRESS, "::2", UNTIL, new Note("", ""))).isNotNull();
      assertThat(runtime.limits().get().overridesOf(B_BY_ADDRESS)).hasSize(2);
    }
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
      assertThat(runtime.remove(B, "::2")).isTrue();
      assertThat(runtime.limits().get().penaltyFor(B, "::2")).isNotNull();
      assertThatAllOfBHold(runtime.limits().get());
    }
  }

  @Test
  void twoSpellingsOfAnId_theCanonicalOneHolds_andBothAreKept() throws IOException {
    String entry = "- B:\n    burst: %d\n    count: %d\n    period: 1m\n    ids: [\"%s\"]\n";
    Files.writeString(
        file, entry.formatted(7, 7, "0:0:0:0:0:0:0:1") + entry.formatted(5, 5, "::1"));
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B_BY_ADDRESS)))) {
      runtime.put(override(A, "ann"), false, true);
      assertThat(runtime.limits().get().overridesOf(B_BY_ADDRESS))
          .containsExactly(override(B_BY_ADDRESS, "::1"));
    }
    assertThat(file).content().contains("\"0:0:0:0:0:0:0:1\"", "\"::1\"", "\"ann\"");
  }

  @Test
  void fileWithAMistake_isStillRefused() throws IOException {
    Files.writeString(file, "- B:\n    burst: 5\n    ids: [\"bob\"]\n");
    assertThatThrownBy(() -> start(new CurrentLimits(limits(A))).close())
        .isInstanceOf(KeepException.class)
        .hasMessageContaining("count");
  }

  @Test
  void fileThatGoesAway_andComesBackUnchanged_leavesNoMistake() throws IOException {
    Path away = folder.resolve("away");
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
      Files.move(file, away);
      assertThat(runtime.read()).isFalse();
      assertThat(runtime.mistakes()).isNotEmpty();
      Files.move(away, file);
      assertThat(runtime.read()).isTrue();
      assertThat(runtime.mistakes()).isEmpty();
    }
  }

  /** Such a file was written, and then let neither a change nor a start pass any more. */
  @Test
  void changeThatNoFileHolds_isRefused_andThoseThatFitStillPass() throws IOException {
    StringBuilder full = new StringBuilder();
    String entry =
        """
        - A:
            burst: 5
            count: 5
            period: 1m0s
            ids: [{id: "%07d", comment: "%s"}]
        """;
    String comment = "x".repeat(60_000);
    for (int i = 0; full.length() < (16 << 20) - 200_000; i++) {
      full.append(entry.formatted(i, comment));
    }
    Files.writeString(file, full);
    try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
      runtime.put(override(A, "ann"), false, true);
      byte[] before = Files.readAllBytes(file);
      LimitOverride large = new LimitOverride(A, "bob", QUOTA, "x".repeat(250_000));
      assertThatThrownBy(() -> runtime.put(large, false, true))
          .isInstanceOf(KeepException.class)
          .hasMessageContaining("the change was rejected");
      assertThat(file).hasBinaryContent(before);
      assertThat(folder).isDirectoryNotContaining("glob:**.tmp");
      assertThat(runtime.remove(A, "0000001")).isTrue();
      runtime.put(override(A, "cid"), false, true);
    }
    try (RuntimeLimits again = start(new CurrentLimits(limits(A, B)))) {
      assertThat(again.limits().get().overridesOf(A))
          .contains(override(A, "ann"), override(A, "cid"));
    }
  }

  @Test
  void fileBehindLinks_isReplacedWhereItStands_underOneLock() throws IOException {
    Path volume = Files.createDirectory(folder.resolve("volume"));
    Path real = volume.resolve("real.yml");
    Path one = Files.createSymbolicLink(folder.resolve("one.yml"), Path.of("volume/real.yml"));
    Path other = Files.createSymbolicLink(volume.resolve("other.yml"), one.toAbsolutePath());
    for (Path link : List.of(one, other)) {
      file = link;
      try (RuntimeLimits runtime = start(new CurrentLimits(limits(A, B)))) {
        runtime.put(override(A, link.getFileName().toString()), false, true);
        assertThat(runtime.ban(A, "ann", UNTIL, new Note("", ""))).isNotNull();
      }
      assertThat(link).isSymbolicLink();
    }
    assertThat(real).isRegularFile().content().contains("one.yml", "other.yml");
    assertThat(volume)
        .isDirectoryContaining("glob:**/real.yml.lock")
        .isDirectoryContaining("glob:**/real.yml.penalties");
    assertThat(folder).isDirectoryNotContaining("glob:**/one.yml.*");
    assertThat(volume).isDirectoryNotContaining("glob:**/other.yml.*");
  }

  private void assertThatAllOfBHold(Limits now) {
    assertThat(now.overridesOf(B))
        .containsExactlyInAnyOrder(override(B, "bob"), override(B, "::1"));
    assertThat(now.penaltyFor(B, "bob")).isNotNull();
  }

  private RuntimeLimits start(CurrentLimits base) {
    return RuntimeLimits.inFile(file, base, BucketStore.inMemory());
  }

  private static Limits limits(LimitName... names) {
    Limits.Builder limits = Limits.builder(Catalogue.of(names));
    for (LimitName name : names) {
      limits.limit(name.name(), QUOTA);
    }
    return limits.build();
  }

  private static LimitOverride override(LimitName name, String id) {
    return new LimitOverride(name, id, QUOTA, "");
  }
}
