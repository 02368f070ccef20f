// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharging.Charged;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The format of a rule book file: a map with the field {@code rules}, a list of rules, and
 * optionally the field {@code rulesOnly}, a list of domains whose descriptors are limited by rules
 * only.
 */
final class RuleBookFile implements CompanionReader<RuleBook> {

  static final String RULES = "rules";
  private static final String RULES_ONLY = "rulesOnly";
  static final List<String> SECTIONS =
      Stream.concat(Stream.of(RULES_ONLY, RULES), RuleReader.COMPARING.stream()).toList();

  /** The largest number of rule comparisons in a search for warnings; that many take about 1 s. */
  private static final int MOST_COMPARED = 5_000_000;

  private final MissingDefault onMissing;
  private final boolean requestsAlone;

  /**
   * Makes a reader of rule books.
   *
   * @param onMissing what to do with a rule whose limit has no default
   * @param requestsAlone whether to ignore rules for descriptors, with a warning
   */
  RuleBookFile(MissingDefault onMissing, boolean requestsAlone) {
    this.onMissing = Objects.requireNonNull(onMissing, "onMissing");
    this.requestsAlone = requestsAlone;
  }

  @Override
  public Class<RuleBook> type() {
    return RuleBook.class;
  }

  @Override
  public List<String> sections() {
    return SECTIONS;
  }

  @Override
  public String expected() {
    return "a map with the field rules: a list of rules";
  }

  @Override
  public @Nullable RuleBook read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Fields fields = Fields.of(map, root, sections(), problems);
    Node list = fields.require(RULES);
    List<AnyRule> rules = new ArrayList<>();
    Set<String> named = new LinkedHashSet<>();
    Node.Sequence sequence = Values.list(list, "a list of rules", problems);
    if (sequence != null) {
      LimitReferences references = new LimitReferences(limits, known, onMissing, named, problems);
      RuleReader reader = new RuleReader(fields, references, problems);
      for (Node item : sequence.items()) {
        AnyRule rule = reader.read(item);
        if (rule != null) {
          rules.add(rule);
        }
      }
      reader.end();
      if (sequence.items().isEmpty()) {
        problems.mistake(
            sequence,
            "found an empty list, expected at least one rule: a rule book without rules limits nothing");
      }
    }
    boolean whole = sequence != null && sequence.items().size() == rules.size();
    Set<String> rulesOnly = rulesOnly(fields.find(RULES_ONLY), whole ? rules : List.of(), problems);
    if (problems.mistaken()) {
      return null;
    }
    List<Node> items = ((Node.Sequence) Objects.requireNonNull(list)).items();
    warnOfCovered(rules, items, problems);
    warnOfSkippedIpv4(rules, items, problems);
    if (requestsAlone) {
      warnOfDescriptors(rules, items, problems);
    }
    RuleBook book = new RuleBook(file, root, rules, rulesOnly, named);
    if (known) {
      warnOfUnasked(book, rules, items, limits, problems);
    }
    return book;
  }

  /** Warns about rules that let IPv4 clients pass uncharged, since each id has an IPv6 range. */
  private static void warnOfSkippedIpv4(List<AnyRule> rules, List<Node> items, Problems problems) {
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i).skipsIpv4()) {
        problems.warning(
            items.get(i),
            "found a rule that does not limit IPv4 clients, since each id has an IPv6 range: add a limit for IPv4 clients, or let the rule match only IPv6 addresses (clients: \"::/0\", or an entry with the value \"*:*\")");
      }
    }
  }

  /** Adds one warning for all rules for descriptors, since a book can have thousands of them. */
  private static void warnOfDescriptors(List<AnyRule> rules, List<Node> items, Problems problems) {
    List<Integer> ignored =
        IntStream.range(0, rules.size())
            .filter(i -> rules.get(i) instanceof DescriptorRule)
            .boxed()
            .toList();
    if (!ignored.isEmpty()) {
      problems.warning(
          items.get(ignored.get(0)),
          "found %s for descriptors, expected rules for requests: this program receives no descriptors, so %s ignored"
              .formatted(
                  ignored.size() == 1 ? "a rule" : ignored.size() + " rules",
                  ignored.size() == 1 ? "it is" : "they are"));
    }
  }

  /** Adds one warning for each limit, since a table can have thousands of similar overrides. */
  private static void warnOfUnasked(
      RuleBook book, List<AnyRule> rules, List<Node> items, Limits limits, Problems problems) {
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < rules.size(); i++) {
      for (Charged<?> charged : rules.get(i).charging().limits()) {
        LimitName name = limits.catalogue().find(charged.limit());
        if (name != null && seen.add(charged.limit())) {
          List<String> doubts =
              limits.overridesOf(name).stream()
                  .sorted(Comparator.comparing(LimitOverride::id))
                  .map(book::doubt)
                  .filter(Objects::nonNull)
                  .map(Objects::requireNonNull)
                  .toList();
          if (!doubts.isEmpty()) {
            problems.warning(
                items.get(i),
                "found an override that never applies, since no rule produces its id: %s%s"
                    .formatted(
                        doubts.get(0),
                        doubts.size() == 1
                            ? ""
                            : "; more such overrides: %s".formatted(doubts.size() - 1)));
          }
        }
      }
    }
  }

  /**
   * Parses {@code rulesOnly}, and requires that each domain has rules.
   *
   * @param rules all rules of the file; empty if some have mistakes
   */
  private static Set<String> rulesOnly(
      @Nullable Node node, List<AnyRule> rules, Problems problems) {
    Set<String> domains = new LinkedHashSet<>();
    Node.Sequence list = Values.list(node, "a list of domains", problems);
    if (list == null) {
      return domains;
    }
    Set<String> ofRules = new TreeSet<>();
    boolean forAny = rules.isEmpty();
    for (AnyRule rule : rules) {
      if (rule instanceof DescriptorRule descriptor) {
        forAny |= descriptor.domain() == null;
        ofRules.add(Objects.requireNonNullElse(descriptor.domain(), ""));
      }
    }
    for (Node item : list.items()) {
      String domain = Values.text(item, "a domain", problems);
      if (domain == null) {
        continue;
      }
      RuleReader.warnOfStar(item, domain, problems);
      if (!domains.add(domain)) {
        problems.mistake(
            item, "found the domain %s again, expected it once".formatted(SafeText.quote(domain)));
      } else if (!forAny && !ofRules.contains(domain)) {
        problems.mistake(
            item,
            "found the domain %s, expected the domain of a rule%s"
                .formatted(SafeText.quote(domain), Suggestion.didYouMean(domain, ofRules)));
      }
    }
    if (list.items().isEmpty()) {
      problems.mistake(list, "found an empty list, expected at least one domain");
    }
    return domains;
  }

  /** Warns about rules that never decide, comparing only rules that can match the same request. */
  private static void warnOfCovered(List<AnyRule> rules, List<Node> items, Problems problems) {
    RuleFinder earlier = new RuleFinder();
    int[] compared = {0};
    for (int i = 0; i < rules.size() && compared[0] <= MOST_COMPARED; i++) {
      AnyRule rule = rules.get(i);
      AnyRule first = earlier.covering(rule, () -> ++compared[0] <= MOST_COMPARED);
      if (first != null) {
        problems.warning(
            items.get(i),
            "found a rule that never decides: the rule on line %s comes first and matches everything that this rule matches"
                .formatted(first.line()));
      } else if (compared[0] > MOST_COMPARED) {
        problems.warning(
            items.get(i),
            "found too many rules with patterns: from this rule on, rules that never decide are not reported");
      }
      earlier.add(rule);
    }
  }
}
