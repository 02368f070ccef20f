// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.LimitPropertiesException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Says what is wrong with limits, rules and annotations, and what to do. Comes before those of
 * Spring Boot, which know less of what went wrong while properties were bound.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class SluiceFailureAnalyzer implements FailureAnalyzer {

  @Override
  public @Nullable FailureAnalysis analyze(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      String action = action(cause);
      if (action != null) {
        return new FailureAnalysis(
            "The rate limits are not usable:\n\n" + cause.getMessage(), action, cause);
      }
    }
    return null;
  }

  private static @Nullable String action(Throwable cause) {
    if (cause instanceof SluiceConfigurationException e) {
      return e.action();
    }
    if (cause instanceof LimitPropertiesException) {
      return "Correct the properties. Each line begins with the name of the one that is wrong. Names of"
          + " your own stand in sluice.names.";
    }
    if (cause instanceof LimitFilesException) {
      return "Correct the limit files. Each line begins with file, line and column; `sluice lint`"
          + " finds the same mistakes.";
    }
    return null;
  }
}
