// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.web.Rule;
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

/** Matches if there are rules for a filter: in properties, in a rule file, or as beans. */
final class OnFilterRules extends AnyNestedCondition {

  OnFilterRules() {
    super(ConfigurationPhase.REGISTER_BEAN);
  }

  @Conditional(OnRuleProperties.class)
  static class InProperties {}

  @ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "rules")
  static class InABook {}

  @ConditionalOnBean(Rule.class)
  static class AsBeans {}

  static final class OnRuleProperties extends SpringBootCondition {
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
