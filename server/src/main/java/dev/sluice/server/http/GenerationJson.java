// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Counted;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import java.io.IOException;
import java.util.List;

/** The generations of the files as a field of an answer. Stateless. */
final class GenerationJson {

  private GenerationJson() {}

  /**
   * Writes times, not ages: an answer changes only when a generation does. A caller that may not
   * use every limit learns how many mistakes and warnings there are: they may name the others.
   */
  static void write(Generations generations, Caller caller, JsonGenerator json) throws IOException {
    json.writeObjectFieldStart("generation");
    writeState(generations.of(Kind.LIMITS).state(), caller, json);
    for (Kind kind : List.of(Kind.TOKENS, Kind.CERTIFICATES)) {
      if (generations.of(kind).isPresent()) {
        json.writeObjectFieldStart(kind.word());
        writeState(generations.of(kind).state(), caller, json);
        json.writeEndObject();
      }
    }
    json.writeObjectFieldStart("runtime");
    writeLines("mistakes", "mistake", generations.mistakesBeside(), caller, json);
    json.writeEndObject();
    json.writeEndObject();
  }

  private static void writeState(Generations.State state, Caller caller, JsonGenerator json)
      throws IOException {
    json.writeObjectFieldStart("active");
    json.writeStringField("hash", state.active().hash());
    json.writeStringField("since", state.active().since().toString());
    json.writeEndObject();
    json.writeObjectFieldStart("offered");
    json.writeStringField("hash", state.offered().hash());
    json.writeStringField("since", state.offered().at().toString());
    writeLines("mistakes", "mistake", state.offered().mistakes(), caller, json);
    writeLines("warnings", "warning", state.offered().warnings(), caller, json);
    json.writeEndObject();
  }

  private static void writeLines(
      String field, String word, List<String> all, Caller caller, JsonGenerator json)
      throws IOException {
    List<String> shown = all;
    if (!all.isEmpty() && !caller.mayUseAll()) {
      shown =
          List.of(
              "%s; a token without limits, or the server's log, names %s"
                  .formatted(Counted.of(all.size(), word), all.size() == 1 ? "it" : "them"));
    }
    json.writeArrayFieldStart(field);
    for (String line : shown) {
      json.writeString(line);
    }
    json.writeEndArray();
  }
}
