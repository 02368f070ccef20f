// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.net.URL;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Applications see the limit files; the nodes are for Sluice's own modules. */
class ArchitectureTest {

  private static final String YAML = "dev.sluice.yaml";

  /** What applications need; a new public type is a decision, made here. */
  private static final Set<String> PUBLIC =
      Set.of(
          "CompanionFile",
          "LimitFiles",
          "LimitFilesException",
          "LimitFilesWatcher",
          "LimitProperties",
          "LimitPropertiesException",
          "Problem",
          "ReloadListener",
          "Severity");

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages(YAML);

  @Test
  void publicTypes_areThoseThatApplicationsNeed() {
    Set<String> found =
        CLASSES.stream()
            .filter(type -> type.getPackageName().equals(YAML))
            .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .map(JavaClass::getSimpleName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(found).containsExactlyInAnyOrderElementsOf(PUBLIC);
  }

  @Test
  void nodes_areExportedToSluicesModulesOnly() throws IOException {
    URL classes = LimitFiles.class.getProtectionDomain().getCodeSource().getLocation();
    try (InputStream bytes = new URL(classes, "module-info.class").openStream()) {
      Set<String> exported =
          ModuleDescriptor.read(bytes).exports().stream()
              .filter(export -> !export.isQualified())
              .map(ModuleDescriptor.Exports::source)
              .collect(Collectors.toCollection(TreeSet::new));
      assertThat(exported).containsExactly(YAML);
    }
  }

  @Test
  void nodes_seeNoFiles() {
    noClasses()
        .that()
        .resideInAPackage(YAML + ".internal")
        .should()
        .dependOnClassesThat(
            resideInAPackage(YAML)
                .and(not(belongToAnyOf(CompanionFile.class, Problem.class, Severity.class))))
        .check(CLASSES);
  }
}
