// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import static dev.sluice.limit.IdFormat.Strictness.LENIENT;
import static dev.sluice.limit.IdFormat.Strictness.STRICT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class JoinedFormatTest {

  private static final IdFormat IP_AND_USER =
      IdFormat.joined(IdFormat.ipAddress(), IdFormat.string());
  private static final IdFormat TENANT_AND_USER =
      IdFormat.joined(IdFormat.string(), IdFormat.string());

  @Test
  void canonical_eachPart_isMadeCanonical() {
    assertThat(IP_AND_USER.canonical("192.0.2.1:alice", LENIENT)).isEqualTo("192.0.2.1:alice");
    assertThat(IP_AND_USER.canonical("[2001:DB8:0::1]:alice", LENIENT))
        .isEqualTo("[2001:db8::1]:alice");
    assertThat(IP_AND_USER.canonical("192.0.2.1:al:ice", LENIENT)).isEqualTo("192.0.2.1:al:ice");
  }

  @Test
  void canonical_wrongPart_saysWhich() {
    assertRefused(IP_AND_USER, "alice:192.0.2.1", "not an IP address");
    assertRefused(IP_AND_USER, "192.0.2.1", "1 of the 2 parts");
    assertRefused(IP_AND_USER, "192.0.2.1:", "the id is empty");
    assertRefused(IP_AND_USER, ":alice", "the id is empty");
    assertRefused(
        IP_AND_USER,
        "2001:db8::1:alice",
        "invalid ipAddress, \"2001\" is not an IP address; it is part 1 of the form"
            + " ipAddress:string, where an IPv6 address needs brackets");
    assertRefused(
        IP_AND_USER, "alice", "invalid id, found 1 of the 2 parts of the form ipAddress:string");
    assertRefused(IP_AND_USER, "[2001:db8::1:alice", "not an IP address");
    assertRefused(IP_AND_USER, "[192.0.2.1]x:alice", "not an IP address");
    assertThatThrownBy(() -> IP_AND_USER.canonical("[2602:80A::1]:alice", STRICT))
        .hasMessageContaining("canonical");
  }

  private static void assertRefused(IdFormat format, String text, String message) {
    assertThatThrownBy(() -> format.canonical(text, LENIENT))
        .as(text)
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining(message);
  }

  @Test
  void join_separatorInAPartThatIsNotTheLast_isRefused() {
    assertThatThrownBy(() -> TENANT_AND_USER.join(List.of("a:b", "c"), LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("only the last part may have one");
    assertThat(TENANT_AND_USER.join(List.of("a", "b:c"), LENIENT)).isEqualTo("a:b:c");
  }

  @Test
  void join_wrongNumberOfParts_isRefused() {
    for (List<String> parts : List.of(List.<String>of(), List.of("a"), List.of("a", "b", "c"))) {
      assertThatThrownBy(() -> TENANT_AND_USER.join(parts, LENIENT))
          .isInstanceOf(InvalidIdException.class)
          .hasMessageContaining("of the 2 parts");
    }
  }

  @Test
  void join_longerThanAnId_isRefused() {
    assertThatThrownBy(
            () -> TENANT_AND_USER.join(List.of("a".repeat(600), "b".repeat(600)), LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessage(
            "the id has 1201 characters, expected an id of the form string:string of at most 1024"
                + " characters");
  }

  /** No two lists of parts make one id, or one user could spend from another's bucket. */
  @Test
  void join_randomParts_areNeverForged() {
    String alphabet = "a:[]1.";
    Random random = new Random(17);
    Map<String, List<String>> byId = new HashMap<>();
    for (int i = 0; i < 50_000; i++) {
      List<String> parts = List.of(text(random, alphabet), text(random, alphabet));
      for (IdFormat format : List.of(IP_AND_USER, TENANT_AND_USER)) {
        String id;
        try {
          id = format.join(parts, LENIENT);
        } catch (InvalidIdException e) {
          continue;
        }
        assertThat(byId.merge(format.name() + " " + id, parts, (before, now) -> before))
            .as(id)
            .isEqualTo(parts);
        assertThat(format.canonical(id, LENIENT)).as("read back").isEqualTo(id);
      }
    }
    assertThat(byId).hasSizeGreaterThan(1_000);
  }

  private static String text(Random random, String alphabet) {
    StringBuilder text = new StringBuilder();
    for (int length = random.nextInt(6); length > 0; length--) {
      text.append(alphabet.charAt(random.nextInt(alphabet.length())));
    }
    return text.toString();
  }

  @Test
  void joined_onePartOrNested_isRefused() {
    assertThatThrownBy(() -> IdFormat.joined(IdFormat.string()))
        .hasMessageContaining("found 1, expected at least 2");
    assertThatThrownBy(() -> IdFormat.joined(IdFormat.string(), TENANT_AND_USER))
        .hasMessageContaining("not joined themselves");
  }
}
