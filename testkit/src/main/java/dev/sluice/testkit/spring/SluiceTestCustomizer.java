// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Reduces the application context to the slice of a {@link SluiceTest}: Spring's component scan
 * finds nothing, and only the auto-configurations of {@link AutoConfigureSluice} run.
 *
 * @param components the component classes that the test lists; tests with equal lists share an
 *     application context
 */
record SluiceTestCustomizer(List<Class<?>> components) implements ContextCustomizer {

  @Override
  public void customizeContext(
      ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
    TestPropertyValues.of(EnableAutoConfiguration.ENABLED_OVERRIDE_PROPERTY + "=false")
        .applyTo(context);
    context.getBeanFactory().registerSingleton(Nothing.class.getName(), new Nothing());
    new AnnotatedBeanDefinitionReader((BeanDefinitionRegistry) context)
        .register(components.toArray(Class<?>[]::new));
  }

  /** Makes the customizer; Spring finds this class through the file {@code spring.factories}. */
  static final class Factory implements ContextCustomizerFactory {

    @Override
    public @Nullable ContextCustomizer createContextCustomizer(
        Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
      SluiceTest slice =
          TestContextAnnotationUtils.findMergedAnnotation(testClass, SluiceTest.class);
      return slice == null ? null : new SluiceTestCustomizer(List.of(slice.value()));
    }
  }

  /** Excludes all components from Spring's scan. All instances are equal. */
  private static final class Nothing extends TypeExcludeFilter {

    @Override
    public boolean match(MetadataReader reader, MetadataReaderFactory factory) {
      return true;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Nothing;
    }

    @Override
    public int hashCode() {
      return Nothing.class.hashCode();
    }
  }
}
