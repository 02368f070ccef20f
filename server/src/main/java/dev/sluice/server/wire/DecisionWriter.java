package dev.sluice.server.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.GoDuration;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Writes decisions and quotas as JSON. Stateless and thread-safe; blocks as its target does. */
public final class DecisionWriter {

  private DecisionWriter() {}

  /**
   * Writes a decision as HTTP answers it; that of a batch with each transaction's own.
   *
   * @param decision the decision
   * @param batch whether it is the decision of a batch
   * @param json where it goes
   * @throws IOException if the target throws it
   */
  public static void write(Decision decision, boolean batch, JsonGenerator json)
      throws IOException {
    json.writeStartObject();
    writeFields(decision, json);
    if (batch) {
      json.writeArrayFieldStart("decisions");
      for (Decision part : decision.parts()) {
        json.writeStartObject();
        writeFields(part, json);
        json.writeEndObject();
      }
      json.writeEndArray();
    }
    json.writeEndObject();
  }

  private static void writeFields(Decision decision, JsonGenerator json) throws IOException {
    Transaction transaction = decision.transaction();
    json.writeBooleanField("allowed", decision.allowed());
    json.writeStringField("limit", transaction == null ? null : transaction.name().name());
    json.writeStringField("id", transaction == null ? null : transaction.id());
    json.writeStringField("bucketKey", transaction == null ? null : transaction.bucketKey());
    json.writeNumberField("remaining", decision.remaining());
    writeQuota(transaction == null ? null : transaction.quota(), json);
    writeTime("retryIn", decision.retryInNanos(), json);
    writeTime("resetIn", decision.resetInNanos(), json);
    String message = decision.message();
    if (!message.isEmpty()) {
      json.writeStringField("message", message);
    }
  }

  /** Writes a time in whole nanoseconds, for arithmetic, and in seconds, for people. */
  private static void writeTime(String field, long nanos, JsonGenerator json) throws IOException {
    json.writeNumberField(field + "Nanos", nanos);
    writeSeconds(field + "Seconds", nanos, json);
  }

  /** Writes all digits and no exponent: 28800, 0.05. */
  private static void writeSeconds(String field, long nanos, JsonGenerator json)
      throws IOException {
    json.writeFieldName(field);
    json.writeNumber(Seconds.format(nanos));
  }

  /**
   * Writes the fields of a quota into the current object, all null where there is none.
   *
   * @param quota the quota, null for a disabled limit
   * @param json where they go
   * @throws IOException if the target throws it
   */
  public static void writeQuota(@Nullable Quota quota, JsonGenerator json) throws IOException {
    if (quota == null) {
      json.writeNullField("burst");
      json.writeNullField("count");
      json.writeNullField("period");
      json.writeNullField("periodSeconds");
    } else {
      json.writeNumberField("burst", quota.burst());
      json.writeNumberField("count", quota.count());
      json.writeStringField("period", GoDuration.format(quota.period()));
      writeSeconds("periodSeconds", quota.period().toNanos(), json);
    }
  }
}
