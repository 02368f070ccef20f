// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * Which room sees which. The table in ARCHITECTURE.md says it once; the poms and the classes are
 * compared with it. That a pom declares what its classes use, and no more, the build checks.
 */
class RoomsTest {

  private static final Path ROOT = Path.of("..");

  /** {@code | `room` | what it holds | what it sees |}. */
  private static final Pattern ROW =
      Pattern.compile("\\| `([a-z-]+)` \\|.*\\| ([^|]+) \\|", Pattern.MULTILINE);

  /** Never seen by others; no arrow leads to them. */
  private static final Set<String> OUTSIDE = Set.of("benchmarks", "proof", "examples", "bom", "packages");

  private static final Map<String, Set<String>> SEES = table();

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("dev.sluice");

  private static Map<String, Set<String>> table() {
    Map<String, Set<String>> sees = new LinkedHashMap<>();
    Matcher row = ROW.matcher(read(ROOT.resolve("ARCHITECTURE.md")));
    while (row.find()) {
      if (!OUTSIDE.contains(row.group(1))) {
        sees.put(row.group(1), seen(row.group(2)));
      }
    }
    return sees;
  }

  private static Set<String> seen(String text) {
    return text.equals("nothing")
        ? Set.of()
        : Stream.of(text.replace(" (optional)", "").split(", ", -1))
            .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void table_hasEveryModule() {
    Set<String> modules =
        Pattern.compile("<module>([a-z-]+)</module>")
            .matcher(read(ROOT.resolve("pom.xml")))
            .results()
            .map(module -> module.group(1))
            .filter(module -> !OUTSIDE.contains(module))
            .collect(Collectors.toSet());

    assertThat(SEES.keySet()).containsExactlyInAnyOrderElementsOf(modules);
  }

  @TestFactory
  Stream<DynamicTest> pom_declaresWhatTheTableSays() {
    return each(
        (room, seen) ->
            assertThat(declared(ROOT.resolve(room).resolve("pom.xml"))).isEqualTo(seen));
  }

  /** Our own modules that a pom declares for its main code. */
  private static Set<String> declared(Path pom) {
    Set<String> declared = new TreeSet<>();
    for (Element dependency : dependencies(pom)) {
      String artifact = text(dependency, "artifactId");
      if (text(dependency, "groupId").equals("dev.sluice")
          && !text(dependency, "scope").equals("test")) {
        declared.add(artifact.replaceFirst("^sluice-", ""));
      }
    }
    return declared;
  }

  private static List<Element> dependencies(Path pom) {
    try {
      Element project =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .parse(pom.toFile())
              .getDocumentElement();
      return children(project)
          .filter(child -> child.getTagName().equals("dependencies"))
          .flatMap(RoomsTest::children)
          .toList();
    } catch (ParserConfigurationException | SAXException e) {
      throw new AssertionError(pom.toString(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<Element> children(Element parent) {
    NodeList nodes = parent.getChildNodes();
    return Stream.iterate(0, i -> i < nodes.getLength(), i -> i + 1)
        .map(nodes::item)
        .filter(node -> node.getNodeType() == Node.ELEMENT_NODE)
        .map(Element.class::cast);
  }

  private static String text(Element parent, String tag) {
    return children(parent)
        .filter(child -> child.getTagName().equals(tag))
        .map(child -> child.getTextContent().strip())
        .findFirst()
        .orElse("");
  }

  @TestFactory
  Stream<DynamicTest> classes_seeOnlyWhatTheTableSays() {
    return each(
        (room, seen) -> {
          String[] forbidden =
              SEES.keySet().stream()
                  .filter(other -> !other.equals("core"))
                  .filter(other -> !other.equals(room) && !seen.contains(other))
                  .filter(other -> !room.startsWith(other + "-")) // its package holds the room's
                  .map(RoomsTest::packageOf)
                  .toArray(String[]::new);
          noClasses()
              .that()
              .resideInAPackage(packageOf(room))
              .and()
              .resideOutsideOfPackages(packagesWithin(room))
              .should()
              .dependOnClassesThat()
              .resideInAnyPackage(forbidden)
              .allowEmptyShould(true) // the filters are not on this class path
              .check(CLASSES);
        });
  }

  @Test
  void everyRoomBelowTheCommandLine_wasLookedAt() {
    Set<String> rooms = new TreeSet<>(SEES.get("cli"));
    rooms.addAll(List.of("cli", "redis", "micrometer"));
    rooms.remove("core"); // it has the package of all
    for (String room : rooms) {
      assertThat(CLASSES.stream())
          .as(room)
          .anyMatch(type -> type.getPackageName().startsWith("dev.sluice." + room));
    }
  }

  private static Stream<DynamicTest> each(Check check) {
    return SEES.entrySet().stream()
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.getKey(), () -> check.accept(row.getKey(), row.getValue())));
  }

  private interface Check {
    void accept(String room, Set<String> seen);
  }

  /** Core's packages are those without a room's name; their arrows are tested in core. */
  private static String packageOf(String room) {
    return switch (room) {
      case "core" -> "dev.sluice";
      case "spring-boot-starter" -> "dev.sluice.spring.."; // what its users import
      default -> "dev.sluice." + room.replace('-', '.') + "..";
    };
  }

  /** Those of rooms whose name begins with this one's, such as testkit-servers. */
  private static String[] packagesWithin(String room) {
    return SEES.keySet().stream()
        .filter(other -> other.startsWith(room + "-"))
        .map(RoomsTest::packageOf)
        .toArray(String[]::new);
  }
}
