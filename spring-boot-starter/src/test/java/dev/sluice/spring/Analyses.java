// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.Environment;
import org.springframework.core.env.StandardEnvironment;

/** What the starter says of a start that failed. */
final class Analyses {

  private Analyses() {}

  static FailureAnalysis of(@Nullable Throwable failure) {
    return of(failure, new StandardEnvironment());
  }

  static FailureAnalysis of(@Nullable Throwable failure, Environment environment) {
    return of(failure, environment, new StaticListableBeanFactory());
  }

  static FailureAnalysis of(
      @Nullable Throwable failure, Environment environment, BeanFactory beans) {
    FailureAnalysis analysis =
        failure == null ? null : new SluiceFailureAnalyzer(beans, environment).analyze(failure);
    assertThat(analysis).as("analysis of %s", failure).isNotNull();
    return analysis;
  }
}
