// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.LimitPropertiesException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * Reports all mistakes in properties, limits, rules and annotations at once, not only those of the
 * bean that failed first, and what to do. Runs before Spring Boot's analyzers, which know less
 * about failures to bind properties.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class SluiceFailureAnalyzer implements FailureAnalyzer {

  private final Environment environment;

  SluiceFailureAnalyzer(Environment environment) {
    this.environment = environment;
  }

  @Override
  public @Nullable FailureAnalysis analyze(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      String action = action(cause);
      if (action != null) {
        List<String> problems =
            new ArrayList<>(String.valueOf(cause.getMessage()).lines().toList());
        List<String> more =
            Mistakes.in(environment).stream()
                .filter(mistake -> problems.stream().noneMatch(mistake::endsWith))
                .toList();
        problems.addAll(more);
        return new FailureAnalysis(
            "The rate limits are not usable:\n\n" + String.join("\n", problems),
            more.isEmpty() ? action : action + "\nCorrect the others too: docs/spring.md.",
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
      return "Correct the properties. Each line begins with the name of the one that is wrong. Declare names of your own in sluice.names.";
    }
    if (cause instanceof LimitFilesException) {
      return "Correct the limit files. Each line begins with file, line and column; `sluice lint`"
          + " finds the same mistakes.";
    }
    return null;
  }
}
