// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleBook.Explanation;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharging;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.WebRequest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Beside the explanation, which looks at one rule after the other. */
class RuleFinderTest {

  private static final List<String> SEGMENTS = List.of("a", "b", "*", "{x}");
  private static final List<String> VALUES = List.of("a", "b", "a*", "*");

  @TempDir Path folder;

  private final Random random = new Random(7);

  private String one(List<String> of) {
    return of.get(random.nextInt(of.size()));
  }

  private RuleBook book(List<String> rules) {
    return RuleBook.of(
        RuleBookFixture.limits(folder, "rules:\n" + String.join("\n", rules).indent(2)));
  }

  /** Returns 1 if there is a rule, 0 if there is none. */
  private static int same(Optional<RuleMatch> match, Explanation explanation, List<String> rules) {
    RuleMatch explained = explanation.match();
    Integer line = explained == null ? null : explained.line();
    assertThat(match.map(RuleMatch::line).orElse(null)).as("in %s", rules).isEqualTo(line);
    return line == null ? 0 : 1;
  }

  private String path() {
    String first = random.nextInt(10) == 0 ? "" : one(SEGMENTS);
    String last = List.of("", "/a", "/**", "/*").get(random.nextInt(4));
    return "/" + (first.equals("{x}") && last.isEmpty() ? "a" : first) + last;
  }

  @Test
  void match_ofRequests_isTheRuleThatTheExplanationNames() {
    ClientAddress client = ClientAddress.direct();
    int found = 0;
    for (int books = 0; books < 40; books++) {
      List<String> rules = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        String paths =
            random.nextInt(4) == 0
                ? "['%s', '%s']".formatted(path(), "/c")
                : "'%s'".formatted(path());
        String method = random.nextBoolean() ? "" : "methods: [POST], ";
        rules.add("- {%spath: %s, unlimited: true}".formatted(method, paths));
      }
      RuleBook book = book(rules);
      for (String path : List.of("/", "/a", "/b", "/c", "/a/a", "/b/x", "//a", "/a/b/c", "/d/a")) {
        for (String method : List.of("GET", "POST")) {
          PlainRequest request = WebRequest.builder(method, path).peer("192.0.2.7").build();
          found +=
              same(
                  book.match(request, client),
                  book.explain(new RequestFacts(request, client)),
                  rules);
        }
      }
    }
    assertThat(found).isBetween(300, 700);
  }

  @Test
  void match_ofDescriptors_isTheRuleThatTheExplanationNames() {
    int found = 0;
    for (int books = 0; books < 40; books++) {
      List<String> rules = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        String domain = random.nextBoolean() ? "" : "domain: " + one(List.of("one", "two")) + ", ";
        String second = random.nextBoolean() ? "" : ", l: '%s'".formatted(one(VALUES));
        rules.add(
            "- {%sentries: [k: '%s'%s], unlimited: true}".formatted(domain, one(VALUES), second));
      }
      RuleBook book = book(rules);
      for (String domain : List.of("one", "two", "three")) {
        for (String value : List.of("a", "b", "ab", "c")) {
          for (String other : List.of("", "a", "bc")) {
            List<DescriptorEntry> entries =
                new ArrayList<>(List.of(new DescriptorEntry("k", value)));
            if (!other.isEmpty()) {
              entries.add(new DescriptorEntry("l", other));
            }
            found += same(book.match(domain, entries), book.explain(domain, entries), rules);
          }
        }
      }
    }
    assertThat(found).isBetween(500, 1_400);
  }

  @Test
  void covering_amongManyPlainRules_comparesHardlyAny() {
    RuleFinder finder = new RuleFinder();
    List<AnyRule> rules = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      rules.add(descriptor("v" + i));
    }
    rules.add(descriptor("v7"));
    int[] compared = {0};
    AnyRule covering = null;
    for (AnyRule rule : rules) {
      covering = finder.covering(rule, () -> ++compared[0] > 0);
      finder.add(rule);
    }
    assertThat(covering).isSameAs(rules.get(7));
    assertThat(compared[0]).isEqualTo(1);
  }

  @Test
  void covering_whereNoComparisonIsAllowed_ends() {
    RuleFinder finder = new RuleFinder();
    finder.add(descriptor("a"));
    assertThat(finder.covering(descriptor("a"), () -> true)).isNotNull();
    assertThat(finder.covering(descriptor("a"), () -> false)).isNull();
  }

  private DescriptorRule descriptor(String value) {
    return new DescriptorRule(
        null,
        List.of(new DescriptorRule.Wanted("k", ValuePattern.parse(value))),
        List.of(),
        new RuleCharging<>(1, RuleMatch.Verdict.UNLIMITED, List.of()));
  }
}
