// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import java.util.List;

/**
 * Whatever text comes, a parser answers with a canonical text or with its one documented exception.
 *
 * <p>A build runs the inputs that are kept in the resources. To look for new ones, one method a
 * run; Jazzer then also reports an input that takes long, or reaches for the network:
 *
 * <pre>{@code
 * JAZZER_FUZZ=1 ./mvnw -pl acme -am test -Dsluice.fuzz=true
 *     -Dtest='ParsersFuzzTest#ids' -Dsurefire.failIfNoSpecifiedTests=false
 * }</pre>
 */
class ParsersFuzzTest {

  private static final List<LimitName> NAMES =
      List.copyOf(AcmeLimits.bundled().catalogue().names());

  @FuzzTest(maxDuration = "4m")
  void ids(FuzzedDataProvider data) {
    LimitName name = data.pickValue(NAMES);
    Strictness strictness = data.pickValue(Strictness.values());
    String text = data.consumeRemainingAsString();
    try {
      String canonical = name.id().canonical(text, strictness);
      assertThat(name.id().canonical(canonical, Strictness.LENIENT)).isEqualTo(canonical);
    } catch (InvalidIdException e) {
      requirePrintable(e);
    }
    try {
      String key = name.keyOf(text, strictness);
      assertThat(key).startsWith(name.number() + ":");
    } catch (InvalidIdException e) {
      requirePrintable(e);
    }
    try {
      assertThat(name.bucketKey(name.overrideIdOf(text))).isEqualTo(text);
    } catch (InvalidIdException e) {
      requirePrintable(e);
    }
  }

  @FuzzTest(maxDuration = "4m")
  void identifiers(FuzzedDataProvider data) {
    String text = data.consumeRemainingAsString();
    try {
      Identifier identifier = Identifier.parse(text);
      assertThat(Identifier.parse(identifier.value())).isEqualTo(identifier);
      List<String> covering = AcmeLimits.bundled().covering(List.of(identifier));
      assertThat(covering).hasSize(1).doesNotContain("");
    } catch (InvalidIdException e) {
      requirePrintable(e);
    }
  }

  @FuzzTest(maxDuration = "4m")
  void registeredNames(FuzzedDataProvider data) {
    String name = data.consumeRemainingAsString();
    PublicSuffixes list = PublicSuffixes.bundled();
    try {
      String registered = list.registeredName(name);
      assertThat(list.registeredName(registered)).isEqualTo(registered);
    } catch (InvalidIdException e) {
      requirePrintable(e);
    }
  }

  private static void requirePrintable(InvalidIdException e) {
    if (e.getMessage().isEmpty() || e.getMessage().chars().anyMatch(Character::isISOControl)) {
      throw new AssertionError("found the message " + e.getMessage() + ", expected printable text");
    }
  }
}
