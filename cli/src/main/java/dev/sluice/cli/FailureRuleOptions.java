// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.FailureRule;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** The rules while the store can't decide: for all limits, and for single ones. */
final class FailureRuleOptions {

  private static final String LOCAL = "local:";

  @Option(
      names = "--on-failure",
      paramLabel = "[LIMIT=]RULE",
      split = ",",
      description = {
        "The outcome of a check or spend when the store can't decide: fail (an error, what holds"
            + " without this), allow, deny, or local:N (decided in memory, by a share of 1/N, for N"
            + " processes).",
        "With LIMIT= for that limit only; may be repeated."
      })
  private List<String> onFailure = List.of();

  /** The limits that are named, which should not be missing. */
  List<Requirement> requirements(MissingDefault onMissing) {
    return onFailure.stream()
        .filter(option -> option.indexOf('=') > 0)
        .map(option -> option.substring(0, option.indexOf('=')))
        .distinct()
        .map(limit -> new Requirement(limit, "--on-failure", onMissing))
        .toList();
  }

  /** What throws for a rule that is wrong, whatever the others are. */
  List<Supplier<?>> each() {
    return onFailure.stream()
        .<Supplier<?>>map(option -> () -> rule(option, option.substring(option.indexOf('=') + 1)))
        .toList();
  }

  /**
   * The rules by limit; that of all others has the empty name.
   *
   * @throws InputException if one is none, or stands there twice
   */
  Map<String, FailureRule> all() {
    Map<String, FailureRule> rules = new LinkedHashMap<>();
    for (String option : onFailure) {
      int equals = option.indexOf('=');
      String limit = equals < 0 ? "" : option.substring(0, equals);
      if (rules.put(limit, rule(option, option.substring(equals + 1))) != null) {
        throw new InputException(
            "--on-failure: found %s twice, expected one rule"
                .formatted(limit.isEmpty() ? "a rule for all limits" : limit));
      }
    }
    return rules;
  }

  private static FailureRule rule(String option, String rule) {
    return switch (rule) {
      case "fail" -> FailureRule.fail();
      case "allow" -> FailureRule.allow();
      case "deny" -> FailureRule.deny();
      default -> {
        if (rule.matches(LOCAL + "[1-9][0-9]{0,5}")) {
          yield FailureRule.local(Integer.parseInt(rule.substring(LOCAL.length())));
        }
        throw new InputException(
            "--on-failure: found \"%s\", expected fail, allow, deny, or local:N for N processes that"
                    .formatted(option)
                + " share the limits, such as local:4; for a single limit with its name before it,"
                + " such as LoginsPerIPAddress=deny");
      }
    };
  }
}
