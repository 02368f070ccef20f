// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.replay.ReplayResult.Bin;
import dev.sluice.replay.ReplayResult.Change;
import dev.sluice.replay.ReplayResult.Client;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.replay.ReplayResult.Totals;
import dev.sluice.replay.ReplayResult.WorstMinute;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;

/** Writes a result as JSON. Stateless. */
public final class ReplayJson {

  private final JsonGenerator json;
  private final ClientNames names;

  private ReplayJson(JsonGenerator json, ClientNames names) {
    this.json = json;
    this.names = names;
  }

  /** Returns a result as one JSON object, on one line. */
  public static String of(ReplayResult result, ClientNames names) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
      new ReplayJson(json, names).write(result);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private void write(ReplayResult result) throws IOException {
    var log = result.log();
    json.writeStartObject();
    json.writeObjectFieldStart("log");
    json.writeStringField("format", log.format());
    json.writeNumberField("lines", log.found().lines());
    json.writeNumberField("notUnderstood", log.found().unread());
    if (log.found().firstUnread() != null) {
      json.writeStringField("firstNotUnderstood", log.found().firstUnread());
    }
    json.writeNumberField("skipped", log.skipped());
    json.writeNumberField("late", log.found().late());
    json.writeNumberField("mostOutOfOrderNanos", log.found().mostLateNanos());
    json.writeNumberField("firstNanos", log.firstNanos());
    json.writeNumberField("lastNanos", log.lastNanos());
    json.writeStringField("zone", log.zone().toString());
    json.writeEndObject();
    write("totals", result.totals());
    write("rules", result.rows());
    var uncharged = result.uncharged();
    json.writeObjectFieldStart("uncharged");
    json.writeNumberField("noRule", uncharged.noRule());
    json.writeNumberField("free", uncharged.free());
    json.writeNumberField("unusable", uncharged.unusable());
    json.writeNumberField("tooCostly", uncharged.tooCostly());
    json.writeNumberField("lackingCost", uncharged.lackingCost());
    json.writeArrayFieldStart("lacking");
    for (var lacking : uncharged.lacking()) {
      json.writeStartObject();
      json.writeStringField("rule", lacking.rule());
      json.writeStringField("word", lacking.word());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
    json.writeArrayFieldStart("mostDenied");
    for (Client client : result.mostDenied()) {
      json.writeStartObject();
      json.writeStringField("client", names.of(client.name()));
      json.writeNumberField("requests", client.requests());
      json.writeNumberField("denied", client.denied());
      json.writeNumberField("deniedButServed", client.served());
      json.writeEndObject();
    }
    json.writeEndArray();
    var worst = result.worst();
    if (worst != null) {
      json.writeFieldName("worstMinute");
      write(worst);
    }
    if (result.change() != null) {
      write(result.change());
    }
    json.writeObjectFieldStart("series");
    json.writeNumberField("binNanos", result.series().binNanos());
    json.writeArrayFieldStart("bins");
    for (Bin bin : result.series().bins()) {
      json.writeStartObject();
      json.writeNumberField("atNanos", bin.atNanos());
      json.writeNumberField("requests", bin.requests());
      json.writeNumberField("denied", bin.denied());
      if (result.change() != null) {
        json.writeNumberField("againstDenied", bin.otherDenied());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
    var shard = result.shard();
    if (shard != null) {
      json.writeObjectFieldStart("shard");
      json.writeNumberField("number", shard.number());
      json.writeNumberField("of", shard.of());
      json.writeArrayFieldStart("minutes");
      for (WorstMinute minute : shard.minutes()) {
        write(minute);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndObject();
  }

  private void write(WorstMinute minute) throws IOException {
    json.writeStartObject();
    json.writeNumberField("atNanos", minute.atNanos());
    json.writeNumberField("denied", minute.denied());
    json.writeStringField("client", names.of(minute.client()));
    json.writeNumberField("deniedOfClient", minute.ofClient());
    json.writeEndObject();
  }

  private void write(Change change) throws IOException {
    json.writeObjectFieldStart("against");
    write("totals", change.totals());
    json.writeNumberField("newlyDeniedRequests", change.newlyDenied());
    json.writeNumberField("newlyAllowedRequests", change.newlyAllowed());
    json.writeNumberField("newlyDeniedClients", change.newlyDeniedClients());
    json.writeNumberField("newlyAllowedClients", change.newlyAllowedClients());
    write("rules", change.rows());
    json.writeEndObject();
  }

  private void write(String field, Totals totals) throws IOException {
    json.writeObjectFieldStart(field);
    json.writeNumberField("requests", totals.requests());
    json.writeNumberField("denied", totals.denied());
    json.writeNumberField("clients", totals.clients());
    json.writeNumberField("deniedClients", totals.deniedClients());
    json.writeBooleanField("exact", totals.exact());
    json.writeEndObject();
  }

  private void write(String field, List<Row> rows) throws IOException {
    json.writeArrayFieldStart(field);
    for (Row row : rows) {
      json.writeStartObject();
      json.writeStringField("rule", row.rule());
      json.writeStringField("paths", row.paths());
      json.writeStringField("limit", row.limit());
      json.writeBooleanField("shadow", row.shadow());
      json.writeNumberField("requests", row.requests());
      json.writeNumberField("denied", row.denied());
      json.writeNumberField("clients", row.clients());
      json.writeNumberField("deniedClients", row.deniedClients());
      json.writeNumberField("longestWaitNanos", row.longestWaitNanos());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
