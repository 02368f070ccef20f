// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.rules.RuleBook;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.Rule;
import dev.sluice.web.RuleBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Parses the rules of {@code sluice.filter}. */
final class FilterRules {

  static final String BOOK_AND_RULES = "sluice.rules: found a rule book and sluice.filter.rules";

  private static final String OWN_LIMITS =
      " Set the id format of your own limits, such as sluice.limits.NAME.id=string.";

  private FilterRules() {}

  /** Adds the rules of the file in {@code sluice.rules}, or the rules in properties and beans. */
  static void addTo(
      RuleBuilder<?> builder, SluiceProperties properties, Limiter limiter, Stream<Rule> beans) {
    List<Rule> rules = of(properties.filter(), limiter, beans);
    if (properties.rules() == null) {
      rules.forEach(builder::rule);
      return;
    }
    if (!rules.isEmpty()) {
      throw new SluiceConfigurationException(
          List.of(
              properties.filter().rules().isEmpty()
                  ? "sluice.rules: found a rule book and beans of type Rule"
                  : BOOK_AND_RULES),
          "Keep the rules in the book (sluice.rules), or in sluice.filter.rules and beans, not in"
              + " both: in a book, only the first matching rule is charged; without a book, all"
              + " matching rules are charged.");
    }
    RuleBook book = RuleBook.of(limiter.limits().get());
    if (book.isEmpty()) {
      throw new SluiceConfigurationException(
          List.of("sluice.rules: found no rule for requests in " + properties.rules()),
          "Write at least one rule with path; rules with entries are for a proxy's descriptors.");
    }
    builder.rules(book);
  }

  /** Returns the rules of the properties, and the rules that are beans. */
  private static List<Rule> of(
      SluiceProperties.Filter filter, Limiter limiter, Stream<Rule> beans) {
    List<String> problems = new ArrayList<>();
    List<Rule> rules = parse(filter, limiter.limits().get(), limiter.missingDefault(), problems);
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems,
          "Correct the rules, or configure the limits that they name. A rule has path, limit and"
              + " id; see docs/spring.md."
              + OWN_LIMITS);
    }
    beans.forEach(rules::add);
    return rules;
  }

  /**
   * Returns the rules in the properties, without the rules that have a mistake.
   *
   * @param limits the limits that the rules must fit; null if they could not be loaded
   * @param problems a consumer that receives one line per mistake
   */
  @CanIgnoreReturnValue
  static List<Rule> parse(
      SluiceProperties.Filter filter,
      @Nullable Limits limits,
      MissingDefault missingDefault,
      List<String> problems) {
    List<Rule> rules = new ArrayList<>();
    for (int i = 0; i < filter.rules().size(); i++) {
      Rule rule = new RuleParser(filter, i, limits, missingDefault, problems).parse();
      if (rule != null) {
        rules.add(rule);
      }
    }
    return rules;
  }

  static ClientAddress clientAddress(SluiceProperties.Client properties) {
    boolean behind = properties.header() != null;
    if (behind == properties.trustedProxies().isEmpty()) {
      throw problem(
          "found one of header and trusted-proxies, expected both: the header that the proxies"
              + " write, and their addresses");
    }
    try {
      ClientAddress found =
          behind
              ? ClientAddress.behind(
                  Objects.requireNonNull(properties.header()),
                  properties.trustedProxies().toArray(String[]::new))
              : ClientAddress.direct();
      return found.groupIpv6By(properties.ipv6Prefix());
    } catch (IllegalArgumentException e) {
      throw problem(String.valueOf(e.getMessage()));
    }
  }

  private static SluiceConfigurationException problem(String message) {
    return new SluiceConfigurationException(
        List.of("sluice.filter.client-address: " + message),
        "Correct sluice.filter.client-address, or remove it if there is no proxy.");
  }

  /**
   * Builds a filter. A Rule bean that does not fit the limits is a mistake in the configuration.
   */
  static <T> T build(Supplier<T> builder) {
    try {
      return builder.get();
    } catch (IllegalArgumentException e) {
      throw new SluiceConfigurationException(
          List.of(String.valueOf(e.getMessage())),
          "Correct the Rule beans, or configure the limits that they name." + OWN_LIMITS);
    }
  }

  /** A filter of the application, which replaces Sluice's and does not read the properties. */
  record OwnFilter(SluiceProperties properties, String type) {

    OwnFilter {
      if (!properties.filter().rules().isEmpty()) {
        throw new SluiceConfigurationException(
            List.of(
                "sluice.filter.rules: found rules and a bean of type %s, which does not read these rules"
                    .formatted(type)),
            "Declare beans of type Rule in place of the filter, or give the filter all rules.");
      }
    }
  }

  /** Matches if there are rules for a filter: in properties, in a rule file, or as beans. */
  static final class Exist extends AnyNestedCondition {

    Exist() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @Conditional(RuleProperties.class)
    static class InProperties {}

    @ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "rules")
    static class InABook {}

    @ConditionalOnBean(Rule.class)
    static class AsBeans {}

    static final class RuleProperties extends SpringBootCondition {
      private static final ConfigurationPropertyName RULES =
          ConfigurationPropertyName.of("sluice.filter.rules");

      @Override
      public ConditionOutcome getMatchOutcome(
          ConditionContext context, AnnotatedTypeMetadata metadata) {
        boolean found = false;
        for (ConfigurationPropertySource source :
            ConfigurationPropertySources.get(context.getEnvironment())) {
          found |= source.containsDescendantOf(RULES) == ConfigurationPropertyState.PRESENT;
        }
        return new ConditionOutcome(found, RULES + " " + (found ? "found" : "not found"));
      }
    }
  }
}
