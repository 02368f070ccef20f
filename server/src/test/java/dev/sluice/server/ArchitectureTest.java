// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The floors of the server: a package sees those of the floors below it, and no others. */
class ArchitectureTest {

  private static final String SERVER = "dev.sluice.server";

  /** From the top. ARCHITECTURE.md draws them. */
  private static final List<List<String>> FLOORS =
      List.of(
          List.of("service"),
          List.of("http", "rls", "resp"),
          List.of("access", "otlp"),
          List.of("admin", "net", "stats"),
          List.of("tls", "reservation"),
          List.of("base"));

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages(SERVER);

  @TestFactory
  Stream<DynamicTest> package_seesOnlyTheFloorsBelow() {
    List<DynamicTest> tests = new ArrayList<>();
    List<String> above = new ArrayList<>();
    for (List<String> floor : FLOORS) {
      above.addAll(floor);
      for (String one : floor) {
        String[] forbidden =
            above.stream()
                .filter(other -> !other.equals(one))
                .map(ArchitectureTest::packageOf)
                .toArray(String[]::new);
        tests.add(
            DynamicTest.dynamicTest(
                one,
                () ->
                    noClasses()
                        .that()
                        .resideInAPackage(packageOf(one))
                        .should()
                        .dependOnClassesThat()
                        .resideInAnyPackage(forbidden)
                        .check(CLASSES)));
      }
    }
    return tests.stream();
  }

  @Test
  void everyPackage_hasAFloor() {
    Set<String> packages =
        CLASSES.stream()
            .map(JavaClass::getPackageName)
            .filter(name -> name.startsWith(SERVER))
            .map(name -> name.equals(SERVER) ? "" : name.substring(SERVER.length() + 1))
            .collect(Collectors.toCollection(TreeSet::new));

    assertThat(packages)
        .containsExactlyInAnyOrderElementsOf(FLOORS.stream().flatMap(List::stream).toList());
  }

  /** Names that a reader meets without their class; builders and parts of one class may repeat. */
  @Test
  void noSimpleName_standsForTwoClasses() {
    Set<String> seen = new TreeSet<>();
    List<String> twice =
        CLASSES.stream()
            .filter(type -> type.getPackageName().startsWith(SERVER))
            .filter(type -> !type.isAnonymousClass() && !type.getSimpleName().isEmpty())
            .map(JavaClass::getSimpleName)
            .filter(name -> !name.equals("package-info") && !name.equals("Builder"))
            .filter(name -> !seen.add(name))
            .toList();

    assertThat(twice).isEmpty();
  }

  private static String packageOf(String one) {
    return SERVER + "." + one + "..";
  }
}
