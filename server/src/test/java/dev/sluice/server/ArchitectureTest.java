// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The arrows inside the server: no door sees another, and its packages have no circle. */
class ArchitectureTest {

  private static final String SERVER = "dev.sluice.server";
  private static final List<String> DOORS = List.of("http", "rls", "resp");

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages(SERVER);

  @ParameterizedTest
  @ValueSource(strings = {"http", "rls", "resp"})
  void door_seesNoOther(String door) {
    String[] others =
        DOORS.stream()
            .filter(other -> !other.equals(door))
            .map(other -> SERVER + "." + other + "..")
            .toArray(String[]::new);

    noClasses()
        .that()
        .resideInAPackage(SERVER + "." + door + "..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(others)
        .check(CLASSES);
  }

  @Test
  void packages_haveNoCircle() {
    slices().assignedFrom(new EachPackage()).should().beFreeOfCycles().check(CLASSES);
  }

  /** The outer package, which all others see, is a slice too. */
  private static final class EachPackage implements SliceAssignment {

    @Override
    public SliceIdentifier getIdentifierOf(JavaClass type) {
      return type.getPackageName().startsWith(SERVER)
          ? SliceIdentifier.of(type.getPackageName())
          : SliceIdentifier.ignore();
    }

    @Override
    public String getDescription() {
      return "each package of the server";
    }
  }
}
