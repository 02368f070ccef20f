// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.sluice.store.TimeSource;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The arrows inside the library: front door → limit → gcra, front door → store → direct → gcra. The
 * table in ARCHITECTURE.md says them once.
 */
class ArchitectureTest {

  private static final String FRONT_DOOR = "dev.sluice";

  /** {@code | ↳ `package` | what it holds | what it sees |}. */
  private static final Pattern ROW =
      Pattern.compile("\\| ↳ `([a-z.]+)` \\|.*\\| ([^|]+) \\|", Pattern.MULTILINE);

  private static final String[] ANNOTATIONS = {"org.jspecify..", "com.google.errorprone.."};

  /** The packages that module-info exports to Sluice's own modules only, or to nobody. */
  private static final Set<String> INNER =
      Set.of("dev.sluice.internal.async", "dev.sluice.internal.direct", "dev.sluice.internal.text");

  /** The types that users need; a new public type is a decision, made here. */
  private static final Set<String> PUBLIC =
      Set.of(
          // the front door
          "AsyncLimiter",
          "Decision",
          "FailureRule",
          "Lease",
          "Limit",
          "Limiter",
          "LimiterObserver",
          "Reservation",
          "Transaction",
          // the law
          "Effect",
          "Gcra",
          "Quota",
          // the rules
          "Catalogue",
          "CurrentLimits",
          "IdFormat",
          "InvalidRequestException",
          "IpAddress",
          "LimitName",
          "LimitOverride",
          "Limits",
          "Penalty",
          // the memory
          "BucketStore",
          "MemoryStore",
          "StoreException",
          "TimeSource");

  private static final JavaClasses LIBRARY =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("dev.sluice");

  /** A package of the library, and the others that it sees. */
  record Row(String name, Set<String> seen) {}

  static List<Row> rows() throws IOException {
    String rooms = Files.readString(Path.of("..", "ARCHITECTURE.md"));
    String core = rooms.substring(rooms.indexOf("\n| `core`"), rooms.indexOf("\n| `web`"));
    return ROW.matcher(core)
        .results()
        .map(row -> new Row(row.group(1), seen(row.group(2))))
        .toList();
  }

  private static Set<String> seen(String cell) {
    return cell.equals("nothing")
        ? Set.of()
        : Stream.of(cell.split(", ", -1))
            .map(name -> FRONT_DOOR + "." + name)
            .collect(Collectors.toSet());
  }

  @Test
  void table_hasEveryPackage() throws IOException {
    Set<String> packages =
        LIBRARY.stream().map(JavaClass::getPackageName).collect(Collectors.toSet());

    Assertions.assertThat(rows())
        .extracting(Row::name)
        .containsExactlyInAnyOrderElementsOf(packages);
  }

  @ParameterizedTest
  @MethodSource("rows")
  void package_seesOnlyWhatTheTableSays(Row row) {
    mayOnlySee(row.name(), row.seen().toArray(String[]::new));
  }

  private void mayOnlySee(String room, String... seen) {
    classes()
        .that()
        .resideInAPackage(room)
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(concat(seen, concat(ANNOTATIONS, room, "java..")))
        .check(LIBRARY);
  }

  private static String[] concat(String[] some, String... more) {
    return Stream.of(some, more).flatMap(Arrays::stream).toArray(String[]::new);
  }

  @Test
  void everything_usesTheLibraryAndTheJdkOnly() {
    mayOnlySee("dev.sluice..");
  }

  @Test
  void nobody_asksAClockButTheTimeSource() {
    noClasses()
        .that()
        .areNotAssignableTo(TimeSource.class)
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(Instant.class, "now")
        .check(LIBRARY);
  }

  @Test
  void nobody_sleepsOrStartsThreads() {
    noClasses()
        .that()
        .doNotHaveSimpleName("Spin") // waits for a lock's holder, by yielding
        .and()
        .doNotHaveSimpleName("AlarmThreads") // a caller's code may hold the one that it rings on
        .and()
        .doNotHaveSimpleName("TickingTime") // a caller that chooses it chooses a thread
        .and()
        .doNotHaveSimpleName(
            "PendingAcquire") // parks a caller who asked to wait, and can be interrupted
        .should()
        .callMethodWhere( // an interrupted caller gets its mark back
            target(owner(JavaClass.Predicates.type(Thread.class)))
                .and(DescribedPredicate.not(target(nameMatching("currentThread|getId|interrupt")))))
        .check(LIBRARY);
  }

  @Test
  void publicTypes_areThoseThatUsersNeed() {
    Set<String> found =
        LIBRARY.stream()
            .filter(type -> !INNER.contains(type.getPackageName()))
            .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .map(JavaClass::getSimpleName)
            .collect(Collectors.toCollection(TreeSet::new));
    Assertions.assertThat(found).containsExactlyInAnyOrderElementsOf(PUBLIC).hasSizeLessThan(26);
  }

  @Test
  void files_areAtMost65() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
      Assertions.assertThat(
              files
                  .filter(file -> file.toString().endsWith(".java"))
                  .filter(file -> !file.toString().endsWith("-info.java")))
          .hasSizeLessThanOrEqualTo(65);
    }
  }

  @Test
  void innerPackages_areExportedToNobodyElse() throws IOException {
    URL classes = Limiter.class.getProtectionDomain().getCodeSource().getLocation();
    try (InputStream bytes = new URL(classes, "module-info.class").openStream()) {
      Set<String> exported =
          ModuleDescriptor.read(bytes).exports().stream()
              .filter(export -> !export.isQualified())
              .map(ModuleDescriptor.Exports::source)
              .collect(Collectors.toCollection(TreeSet::new));
      Assertions.assertThat(exported)
          .containsExactly("dev.sluice", "dev.sluice.gcra", "dev.sluice.limit", "dev.sluice.store");
    }
  }
}
