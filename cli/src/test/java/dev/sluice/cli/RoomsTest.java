package dev.sluice.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The arrows between the rooms that the command line stands on, as ARCHITECTURE.md draws them. */
class RoomsTest {

  /** Each room with those that it may see, besides core. */
  private static final Map<String, List<String>> SEES =
      Map.of(
          "web", List.of(),
          "yaml", List.of(),
          "acme", List.of(),
          "redis", List.of(),
          "postgres", List.of(),
          "micrometer", List.of("redis"),
          "lab", List.of(),
          "server", List.of("web", "yaml", "redis", "acme", "postgres", "micrometer"),
          "cli",
              List.of("web", "yaml", "redis", "acme", "postgres", "micrometer", "lab", "server"));

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("dev.sluice");

  @TestFactory
  Stream<DynamicTest> room_seesOnlyWhatItMay() {
    return SEES.entrySet().stream()
        .map(
            room ->
                DynamicTest.dynamicTest(
                    room.getKey(),
                    () ->
                        noClasses()
                            .that()
                            .resideInAPackage(packageOf(room.getKey()))
                            .should()
                            .dependOnClassesThat()
                            .resideInAnyPackage(forbidden(room.getKey(), room.getValue()))
                            .check(CLASSES)));
  }

  @Test
  void core_seesNoRoom() {
    noClasses()
        .that()
        .resideInAnyPackage("dev.sluice", "dev.sluice.gcra", "dev.sluice.limit", "dev.sluice.store")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(SEES.keySet().stream().map(RoomsTest::packageOf).toArray(String[]::new))
        .check(CLASSES);
  }

  @Test
  void everyRoom_wasLookedAt() {
    for (String room : SEES.keySet()) {
      Assertions.assertThat(CLASSES.stream())
          .anyMatch(type -> type.getPackageName().startsWith("dev.sluice." + room));
    }
  }

  private static String[] forbidden(String room, List<String> seen) {
    return SEES.keySet().stream()
        .filter(other -> !other.equals(room) && !seen.contains(other))
        .map(RoomsTest::packageOf)
        .toArray(String[]::new);
  }

  private static String packageOf(String room) {
    return "dev.sluice." + room + "..";
  }
}
