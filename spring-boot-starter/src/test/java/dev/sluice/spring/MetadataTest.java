// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;

/** What an IDE completes, and what the docs list, are the properties that there are. */
class MetadataTest {

  private static JsonNode properties() throws IOException {
    try (InputStream in =
        SluiceProperties.class.getResourceAsStream(
            "/META-INF/spring-configuration-metadata.json")) {
      return new ObjectMapper().readTree(in).get("properties");
    }
  }

  private static void collect(Class<?> type, String prefix, Set<String> names) {
    for (RecordComponent component : type.getRecordComponents()) {
      String name = prefix + "." + dashed(component, type);
      if (component.getType().isRecord()) {
        collect(component.getType(), name, names);
      } else {
        names.add(name);
      }
    }
  }

  private static String dashed(RecordComponent component, Class<?> type) {
    if (type == SluiceProperties.OnFailure.class && component.getName().equals("others")) {
      assertThat(type.getDeclaredConstructors()[0].getParameters()[0].getAnnotation(Name.class))
          .isNotNull();
      return "default";
    }
    return component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }

  @Test
  void metadata_hasEachProperty_andNoOther() throws IOException {
    Set<String> expected = new TreeSet<>();
    collect(SluiceProperties.class, SluiceProperties.PREFIX, expected);
    Set<String> found = new TreeSet<>();
    for (JsonNode property : properties()) {
      String name = property.get("name").asText();
      assertThat(ConfigurationPropertyName.isValid(name)).as(name).isTrue();
      if (name.startsWith(SluiceProperties.PREFIX)) {
        found.add(name);
      }
    }

    assertThat(found).isEqualTo(expected);
  }

  @Test
  void docs_listEachProperty_withItsDefault() throws IOException {
    String page = Files.readString(Path.of("..", "docs", "spring.md"));
    for (JsonNode property : properties()) {
      JsonNode value = property.get("defaultValue");
      assertThat(page)
          .contains(
              "| `%s` | %s | %s |"
                  .formatted(
                      property.get("name").asText(),
                      value == null ? "" : "`" + value.asText() + "`",
                      property.get("description").asText()));
    }
  }
}
