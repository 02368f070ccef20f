// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.test.context.SpringBootTestContextBootstrapper;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;

/** Finds the application of a {@link SluiceTest}, and reads {@link SluiceTest#properties}. */
final class SluiceTestBootstrapper extends SpringBootTestContextBootstrapper {

  @Override
  protected String @Nullable [] getProperties(Class<?> testClass) {
    return MergedAnnotations.from(testClass, SearchStrategy.INHERITED_ANNOTATIONS)
        .get(SluiceTest.class)
        .getValue("properties", String[].class)
        .orElse(null);
  }
}
