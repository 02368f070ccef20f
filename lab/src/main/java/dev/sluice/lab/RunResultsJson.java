// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;

/** A comparison for programs. Stateless. */
public final class RunResultsJson {

  private static final JsonFactory FACTORY = new JsonFactory();

  /** Digits after the point: billionths of a token, and the same text on every JDK. */
  private static final int DIGITS = 9;

  private RunResultsJson() {}

  /**
   * Writes one JSON object.
   *
   * @param scenario what was simulated
   * @param outcomes what came of it
   * @return JSON on one line; times in nanoseconds
   */
  public static String of(Scenario scenario, List<RunResult> outcomes) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      json.writeArrayFieldStart("traffic");
      for (ClientGroup group : scenario.traffic()) {
        json.writeString(group.toString());
      }
      json.writeEndArray();
      json.writeNumberField("lengthNanos", scenario.length().toNanos());
      json.writeNumberField("binNanos", scenario.bin().toNanos());
      json.writeNumberField("seed", scenario.seed());
      json.writeStringField("watched", scenario.watchedClient());
      json.writeArrayFieldStart("outcomes");
      for (RunResult outcome : outcomes) {
        write(json, outcome);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private static void write(JsonGenerator json, RunResult outcome) throws IOException {
    json.writeStartObject();
    json.writeStringField("algorithm", outcome.subject().algorithm().toString());
    json.writeNumberField("burst", outcome.subject().quota().burst());
    json.writeNumberField("count", outcome.subject().quota().count());
    json.writeNumberField("periodNanos", outcome.subject().quota().period().toNanos());
    if (outcome.subject().algorithm() == Algorithm.LEAKY_BUCKET) {
      drip(json, outcome.subject());
    }
    json.writeNumberField("requests", outcome.requests());
    json.writeNumberField("admitted", outcome.totalAdmitted());
    json.writeNumberField("denied", outcome.totalDenied());
    json.writeNumberField("clients", outcome.clients());
    json.writeNumberField("clientsEverDenied", outcome.clientsDenied());
    json.writeNumberField("clientsNeverServed", outcome.clientsNeverServed());
    json.writeNumberField("longestLockoutNanos", outcome.longestLockoutNanos());
    if (!outcome.lockedOut().isEmpty()) {
      json.writeStringField("longestLockoutClient", outcome.lockedOut());
    }
    json.writeNumberField("peakAdmittedPerBin", outcome.peak());
    json.writeFieldName("varianceAdmittedPerBin");
    json.writeNumber(Numbers.scaled(outcome.variance(), DIGITS));
    if (outcome.wronglyDenied().isPresent()) {
      json.writeNumberField("wronglyDenied", outcome.wronglyDenied().getAsLong());
    }
    counts(json, "admittedPerBin", outcome.admitted());
    counts(json, "deniedPerBin", outcome.denied());
    json.writeArrayFieldStart("level");
    for (RunResult.Point point : outcome.level()) {
      json.writeStartArray();
      json.writeNumber(point.nanos());
      json.writeNumber(Numbers.scaled(point.value(), DIGITS));
      json.writeEndArray();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /** How the process runs, with what follows from the limit. */
  private static void drip(JsonGenerator json, Subject subject) throws IOException {
    Drip drip = subject.drip();
    json.writeObjectFieldStart("drip");
    json.writeNumberField("everyNanos", drip.everyNanos(subject.quota()));
    if (drip.bucketsPerRun() > 0) {
      json.writeNumberField("bucketsPerRun", drip.bucketsPerRun());
    }
    json.writeArrayFieldStart("stalls");
    for (Drip.Stall stall : drip.stalls()) {
      json.writeStartObject();
      json.writeNumberField("fromNanos", stall.from().toNanos());
      json.writeNumberField("lengthNanos", stall.length().toNanos());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void counts(JsonGenerator json, String name, List<Long> counts)
      throws IOException {
    json.writeArrayFieldStart(name);
    for (long count : counts) {
      json.writeNumber(count);
    }
    json.writeEndArray();
  }
}
