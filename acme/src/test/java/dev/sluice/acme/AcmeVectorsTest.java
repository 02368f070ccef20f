// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.testkit.Vectors;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The recorded ids and covering domains. */
class AcmeVectorsTest {

  static Stream<JsonNode> ids() throws Exception {
    return cases("ids.json");
  }

  static Stream<JsonNode> coverings() throws Exception {
    return cases("covering.json");
  }

  @ParameterizedTest
  @MethodSource("ids")
  void keyOf_recordedId_isTheRecordedKeyOrError(JsonNode vector) {
    LimitName name = AcmeLimits.bundled().catalogue().get(vector.get("limit").textValue());
    Strictness strictness =
        Strictness.valueOf(vector.get("mode").textValue().toUpperCase(Locale.ROOT));
    String id = vector.get("id").textValue();
    if (vector.has("bucketKey")) {
      assertThat(name.keyOf(id, strictness)).isEqualTo(vector.get("bucketKey").textValue());
    } else {
      assertThatThrownBy(() -> name.keyOf(id, strictness))
          .isInstanceOf(InvalidIdException.class)
          .hasMessageContaining(vector.get("errorContains").textValue());
    }
  }

  @ParameterizedTest
  @MethodSource("coverings")
  void covering_recordedIdentifiers_isTheRecordedList(JsonNode vector) {
    List<Identifier> identifiers = Identifier.parseAll(texts(vector.get("identifiers")));
    assertThat(AcmeLimits.bundled().covering(identifiers)).isEqualTo(texts(vector.get("covering")));
  }

  private static Stream<JsonNode> cases(String name) throws Exception {
    List<JsonNode> cases = new ArrayList<>();
    new ObjectMapper().readTree(Vectors.text(name)).forEach(cases::add);
    assertThat(cases).isNotEmpty();
    return cases.stream();
  }

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(text -> texts.add(text.textValue()));
    return texts;
  }
}
