// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.LimitPropertiesException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * Reports all mistakes in properties, limits, rules and annotations at once, with advice. Without
 * this class, only the mistakes of the first bean that failed would be reported. Runs before Spring
 * Boot's analyzers, whose reports are less complete.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class SluiceFailureAnalyzer implements FailureAnalyzer {

  private final BeanFactory beans;
  private final Environment environment;

  SluiceFailureAnalyzer(BeanFactory beans, Environment environment) {
    this.beans = beans;
    this.environment = environment;
  }

  @Override
  public @Nullable FailureAnalysis analyze(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      String action = action(cause);
      if (action != null) {
        List<String> all = Mistakes.in(environment, beans);
        List<String> problems =
            new ArrayList<>(String.valueOf(cause.getMessage()).lines().distinct().toList());
        List<String> more = all.stream().filter(mistake -> !problems.contains(mistake)).toList();
        problems.addAll(more);
        return new FailureAnalysis(
            "The rate limits are not usable:\n\n" + String.join("\n", problems),
            more.isEmpty()
                ? action
                : action + "\nCorrect the other mistakes too: docs/spring.md lists all properties.",
            cause);
      }
    }
    return null;
  }

  private static @Nullable String action(Throwable cause) {
    if (cause instanceof SluiceConfigurationException e) {
      return e.action();
    }
    if (cause instanceof LimitPropertiesException) {
      return "Correct the properties. Each line begins with the name of the property. Set the id"
          + " format of your own limits, such as sluice.limits.NAME.id=string.";
    }
    if (cause instanceof LimitFilesException) {
      return "Correct the limit files. Each line begins with file, line and column; `sluice lint`"
          + " finds the same mistakes.";
    }
    return null;
  }
}
