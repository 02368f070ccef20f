// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;

/** What Spring prepares at build time, for native images and for a faster start. */
class AheadOfTimeTest {

  static class Service {
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    public void call(String key) {}
  }

  @Test
  void application_isPrepared_withHintsForWhatIsBoundByName() {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      TestPropertyValues.of(
              "sluice.limits.ApiCallsPerKey.burst=2",
              "sluice.limits.ApiCallsPerKey.count=2",
              "sluice.limits.ApiCallsPerKey.period=1h")
          .applyTo(context);
      context.register(
          SluiceAutoConfiguration.class, SluiceMethodAutoConfiguration.class, Service.class);
      InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
      DefaultGenerationContext generation =
          new DefaultGenerationContext(
              new ClassNameGenerator(ClassName.get("application", "Application")), files);

      var unused = new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
      generation.writeGeneratedContent();

      assertThat(files.getGeneratedFiles(Kind.SOURCE).keySet())
          .anyMatch(file -> file.contains("SluiceAutoConfiguration"));
      assertThat(files.getGeneratedFiles(Kind.CLASS).keySet())
          .anyMatch(
              file -> file.contains("Service$$SpringCGLIB$$0")); // the proxy of the annotation
      assertThat(generation.getRuntimeHints())
          .matches(RuntimeHintsPredicates.reflection().onType(SluiceProperties.class))
          .matches(RuntimeHintsPredicates.reflection().onType(SpringDataRedis.Properties.class))
          .matches(RuntimeHintsPredicates.reflection().onType(SpringDataRedis.Keys.class));
    }
  }
}
