// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The recorded ids of the names that need no list of public suffixes. */
class IdVectorsTest {

  @Test
  void ids_recorded_giveTheirBucketKeysOrMistakes() {
    int tried = 0;
    for (JsonNode id : Vectors.json("ids.json")) {
      LimitName name = Vectors.names().find(id.get("limit").asText());
      if (name == null) {
        continue; // one of the ACME catalogue's, whose own tests run it
      }
      tried++;
      Strictness strictness = Strictness.valueOf(id.get("mode").asText().toUpperCase(Locale.ROOT));
      String text = id.get("id").asText();
      if (id.has("bucketKey")) {
        assertThat(name.keyOf(text, strictness)).isEqualTo(id.get("bucketKey").asText());
      } else {
        assertThatThrownBy(() -> name.keyOf(text, strictness))
            .as(id.toString())
            .isInstanceOf(InvalidIdException.class)
            .hasMessageContaining(id.get("errorContains").asText());
      }
    }
    assertThat(tried).isEqualTo(15);
  }
}
