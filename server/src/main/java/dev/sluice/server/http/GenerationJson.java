// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.server.Generations;
import java.io.IOException;

/** The generations of the files as a field of an answer. Stateless. */
final class GenerationJson {

  private GenerationJson() {}

  /** Writes times, not ages: an answer changes only when a generation does. */
  static void write(Generations.State state, JsonGenerator json) throws IOException {
    json.writeObjectFieldStart("generation");
    json.writeObjectFieldStart("active");
    json.writeStringField("hash", state.active().hash());
    json.writeStringField("since", state.active().since().toString());
    json.writeEndObject();
    json.writeObjectFieldStart("offered");
    json.writeStringField("hash", state.offered().hash());
    json.writeStringField("since", state.offered().at().toString());
    json.writeArrayFieldStart("mistakes");
    for (String mistake : state.offered().mistakes()) {
      json.writeString(mistake);
    }
    json.writeEndArray();
    json.writeEndObject();
    json.writeEndObject();
  }
}
