// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class LimitNameTest {

  private static final Quota QUOTA = Quota.burst(10).refill(5, Duration.ofDays(7));

  private static LimitName joined(String message) {
    return LimitName.builder(7, "PerUser")
        .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.integer(), IdFormat.string()))
        .message(message)
        .build();
  }

  @Test
  void denial_placeholders_areFilledIn() {
    assertThat(
            joined("{burst} {count} {period} {goPeriod} {rate} {id} {id.1} {id.2} {id.3}")
                .denial(QUOTA, "[2001:db8::1]:-5:a:b"))
        .isEqualTo(
            "10 5 168h 168h0m0s 5 per 168h, 10 at once [2001:db8::1]:-5:a:b [2001:db8::1] -5 a:b");
  }

  @Test
  void denial_idThatLooksLikeATemplate_isNotFilledInAgain() {
    assertThat(joined("for {id.3}").denial(QUOTA, "192.0.2.1:5:{burst}$1\\"))
        .isEqualTo("for {burst}$1\\");
  }

  @Test
  void denial_noMessageDeclared_namesTheLimit() {
    assertThat(LimitName.builder(7, "PerUser").build().denial(QUOTA, "bob"))
        .isEqualTo("denied: at most 5 per 168h, 10 at once (PerUser)");
  }

  @Test
  void bucketKey_withoutNumber_beginsWithTheName() {
    LimitName name = LimitName.builder("PerUser").build();
    assertThat(name.number()).isNull();
    assertThat(name.bucketKey("bob")).isEqualTo("PerUser:bob");
    assertThat(name.idOf("PerUser:bob")).isEqualTo("bob");
    assertThat(name.keyOf("bob", Strictness.STRICT)).isEqualTo("PerUser:bob");
    assertThatThrownBy(() -> name.idOf("7:bob"))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("expected a key of PerUser, which starts with \"PerUser:\"");
    assertThat(name)
        .isEqualTo(LimitName.builder("PerUser").build())
        .isNotEqualTo(LimitName.builder(7, "PerUser").build());
  }

  /** The keys of trials begin so: the bucket of a trial of X would be that of shadow-X. */
  @Test
  void builder_nameWithoutNumberThatBeginsLikeATrialsBucket_isRefused() {
    assertThatThrownBy(() -> LimitName.builder("shadow-Calls"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "name: found \"shadow-Calls\", but the bucket keys of trials begin with \"shadow-\";"
                + " give the limit a number, or choose another name");
    assertThat(LimitName.builder(7, "shadow-Calls").build().bucketKey("a")).isEqualTo("7:a");
    assertThat(LimitName.builder("shadow").build().bucketKey("a")).isEqualTo("shadow:a");
  }

  @Test
  void message_unknownPlaceholder_isRefused() {
    for (String template : List.of("{brust}", "{}", "{id.0}", "{id.10}", "{ id }")) {
      assertThatThrownBy(() -> LimitName.builder(7, "PerUser").message(template))
          .as(template)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("found " + template, "expected one of {burst}");
    }
  }

  @Test
  void build_partThatTheIdHasNot_isRefused() {
    assertThatThrownBy(() -> joined("{id.4}")).hasMessageContaining("have only 3 part(s)");
    assertThatThrownBy(() -> LimitName.builder(7, "PerUser").message("{id.2}").build())
        .hasMessageContaining("have only 1 part(s)");
  }

  @Test
  void builder_numberOfSluicesOwnDoors_isRefused() {
    for (int number : List.of(2_000_000_000, 2_000_000_001, 2_000_000_099)) {
      assertThatThrownBy(() -> LimitName.builder(number, "A"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("number: found " + number + ", expected another number");
    }
    assertThat(LimitName.builder(1_999_999_999, "A").build().number()).isEqualTo(1_999_999_999);
    assertThat(LimitName.builder(2_000_000_100, "A").build().number()).isEqualTo(2_000_000_100);
  }

  /** Else the door would find its limit under a number that it does not expect. */
  @Test
  void builder_nameOfSluicesOwnDoors_isRefused() {
    for (String name : List.of("cl.throttle", "rls.override", "reservation.cancel")) {
      String expected = "name: found \"%s\", expected another name".formatted(name);
      assertThatThrownBy(() -> LimitName.builder(name)).hasMessageContaining(expected);
      assertThatThrownBy(() -> LimitName.builder(7, name)).hasMessageContaining(expected);
    }
    assertThat(LimitName.builder(2_000_000_001, "cl.throttle").build().name())
        .isEqualTo("cl.throttle");
  }

  @Test
  void builder_numberOrNameOutOfRange_isRefused() {
    assertThatThrownBy(() -> LimitName.builder(0, "A")).hasMessageContaining("number: found 0");
    for (String name : List.of("", "1A", "A B", "A:B", "Ä", "A\n", "a".repeat(101))) {
      assertThatThrownBy(() -> LimitName.builder(1, name))
          .as(name)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("name: found");
    }
  }

  @Test
  void overrideId_longerThanTheId_isRefused() {
    assertThatThrownBy(
            () ->
                LimitName.builder(7, "PerUser")
                    .overrideId(IdFormat.joined(IdFormat.string(), IdFormat.string()))
                    .build())
        .hasMessageContaining("overrideId: found string:string");
  }

  @Test
  void keyOf_overrideByPrefix_understandsBothForms() {
    LimitName name =
        LimitName.builder(4, "FailedPerAccount")
            .id(IdFormat.joined(IdFormat.regId(), IdFormat.string()))
            .overrideId(IdFormat.regId())
            .build();
    assertThat(name.keyOf("0017", Strictness.LENIENT)).isEqualTo("4:17");
    assertThat(name.keyOf("0017:example.com", Strictness.LENIENT)).isEqualTo("4:17:example.com");
    assertThatThrownBy(() -> name.keyOf("12ea5", Strictness.LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("regId");
  }

  @Test
  void keyOf_firstPartsThatContainAColon_isTheKeyThatOverrideIdOfReads() {
    LimitName atAddress =
        LimitName.builder(4, "PerUserAtIp")
            .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.string()))
            .overrideId(IdFormat.ipAddress())
            .build();
    assertThat(atAddress.keyOf("2001:DB8::1", Strictness.LENIENT)).isEqualTo("4:2001:db8::1");
    assertThat(atAddress.overrideIdOf("4:2001:db8::1")).isEqualTo("2001:db8::1");
    assertThat(atAddress.keyOf("192.0.2.1:a", Strictness.LENIENT)).isEqualTo("4:192.0.2.1:a");
    assertThat(atAddress.keyOf("[2001:DB8::1]:a", Strictness.LENIENT))
        .isEqualTo("4:[2001:db8::1]:a");
    assertThatThrownBy(() -> atAddress.keyOf("192.0.2.999:a", Strictness.LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("it is part 1 of the form ipAddress:string");
    LimitName three =
        LimitName.builder(5, "Three")
            .id(IdFormat.joined(IdFormat.string(), IdFormat.string(), IdFormat.string()))
            .overrideId(IdFormat.joined(IdFormat.string(), IdFormat.string()))
            .build();
    assertThat(three.keyOf("a:b", Strictness.STRICT)).isEqualTo("5:a:b");
    assertThat(three.keyOf("a:b:c", Strictness.STRICT)).isEqualTo("5:a:b:c");
    LimitName first =
        LimitName.builder(6, "First")
            .id(IdFormat.joined(IdFormat.string(), IdFormat.string(), IdFormat.string()))
            .overrideId(IdFormat.string())
            .build();
    assertThatThrownBy(() -> first.keyOf("a:b", Strictness.STRICT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("2 of the 3 parts");
  }

  @Test
  void name_answersAsItWasDeclared() {
    LimitName name =
        LimitName.builder(7, "A")
            .id(IdFormat.uuid())
            .message("too many")
            .helpLink("https://example.com/help")
            .jitter(1)
            .longestWait(Duration.ofNanos(Long.MAX_VALUE))
            .build();
    assertThat(name.id()).isEqualTo(IdFormat.uuid());
    assertThat(name.message()).isEqualTo("too many");
    assertThat(name.helpLink()).isEqualTo("https://example.com/help");
    assertThat(name.jitter()).isEqualTo(1);
    assertThat(name.longestWait()).isEqualTo(Duration.ofNanos(Long.MAX_VALUE));
    assertThat(LimitName.builder(7, "A").jitter(0).build().jitter()).isZero();
    assertThat(name).isNotEqualTo(LimitName.builder(7, "B").build());
    assertThat(name).isNotEqualTo(LimitName.builder(8, "A").build());
  }

  @Test
  void builder_helpThatIsNoLink_isRefused() {
    LimitName.Builder builder = LimitName.builder(7, "A");
    for (String text : List.of("", "ask Ann", "see <b>", "/limits", "https://e.com/\r\na: b")) {
      assertThatThrownBy(() -> builder.helpLink(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("helpLink: found \"")
          .hasMessageEndingWith("\", expected a link such as https://example.com/limits");
    }
  }

  @Test
  void builder_jitterOrWaitOutOfRange_isRefused() {
    LimitName.Builder builder = LimitName.builder(7, "A");
    for (double share : new double[] {-0.01, 1.01, Double.NaN}) {
      assertThatThrownBy(() -> builder.jitter(share)).hasMessageContaining("jitter: found");
    }
    Duration longer = Duration.ofNanos(Long.MAX_VALUE).plusNanos(1);
    for (Duration wait : List.of(Duration.ofNanos(-1), longer)) {
      assertThatThrownBy(() -> builder.longestWait(wait))
          .hasMessageContaining("longestWait: found");
    }
    assertThat(builder.longestWait(Duration.ZERO).build().longestWait()).isZero();
  }

  @Test
  void overrideIdOf_isTheOtherWayOfBucketKey() {
    LimitName plain = LimitName.builder(7, "A").id(IdFormat.ipAddress()).build();
    assertThat(plain.overrideIdOf("7:2001:db8::1")).isEqualTo("2001:db8::1");
    assertThatThrownBy(() -> plain.overrideIdOf("8:192.0.2.1"))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("starts with \"7:\"");
    assertThatThrownBy(() -> plain.overrideIdOf("7:2001:DB8::1"))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("canonical form \"7:2001:db8::1\"");
    LimitName byPrefix =
        LimitName.builder(7, "A")
            .id(IdFormat.joined(IdFormat.string(), IdFormat.string()))
            .overrideId(IdFormat.string())
            .build();
    assertThat(byPrefix.overrideIdOf("7:alice")).isEqualTo("alice");
    assertThat(byPrefix.keyOf("alice", Strictness.STRICT)).isEqualTo("7:alice");
    assertThat(byPrefix.keyOf("alice:x", Strictness.STRICT)).isEqualTo("7:alice:x");
    assertThatThrownBy(() -> byPrefix.keyOf(":x", Strictness.STRICT))
        .isInstanceOf(InvalidIdException.class);
    LimitName spelled =
        LimitName.builder(7, "A").id(IdFormat.ipAddress()).overrideId(IdFormat.string()).build();
    assertThat(spelled.keyOf("a:b", Strictness.STRICT)).isEqualTo("7:a:b");
  }

  @Test
  void idOf_isTheIdOfTransactions_alsoWhereOverridesNameItsFirstPartsOnly() {
    LimitName byPrefix =
        LimitName.builder(7, "A")
            .id(IdFormat.joined(IdFormat.string(), IdFormat.ipAddress()))
            .overrideId(IdFormat.string())
            .build();
    assertThat(byPrefix.idOf("7:alice:2001:db8::1")).isEqualTo("alice:2001:db8::1");
    assertThatThrownBy(() -> byPrefix.idOf("7:alice")).isInstanceOf(InvalidIdException.class);
    assertThatThrownBy(() -> byPrefix.idOf("8:alice:192.0.2.1"))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("starts with \"7:\"");
    assertThatThrownBy(() -> byPrefix.idOf("7:alice:2001:DB8::1"))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("canonical form \"7:alice:2001:db8::1\"");
  }
}
