// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A native image holds only the resources, and the classes to look up, that a module names. */
class NativeImageTest {

  private static final Path ROOT = Path.of("..");

  private static final List<String> LIBRARIES =
      List.of(
          "acme",
          "core",
          "grpc",
          "micrometer",
          "outbound",
          "postgres",
          "redis",
          "servlet",
          "web",
          "webflux",
          "yaml");

  /** The build puts this one into its module; the others stand among the sources. */
  private static final String SUFFIXES = "dev/sluice/acme/effective_tld_names.dat";

  @ParameterizedTest
  @ValueSource(strings = {"core", "redis", "postgres", "acme", "lab", "server"})
  void resources_ofEachModule_areInItsNativeImage(String module) throws IOException {
    Path resources = ROOT.resolve(module).resolve("src/main/resources");
    List<Pattern> named = named(module, resources);

    assertThat(resources(module, resources))
        .isNotEmpty()
        .allSatisfy(
            resource ->
                assertThat(named)
                    .anyMatch(pattern -> pattern.matcher(resource).matches(), resource));
  }

  private static List<Pattern> named(String module, Path resources) throws IOException {
    Path config =
        resources.resolve(
            "META-INF/native-image/dev.sluice/sluice-%s/resource-config.json".formatted(module));
    JsonNode includes =
        new ObjectMapper().readTree(config.toFile()).path("resources").path("includes");
    return StreamSupport.stream(includes.spliterator(), false)
        .map(include -> Pattern.compile(include.path("pattern").asText()))
        .toList();
  }

  private static List<String> resources(String module, Path folder) throws IOException {
    if (module.equals("acme")) {
      return List.of(SUFFIXES);
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> folder.relativize(file).toString())
          .filter(file -> !file.startsWith("META-INF"))
          .toList();
    }
  }

  /** The Redis store asks by their names which classes its client has. */
  @Test
  void classes_thatTheRedisStoreLooksUp_areInItsNativeImage() throws IOException {
    Path module = ROOT.resolve("redis/src/main");
    String source = Files.readString(module.resolve("java/dev/sluice/redis/ClientVersion.java"));
    JsonNode config =
        new ObjectMapper()
            .readTree(
                module
                    .resolve(
                        "resources/META-INF/native-image/dev.sluice/sluice-redis/reflect-config.json")
                    .toFile());

    assertThat(config.findValuesAsText("name"))
        .containsExactlyInAnyOrderElementsOf(
            Pattern.compile("\"(io\\.(?:lettuce|netty)[^\"]+)\"")
                .matcher(source)
                .results()
                .map(name -> name.group(1))
                .toList());
  }

  /** What looks classes up by a name needs metadata of its own, as above. */
  @Test
  void libraries_lookUpNoOtherClass() throws IOException {
    Pattern reflection =
        Pattern.compile("Class\\.forName|ServiceLoader|java\\.lang\\.reflect|ObjectInputStream");
    List<Path> found = new ArrayList<>();
    for (String module : LIBRARIES) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main"))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          if (reflection.matcher(Files.readString(file)).find()) {
            found.add(file.getFileName());
          }
        }
      }
    }
    assertThat(found).containsExactly(Path.of("ClientVersion.java"));
  }
}
