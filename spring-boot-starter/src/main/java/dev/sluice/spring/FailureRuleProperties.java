// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.bind.Binder;

/** Reads {@code sluice.on-failure}. */
final class FailureRuleProperties {

  private static final Pattern LOCAL = Pattern.compile("local(?:/([1-9][0-9]{0,5}))?");

  private FailureRuleProperties() {}

  static void apply(
      SluiceProperties.OnFailure properties,
      Limits limits,
      Limiter.Builder limiter,
      Binder binder) {
    List<String> problems = new ArrayList<>();
    try {
      limiter.onFailure(parse(properties.others()));
    } catch (IllegalArgumentException e) {
      problems.add("sluice.on-failure.default: " + e.getMessage());
    }
    RelaxedNames names =
        new RelaxedNames(limits.catalogue().names().stream().map(LimitName::name).toList());
    names
        .keys(properties.limits(), "sluice.on-failure.limits", binder)
        .forEach(
            (name, rule) -> {
              try {
                limiter.onFailure(limits.catalogue().get(name), parse(rule));
              } catch (IllegalArgumentException e) {
                problems.add("sluice.on-failure.limits.%s: %s".formatted(name, e.getMessage()));
              }
            });
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems, "Write fail, allow, deny, local or local/PROCESSES for a configured limit.");
    }
  }

  private static FailureRule parse(String text) {
    Matcher local = LOCAL.matcher(text);
    if (local.matches()) {
      String processes = local.group(1);
      return FailureRule.local(processes == null ? 1 : Integer.parseInt(processes));
    }
    return switch (text) {
      case "fail" -> FailureRule.fail();
      case "allow" -> FailureRule.allow();
      case "deny" -> FailureRule.deny();
      default ->
          throw new IllegalArgumentException(
              "found \"%s\", expected fail, allow, deny, local or local/PROCESSES".formatted(text));
    };
  }
}
