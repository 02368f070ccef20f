// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.sluice.store.StoreException;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The room sees the library and the JDK, and no framework. */
class ArchitectureTest {

  private static final String WEB = "dev.sluice.web";

  /** What filters, doors and users need; a new public type is a decision, made here. */
  private static final Set<String> PUBLIC =
      Set.of(
          "Admission",
          "Batch",
          "ClientAddress",
          "HeaderProfile",
          "Match",
          "PlainRequest",
          "ProblemDetails",
          "ProxyHeader",
          "Refusal",
          "RequestLimiter",
          "RequestRules",
          "RequestWord",
          "RetryAdvice",
          "Rule",
          "RuleBuilder",
          "Rules",
          "PathPattern",
          "AddressRange",
          "RequestFacts",
          "QuotaFailedException",
          "RefusalHook",
          "UnusableRequestException",
          "VaryBy",
          "WebPath",
          "WebRequest");

  private static final JavaClasses ROOM =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages(WEB);

  @Test
  void web_usesTheLibraryAndTheJdkOnly() {
    classes()
        .that()
        .resideInAPackage(WEB)
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("dev.sluice..", "java..", "org.jspecify..", "com.google.errorprone..")
        .check(ROOM);
  }

  @Test
  void web_asksNoStoreItself() {
    noClasses()
        .that()
        .resideInAPackage(WEB)
        .should()
        .dependOnClassesThat(
            resideInAPackage("dev.sluice.store").and(not(assignableTo(StoreException.class))))
        .check(ROOM);
  }

  @Test
  void publicTypes_areThoseThatSomebodyNeeds() {
    Set<String> found =
        ROOM.stream()
            .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .map(JavaClass::getSimpleName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(found).containsExactlyInAnyOrderElementsOf(PUBLIC);
  }
}
