// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rules;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.Fields;
import dev.sluice.yaml.Node;
import dev.sluice.yaml.Problems;
import dev.sluice.yaml.Values;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A file of rules: a map with the one field {@code rules}, a list. Stateless. */
final class RuleBookFile implements CompanionFile<RuleBook> {

  private static final String RULES = "rules";

  @Override
  public Class<RuleBook> type() {
    return RuleBook.class;
  }

  @Override
  public String expected() {
    return "a map with the one field rules: a list of rules";
  }

  @Override
  public @Nullable RuleBook read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Node list = Fields.of(map, root, List.of(RULES), problems).require(RULES);
    List<AnyRule> rules = new ArrayList<>();
    Node.Sequence sequence = Values.list(list, "a list of rules", problems);
    if (sequence != null) {
      RuleReader reader = new RuleReader(new LimitReferences(limits, known, problems), problems);
      for (Node item : sequence.items()) {
        AnyRule rule = reader.read(item);
        if (rule != null) {
          rules.add(rule);
        }
      }
      if (sequence.items().isEmpty()) {
        problems.mistake(
            sequence,
            "found an empty list, expected at least one rule: an empty book limits nothing");
      }
    }
    if (problems.mistaken()) {
      return null;
    }
    warnOfCovered(rules, ((Node.Sequence) Objects.requireNonNull(list)).items(), problems);
    return new RuleBook(file, root, rules);
  }

  /** A debt that a rule makes is meant: no limiter of this generation forgives it. */
  @Override
  public Limits joined(Limits limits, RuleBook book) {
    return limits.withDebts(book.owing(), Excess.DEEPEST_DEBT).with(type(), book);
  }

  /** Compares only rules that could meet: there may be thousands. */
  private static void warnOfCovered(List<AnyRule> rules, List<Node> items, Problems problems) {
    Map<Object, List<AnyRule>> alike = new HashMap<>();
    for (int i = 0; i < rules.size(); i++) {
      AnyRule rule = rules.get(i);
      Object kind = rule instanceof DescriptorRule descriptor ? descriptor.keys() : "requests";
      List<AnyRule> earlier = alike.computeIfAbsent(kind, k -> new ArrayList<>());
      Optional<AnyRule> first = earlier.stream().filter(one -> one.covers(rule)).findFirst();
      if (first.isPresent()) {
        problems.warning(
            items.get(i),
            "found a rule that never decides: the one on line %s comes first, and matches whatever this one does"
                .formatted(first.get().line()));
      } else {
        earlier.add(rule);
      }
    }
  }
}
