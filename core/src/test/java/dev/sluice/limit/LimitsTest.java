// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class LimitsTest {

  private static final Quota SMALL = Quota.per(1, Duration.ofSeconds(1));
  private static final Quota LARGE = Quota.per(9, Duration.ofSeconds(1));
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final String SIGN_UPS = "SignUpsPerIPAddress";
  private static final Catalogue NAMES =
      Catalogue.of(
          LimitName.builder(1, "VisitsPerIPAddress").id(IdFormat.ipAddress()).build(),
          LimitName.builder(3, "OrdersPerAccount").id(IdFormat.regId()).build());
  private static final String IP_LIMIT = "VisitsPerIPAddress";

  @Test
  void withoutEnded_leavesOutWhatHasEnded_andKeepsTheRest() {
    LimitName visits = NAMES.get(IP_LIMIT);
    Instant end = Instant.parse("2027-03-01T00:00:00Z");
    LimitOverride ends = new LimitOverride(visits, "192.0.2.1", LARGE, "", "ann", end);
    LimitOverride stays = new LimitOverride(visits, "192.0.2.2", LARGE, "");
    Limits limits = Limits.builder(NAMES).override(ends).override(stays).build();

    assertThat(limits.withoutEnded(end.minusNanos(1))).isSameAs(limits);
    assertThat(limits.withoutEnded(end).overridesOf(visits)).containsExactly(stays);
    Limits only = Limits.builder(NAMES).override(ends).build();
    assertThat(only.withoutEnded(end).isConfigured(visits)).isFalse();
  }

  private static LimitName named(int number, String name) {
    return LimitName.builder(number, name).build();
  }

  private static Limits manyOverrides(int burstOfTheLast) {
    Limits.Builder limits =
        Limits.builder(
            Catalogue.of(
                LimitName.builder(1, "A")
                    .id(IdFormat.joined(IdFormat.ipv6Range(64), IdFormat.string()))
                    .overrideId(IdFormat.ipv6Range(64))
                    .build(),
                LimitName.builder(2, "B").build()));
    limits.limit("A", SMALL).unlimited("B");
    for (int i = 0; i < 100_000; i++) {
      limits.override("B", "id" + i, i == 99_999 ? Quota.per(burstOfTheLast, SECOND) : LARGE);
    }
    return limits.build();
  }

  @Test
  void limits_thatDecideAlike_areEqual() {
    Limits one = manyOverrides(2);
    assertThat(one).isEqualTo(manyOverrides(2)).hasSameHashCodeAs(manyOverrides(2));
    assertThat(one).isNotEqualTo(manyOverrides(3));
    Limits base = Limits.builder(Catalogue.of(named(1, "A"))).build();
    assertThat(base).isEqualTo(Limits.builder(Catalogue.of(named(1, "A"))).build());
    assertThat(base)
        .isNotEqualTo(Limits.builder(Catalogue.of(named(1, "A"))).unlimited("A").build());
  }

  @Test
  void limits_whoseNamesTellOtherwise_areNotEqual() {
    Limits one = Limits.builder(Catalogue.of(LimitName.builder(1, "A").build())).build();
    for (LimitName other :
        List.of(
            LimitName.builder(1, "A").message("no").build(),
            LimitName.builder(1, "A").jitter(0.5).build(),
            LimitName.builder(1, "A").helpLink("https://example.com/").build(),
            LimitName.builder(1, "A").overridesOnly().build(),
            LimitName.builder(1, "A").disabledWithoutDefault().build(),
            LimitName.builder(1, "A").id(IdFormat.uuid()).build())) {
      assertThat(Limits.builder(Catalogue.of(other)).build()).isNotEqualTo(one);
    }
  }

  @Test
  void replace_byEqualLimits_replacesNothing() {
    Limits before = manyOverrides(2);
    CurrentLimits current = new CurrentLimits(before);
    current.replace(manyOverrides(2));
    assertThat(current.get()).isSameAs(before);
    Limits other = manyOverrides(3);
    current.replace(other);
    assertThat(current.get()).isSameAs(other);
  }

  @Test
  void coverage_saysWhyNothingIsLimited() {
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("LoginsPerIPAddress", SMALL)
            .unlimited("ApiCallsPerKey")
            .override("ApiCallsPerKey", "alice", SMALL)
            .override("SignUpsPerIPAddress", "192.0.2.7", SMALL)
            .build();
    Catalogue names = limits.catalogue();
    assertThat(limits.coverage(names.get("LoginsPerIPAddress"), "192.0.2.7"))
        .isEqualTo(Coverage.LIMITED);
    assertThat(limits.coverage(names.get("ApiCallsPerKey"), "bob")).isEqualTo(Coverage.UNLIMITED);
    assertThat(limits.coverage(names.get("ApiCallsPerKey"), "alice")).isEqualTo(Coverage.LIMITED);
    assertThat(limits.coverage(names.get("SignUpsPerIPAddress"), "192.0.2.7"))
        .isEqualTo(Coverage.LIMITED);
    assertThat(limits.coverage(names.get("SignUpsPerIPAddress"), "192.0.2.8"))
        .isEqualTo(Coverage.NO_DEFAULT);
    assertThat(limits.coverage(names.get("FailedLoginsPerIPAddress"), "192.0.2.7"))
        .isEqualTo(Coverage.NOT_CONFIGURED);
    assertThat(limits.configured())
        .extracting(LimitName::name)
        .containsExactly("ApiCallsPerKey", "LoginsPerIPAddress", "SignUpsPerIPAddress");
    assertThat(limits.withOverrides(List.of())).isEqualTo(limits);
  }

  @Test
  void coverage_ofANameThatMayBeDisabled_isNotMissing() {
    LimitName boulders = LimitName.builder(1, "A").disabledWithoutDefault().build();
    LimitName rare = LimitName.builder(2, "B").overridesOnly().build();
    Catalogue names = Catalogue.of(boulders, rare);
    for (LimitName name : names.names()) {
      Limits none = Limits.builder(names).build();
      assertThat(none.coverage(name)).isEqualTo(Coverage.DISABLED);
      assertThat(none.configured(name.name())).isEqualTo(name);
      assertThat(none.isConfigured(name)).isFalse();
      Limits overridden = Limits.builder(names).override(name.name(), "x", SMALL).build();
      assertThat(overridden.coverage(name, "y")).isEqualTo(Coverage.DISABLED);
      assertThat(overridden.isConfigured(name)).isTrue();
    }
    assertThat(Coverage.DISABLED.isMissing()).isFalse();
    assertThat(Coverage.NO_DEFAULT.isMissing()).isTrue();
  }

  @Test
  void configured_limitThatIsNot_isRefused() {
    Limits none = Limits.builder(Catalogue.samples()).build();
    assertThatThrownBy(() -> none.configured(SIGN_UPS))
        .isInstanceOfSatisfying(
            MissingDefaultException.class, e -> assertThat(e.limits()).containsExactly(SIGN_UPS));
    assertThatThrownBy(() -> none.configured("Nobody")).isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void builder_defaultAndUnlimited_isRefused() {
    assertThatThrownBy(
            () -> Limits.builder(Catalogue.samples()).limit(SIGN_UPS, SMALL).unlimited(SIGN_UPS))
        .hasMessageContaining("second default for " + SIGN_UPS);
    assertThatThrownBy(
            () -> Limits.builder(Catalogue.samples()).unlimited(SIGN_UPS).limit(SIGN_UPS, SMALL))
        .hasMessageContaining("second default for " + SIGN_UPS);
  }

  private static Requirement signUps(MissingDefault onMissing) {
    return new Requirement(SIGN_UPS, "a test", onMissing);
  }

  @Test
  void require_limitThatIsNotConfigured_isRefused() {
    CurrentLimits current = new CurrentLimits(Limits.builder(Catalogue.samples()).build());
    assertThatThrownBy(() -> current.require(List.of(signUps(MissingDefault.REFUSE))))
        .isInstanceOf(MissingDefaultException.class)
        .hasMessage(
            "SignUpsPerIPAddress has no default, but a test requires one; write burst, count and"
                + " period, or \"SignUpsPerIPAddress: {unlimited: true}\"");
    assertThat(current.unmet(current.get())).isEmpty();
    current.require(List.of(signUps(MissingDefault.WARN), signUps(MissingDefault.ALLOW)));
    assertThat(current.unmet(current.get())).hasSize(2);
    current.release(List.of(signUps(MissingDefault.WARN), signUps(MissingDefault.ALLOW)));
    assertThat(current.unmet(current.get())).isEmpty();
  }

  @Test
  void require_limitThatDoesNotExist_isRefusedAsSuch() {
    CurrentLimits current = new CurrentLimits(Limits.builder(Catalogue.samples()).build());
    Requirement misspelt = new Requirement("SignUpPerIPAddress", "a test", MissingDefault.REFUSE);
    assertThatThrownBy(() -> current.require(List.of(misspelt)))
        .isInstanceOf(MissingDefaultException.class)
        .hasMessage(
            "a test requires the limit \"SignUpPerIPAddress\", which does not exist; did you mean"
                + " \"SignUpsPerIPAddress\"?");
  }

  @Test
  void replace_byLimitsThatLackWhatIsAskedFor_isRefused() {
    Limits good = Limits.builder(Catalogue.samples()).unlimited(SIGN_UPS).build();
    CurrentLimits current = new CurrentLimits(good);
    CurrentLimits derived = current.derived();
    current.require(List.of(signUps(MissingDefault.REFUSE)));
    Limits bad = Limits.builder(Catalogue.samples()).build();
    assertThatThrownBy(() -> current.replace(bad)).isInstanceOf(MissingDefaultException.class);
    assertThat(current.get()).isSameAs(good);
    assertThatThrownBy(() -> derived.replace(bad)).isInstanceOf(MissingDefaultException.class);
    Limits withoutTheName = Limits.builder(NAMES).build();
    assertThatThrownBy(() -> current.replace(withoutTheName))
        .isInstanceOf(MissingDefaultException.class);
    Limits overridden =
        Limits.builder(Catalogue.samples()).override(SIGN_UPS, "192.0.2.7", SMALL).build();
    assertThatThrownBy(() -> current.replace(overridden)) // which refuse all other ids
        .isInstanceOf(MissingDefaultException.class);
    assertThat(current.get()).isSameAs(good);
  }

  @Test
  void catalogue_sameNameOrNumberTwice_isRefused() {
    assertThatThrownBy(() -> Catalogue.of(named(1, "A"), named(2, "A")))
        .hasMessageContaining("found the name A twice (with the number 1 and with the number 2)");
    assertThatThrownBy(() -> Catalogue.of(named(1, "A"), named(1, "B")))
        .hasMessageContaining("found the number 1 twice (for A and B)");
    assertThatThrownBy(() -> NAMES.plus(NAMES)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Catalogue.of(named(1, "A"), LimitName.builder("A").build()))
        .hasMessageContaining("found the name A twice (with the number 1 and without a number)");
  }

  @Test
  void catalogue_ownNamesAndSamples_goTogether() {
    Catalogue both = NAMES.plus(Catalogue.samples());
    assertThat(both.find(1)).isEqualTo(both.find(IP_LIMIT)).isNotNull();
    assertThat(both.find(0)).isNull();
    assertThat(both.find("Unknown")).isNull();
    assertThat(both.names()).extracting(LimitName::name).isSorted().hasSize(8);
  }

  @Test
  void catalogue_unknownName_isRefusedWithTheNearest() {
    assertThatThrownBy(() -> NAMES.get("VisitPerIpAddress"))
        .isInstanceOf(UnknownLimitException.class)
        .hasMessageContaining("no limit has the name \"VisitPerIpAddress\"")
        .hasMessageContaining("did you mean \"VisitsPerIPAddress\"?");
    assertThatThrownBy(() -> NAMES.get("\n" + "x".repeat(100_000)))
        .isInstanceOf(UnknownLimitException.class)
        .hasMessageNotContaining("\n");
  }

  @Test
  void quotaFor_overrideThenDefaultThenNothing_isFound() {
    Limits limits =
        Limits.builder(NAMES)
            .limit(IP_LIMIT, SMALL)
            .override(IP_LIMIT, "2001:0DB8::0001", LARGE)
            .build();
    LimitName name = limits.catalogue().get(IP_LIMIT);
    assertThat(limits.quotaFor(name, "2001:db8::1")).isEqualTo(LARGE);
    assertThat(limits.quotaFor(name, "192.0.2.1")).isEqualTo(SMALL);
    assertThat(limits.overridesOf(name))
        .extracting(LimitOverride::id)
        .containsExactly("2001:db8::1");
    assertThat(limits.quotaFor(limits.catalogue().get("OrdersPerAccount"), "1")).isNull();
  }

  @Test
  void quotaFor_overrideByPrefix_holdsForEveryIdThatStartsWithIt() {
    LimitName name =
        LimitName.builder(4, "FailedPerAccount")
            .id(IdFormat.joined(IdFormat.regId(), IdFormat.string()))
            .overrideId(IdFormat.regId())
            .build();
    Limits limits =
        Limits.builder(Catalogue.of(name))
            .limit("FailedPerAccount", SMALL)
            .override("FailedPerAccount", "17", LARGE)
            .build();
    assertThat(limits.quotaFor(name, "17:example.com")).isEqualTo(LARGE);
    assertThat(limits.quotaFor(name, "17:a:b")).isEqualTo(LARGE);
    assertThat(limits.quotaFor(name, "170:example.com")).isEqualTo(SMALL);
    assertThat(limits.quotaFor(name, "1:17")).isEqualTo(SMALL);
  }

  @Test
  void quotaFor_overrideThatEndsWithAnIpv6Address_holdsForLongerIdsWithTheAddressInBrackets() {
    IdFormat string = IdFormat.string();
    IdFormat address = IdFormat.ipAddress();
    IdFormat range = IdFormat.ipv6Range(64);
    assertOverridden(
        List.of(address, string), 1, "2001:DB8::1", "[2001:db8::1]:alice", "[2001:db8::2]:alice");
    assertOverridden(List.of(address, string), 1, "192.0.2.1", "192.0.2.1:alice", "192.0.2.2:]");
    assertOverridden(
        List.of(range, string), 1, "2001:db8::/64", "[2001:db8::/64]:]", "[2001:db8:1::/64]:]");
    assertOverridden(
        List.of(string, address, string),
        2,
        "[:2001:db8::1",
        "[:[2001:db8::1]:a:b",
        "[:[2001:db8::2]:a:b");
    assertOverridden(
        List.of(address, address, string),
        2,
        "[2001:db8::1]:2001:db8::2",
        "[2001:db8::1]:[2001:db8::2]:a",
        "[2001:db8::1]:[2001:db8::3]:a");
    assertOverridden(List.of(string, string), 1, "[a]", "[a]:b", "a:b");
  }

  /** Asserts that the override of an id's first parts applies to one id, and not to another. */
  private static void assertOverridden(
      List<IdFormat> parts, int first, String overrideId, String id, String other) {
    IdFormat[] all = parts.toArray(IdFormat[]::new);
    IdFormat ofOverrides = first == 1 ? all[0] : IdFormat.joined(Arrays.copyOf(all, first));
    LimitName name =
        LimitName.builder(4, "A").id(IdFormat.joined(all)).overrideId(ofOverrides).build();
    Limits limits =
        Limits.builder(Catalogue.of(name))
            .limit("A", SMALL)
            .override("A", overrideId, LARGE)
            .build();
    assertThat(limits.quotaFor(name, name.id().canonical(id, Strictness.LENIENT)))
        .as(id)
        .isEqualTo(LARGE);
    assertThat(limits.quotaFor(name, other)).as(other).isEqualTo(SMALL);
  }

  @Test
  void overridesAndPenalties_whoseIdIsNotCanonical_areRefused() {
    LimitName visits = NAMES.get(IP_LIMIT);
    LimitName orders = NAMES.get("OrdersPerAccount");
    Limits limits = Limits.builder(NAMES).build();
    String expected =
        "found the id \"2001:DB8::1\" in an override of VisitsPerIPAddress, expected its canonical form \"2001:db8::1\"";
    LimitOverride override = new LimitOverride(visits, "2001:DB8::1", LARGE, "");
    assertThatThrownBy(() -> Limits.builder(NAMES).override(override))
        .isInstanceOf(InvalidIdException.class)
        .hasMessage(expected);
    assertThatThrownBy(() -> limits.withOverrides(List.of(override))).hasMessage(expected);
    for (String id : List.of("", "10.0.0.256")) {
      LimitOverride invalid = new LimitOverride(visits, id, LARGE, "");
      assertThatThrownBy(() -> limits.withOverrides(List.of(invalid)))
          .isInstanceOf(InvalidIdException.class)
          .hasMessageStartingWith("found the id \"" + id + "\" in an override of VisitsPerIP");
    }
    Penalty ban = new Penalty(orders, "042", Instant.EPOCH, 0, "");
    assertThatThrownBy(() -> limits.withPenalties(List.of(ban)))
        .isInstanceOf(InvalidIdException.class)
        .hasMessage(
            "found the id \"042\" in a penalty of OrdersPerAccount, expected its canonical form \"42\"");
  }

  @Test
  void overrides_whoseFormatSpellsIdsDifferently_areAccepted_ifTheirIdIsThatOfARequest() {
    IdFormat spelling =
        new IdFormat() {
          @Override
          public String name() {
            return "withHash";
          }

          @Override
          public String canonical(String text, Strictness strictness) {
            if (!text.startsWith("#")) {
              throw new InvalidIdException("found an id without a #");
            }
            return text.substring(1);
          }
        };
    IdFormat regId = IdFormat.regId();
    for (IdFormat id : List.of(regId, IdFormat.joined(regId, IdFormat.string()))) {
      LimitName name = LimitName.builder("A").id(id).overrideId(spelling).build();
      Limits limits = Limits.builder(Catalogue.of(name)).override("A", "#7", LARGE).build();
      assertThat(limits.withOverrides(limits.overridesOf(name))).isEqualTo(limits);
      LimitOverride written = new LimitOverride(name, "#7", LARGE, "");
      assertThatThrownBy(() -> limits.withOverrides(List.of(written)))
          .isInstanceOf(InvalidIdException.class)
          .hasMessageEndingWith("expected its canonical form \"7\"");
    }
  }

  @Test
  void limit_overridesOnly_ignoresTheDefault() {
    LimitName name = LimitName.builder(6, "Rare").overridesOnly().build();
    Limits limits = Limits.builder(Catalogue.of(name)).limit("Rare", SMALL).build();
    assertThat(limits.defaultFor(name)).isNull();
  }

  @Test
  void builder_sameThingTwice_isRefused() {
    Limits.Builder limits =
        Limits.builder(NAMES).limit(IP_LIMIT, SMALL).override(IP_LIMIT, "2001:db8::1", SMALL);
    assertThatThrownBy(() -> limits.limit(IP_LIMIT, LARGE))
        .hasMessageContaining("found a second default for " + IP_LIMIT);
    assertThatThrownBy(() -> limits.override(IP_LIMIT, "2001:DB8:0::1", LARGE))
        .hasMessageContaining("found a second override of " + IP_LIMIT);
    assertThatThrownBy(() -> limits.override(IP_LIMIT, "lol", LARGE))
        .isInstanceOf(InvalidIdException.class);
    assertThatThrownBy(() -> limits.limit("Nobody", LARGE))
        .isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void build_builderUsedAgain_leavesWhatWasBuiltAlone() {
    Limits.Builder builder = Limits.builder(NAMES);
    Limits before = builder.build();
    Limits after = builder.limit(IP_LIMIT, SMALL).build();
    LimitName name = before.catalogue().get(IP_LIMIT);
    assertThat(before.defaultFor(name)).isNull();
    assertThat(after.defaultFor(name)).isEqualTo(SMALL);
  }

  @Test
  void didYouMean_aSlip_isMended() {
    List<String> known = List.of("burst", "count", "period", "ids");
    assertThat(Suggestion.didYouMean("perriod", known)).isEqualTo("; did you mean \"period\"?");
    assertThat(Suggestion.didYouMean("BURST", known)).isEqualTo("; did you mean \"burst\"?");
    assertThat(Suggestion.didYouMean("cuont", known)).isEqualTo("; did you mean \"count\"?");
    assertThat(Suggestion.didYouMean("something else", known)).isEmpty();
    assertThat(Suggestion.didYouMean("", known)).isEmpty();
    assertThat(Suggestion.didYouMean("x".repeat(1 << 20), known)).isEmpty();
    assertThat(Suggestion.didYouMean("burst", List.of())).isEmpty();
  }

  @Test
  void companion_goesWithTheLimitsAndTheirCopies_andCountsWhenTheyAreCompared() {
    Limits plain = Limits.builder(Catalogue.samples()).build();
    Limits limits = plain.with(String.class, "rules");
    assertThat(plain.companion(String.class)).isNull();
    assertThat(limits.companion(String.class)).isEqualTo("rules");
    assertThat(limits.companion(Integer.class)).isNull();
    assertThat(limits.withOverrides(List.of())).isEqualTo(limits);
    assertThat(limits.with(String.class, "other")).isNotEqualTo(limits);
    assertThat(limits).isNotEqualTo(plain);
  }

  @Test
  void debt_isOfTheName_andStaysInEachCopy() {
    Catalogue names = Catalogue.of(named(1, "A"), named(2, "B"));
    Limits plain = Limits.builder(names).limit("A", SMALL).limit("B", SMALL).build();
    Limits limits = Limits.builder(names).limit("A", SMALL).debt("A", 10).limit("B", SMALL).build();
    LimitName a = names.get("A");
    assertThat(limits.debtOf(a)).isEqualTo(10);
    assertThat(limits.debtOf(names.get("B"))).isZero();
    assertThat(limits.debtOf(named(3, "C"))).as("a caller's own name").isZero();
    assertThat(limits).isNotEqualTo(plain);
    assertThat(Limits.builder(names).limit("A", SMALL).debt("A", 0).limit("B", SMALL).build())
        .isEqualTo(plain);
    assertThat(limits.with(String.class, "rules").debtOf(a)).isEqualTo(10);
  }

  @Test
  void debt_outOfRange_isRefused() {
    Limits.Builder builder = Limits.builder(Catalogue.of(named(1, "A")));
    for (int bursts : new int[] {-1, 11}) {
      assertThatThrownBy(() -> builder.debt("A", bursts))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("debt of A: found %s, expected 0 to 10 bursts".formatted(bursts));
    }
    assertThatThrownBy(() -> builder.debt("B", 1)).isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void penalties_cannotBeTakenAwayFromOutside() {
    LimitName name = NAMES.get(IP_LIMIT);
    Penalty penalty = new Penalty(name, "192.0.2.7", Instant.EPOCH, 0, "");
    Limits limits = Limits.builder(NAMES).build().withPenalties(List.of(penalty));
    assertThatThrownBy(() -> limits.penaltiesOf(name).clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThat(limits.penaltiesOf(name)).containsExactly(penalty);
  }
}
