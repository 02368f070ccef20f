// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;

/** Writes a comparison as JSON for programs. */
public final class RunResultsJson {

  private static final JsonFactory FACTORY = new JsonFactory();

  /** The number of decimal places, which is fixed so that the text is the same on every JDK. */
  private static final int DIGITS = 9;

  private RunResultsJson() {}

  /** Returns one JSON object on one line. All times are in nanoseconds. */
  public static String of(Scenario scenario, List<RunResult> results) {
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
      for (RunResult result : results) {
        write(json, result);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private static void write(JsonGenerator json, RunResult result) throws IOException {
    json.writeStartObject();
    json.writeStringField("algorithm", result.subject().algorithm().toString());
    json.writeNumberField("burst", result.subject().quota().burst());
    json.writeNumberField("count", result.subject().quota().count());
    json.writeNumberField("periodNanos", result.subject().quota().period().toNanos());
    if (result.subject().algorithm() == Algorithm.LEAKY_BUCKET) {
      drip(json, result.subject());
    }
    json.writeNumberField("requests", result.requests());
    json.writeNumberField("admitted", result.totalAdmitted());
    json.writeNumberField("denied", result.totalDenied());
    json.writeNumberField("clients", result.clients());
    json.writeNumberField("clientsEverDenied", result.clientsDenied());
    json.writeNumberField("clientsNeverServed", result.clientsNeverServed());
    json.writeNumberField("longestLockoutNanos", result.longestLockoutNanos());
    if (!result.lockedOut().isEmpty()) {
      json.writeStringField("longestLockoutClient", result.lockedOut());
    }
    json.writeNumberField("peakAdmittedPerBin", result.peak());
    json.writeFieldName("varianceAdmittedPerBin");
    json.writeNumber(Format.decimal(result.variance(), DIGITS));
    if (result.wronglyDenied().isPresent()) {
      json.writeNumberField("wronglyDenied", result.wronglyDenied().getAsLong());
    }
    counts(json, "admittedPerBin", result.admitted());
    counts(json, "deniedPerBin", result.denied());
    json.writeArrayFieldStart("level");
    for (RunResult.Point point : result.level()) {
      json.writeStartArray();
      json.writeNumber(point.nanos());
      json.writeNumber(Format.decimal(point.value(), DIGITS));
      json.writeEndArray();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /**
   * Writes the schedule of the drain process, with the time between two runs for the subject's
   * limit.
   */
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
