// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Limits with penalties, and what a catalogue and the current limits refuse. */
class PenalizedLimitsTest {

  private static final LimitName A = LimitName.builder(1, "A").build();
  private static final LimitName B = LimitName.builder(2, "B").build();
  private static final Catalogue NAMES = Catalogue.of(A, B);
  private static final Quota QUOTA = Quota.per(3, Duration.ofSeconds(1));
  private static final Instant END = Instant.ofEpochSecond(5, 7);

  private static Limits limits() {
    return Limits.builder(NAMES).limit("A", QUOTA).build();
  }

  private static Penalty penalty(LimitName name, String id) {
    return new Penalty(name, id, END, 0, "");
  }

  @Test
  void penalty_holdsUpToItsEnd() {
    Penalty penalty = penalty(A, "x");
    assertThat(penalty.untilNanos()).isEqualTo(5_000_000_007L);
    assertThat(penalty.holdsAt(0)).isTrue();
    assertThat(penalty.holdsAt(5_000_000_006L)).isTrue();
    assertThat(penalty.holdsAt(5_000_000_007L)).isFalse();
  }

  @Test
  void withPenalties_areFoundByNameAndId() {
    Limits with = limits().withPenalties(List.of(penalty(A, "x"), penalty(A, "y")));
    assertThat(with.hasPenalties()).isTrue();
    assertThat(with.penaltyFor(A, "x")).isEqualTo(penalty(A, "x"));
    assertThat(with.penaltyFor(A, "z")).isNull();
    assertThat(with.penaltyFor(B, "x")).isNull();
    assertThat(with.penaltiesOf(A)).containsExactlyInAnyOrder(penalty(A, "x"), penalty(A, "y"));
    assertThat(with.penaltiesOf(B)).isEmpty();
    assertThat(with.withPenalties(List.of(penalty(A, "y"), penalty(A, "x")))).isSameAs(with);
    assertThat(with.withPenalties(List.of()).hasPenalties()).isFalse();
    assertThat(limits().hasPenalties()).isFalse();
    assertThatThrownBy(() -> limits().withPenalties(List.of(penalty(A, "x"), penalty(A, "x"))))
        .hasMessageContaining("a second penalty of A for the id \"x\"");
  }

  @Test
  void overrides_ofABuilder_areThoseThatWereAdded() {
    Limits.Builder builder = Limits.builder(NAMES).override("A", "x", QUOTA);
    assertThat(builder.overrides()).hasSize(1);
    Limits more = limits().withOverrides(builder.build().overridesOf(A)).withOverrides(List.of());
    assertThat(more.overridesOf(A)).hasSize(1);
    assertThat(more.overridesOf(B)).isEmpty();
  }

  @Test
  void configured_nameWithoutDefault_isRefused() {
    assertThat(limits().configured("A")).isSameAs(A);
    assertThatThrownBy(() -> limits().configured("B"))
        .isInstanceOf(MissingDefaultException.class)
        .hasMessageStartingWith("B has no default");
    assertThatThrownBy(() -> limits().configured("C")).isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void requireNoClash_sharedNumberOrName_isRefused() {
    NAMES.requireNoClash(LimitName.builder(1, "A").build());
    NAMES.requireNoClash(LimitName.builder(3, "C").build());
    NAMES.requireNoClash(LimitName.builder("C").build());
    assertThatThrownBy(() -> NAMES.requireNoClash(LimitName.builder("A").build()))
        .hasMessageContaining(
            "A without a number, but the catalogue has this limit with the number 1");
    assertThatThrownBy(() -> NAMES.requireNoClash(LimitName.builder(1, "C").build()))
        .isInstanceOfSatisfying(
            InvalidRequestException.class, e -> assertThat(e.field()).isEqualTo(Field.LIMIT))
        .hasMessageContaining("C has the number 1, which is the number of A in the catalogue");
    assertThatThrownBy(() -> NAMES.requireNoClash(LimitName.builder(3, "A").build()))
        .hasMessageContaining(
            "A with the number 3, but the catalogue has this limit with the number 1");
  }

  @Test
  void isStill_limitsThatWereReplaced_isFalse() {
    Limits first = limits();
    CurrentLimits current = new CurrentLimits(first);
    assertThat(current.isStill(first)).isTrue();
    current.replace(first.withPenalties(List.of(penalty(A, "x"))));
    assertThat(current.isStill(first)).isFalse();
  }

  @Test
  void require_missingDefault_isRefused_untilItIsReleased() {
    CurrentLimits current = new CurrentLimits(limits());
    Requirement missing = new Requirement("B", "a test", MissingDefault.REFUSE);
    assertThatThrownBy(() -> current.require(List.of(missing)))
        .isInstanceOfSatisfying(
            MissingDefaultException.class,
            e -> assertThat(e.limits()).containsExactly(missing.limit()));

    Requirement met = new Requirement("A", "a test", MissingDefault.REFUSE);
    current.require(List.of(met));
    current.require(List.of(met));
    current.release(List.of(met));
    Limits without = Limits.builder(NAMES).build();
    assertThatThrownBy(() -> current.replace(without)).isInstanceOf(MissingDefaultException.class);
    assertThat(current.unmet(without)).containsExactly(met);
    assertThat(current.unmet(limits())).isEmpty();
    current.release(List.of(met));
    current.replace(without);
    assertThat(current.get()).isSameAs(without);
  }
}
