// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Penalty;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Writes decisions and quotas as JSON. Each method that writes JSON blocks while the output of its
 * {@code JsonGenerator} blocks.
 */
public final class DecisionWriter {

  private DecisionWriter() {}

  /**
   * Writes the response to a request as a JSON object. The response to a batch contains the
   * decision on each transaction. The response to a request with {@code "upTo": true} contains
   * {@code taken}.
   *
   * @param decision the decision
   * @param request the request that was decided
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void write(Decision decision, WireRequest request, JsonGenerator json)
      throws IOException {
    json.writeStartObject();
    if (request.isUpTo()) {
      json.writeNumberField("taken", decision.taken());
    }
    writeInto(decision, request.isBatch(), json);
    json.writeEndObject();
  }

  /**
   * Writes the fields of a decision into the JSON object that is being written.
   *
   * @param decision the decision
   * @param batch whether the decision is about a batch
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void writeInto(Decision decision, boolean batch, JsonGenerator json)
      throws IOException {
    writeFields(batch ? decision : ofOne(decision), json);
    if (batch) {
      json.writeArrayFieldStart("decisions");
      for (Decision part : decision.parts()) {
        json.writeStartObject();
        writeFields(part, json);
        json.writeEndObject();
      }
      json.writeEndArray();
    }
  }

  /**
   * Returns the decision on a single transaction. If no limit applies, a limiter returns the
   * decision on a batch with one part; this method returns the part.
   *
   * @param decision the limiter's decision on one transaction
   * @return the decision that contains the transaction
   */
  public static Decision ofOne(Decision decision) {
    boolean isPart = decision.transaction() == null && decision.parts().size() == 1;
    return isPart ? decision.parts().get(0) : decision;
  }

  private static void writeFields(Decision decision, JsonGenerator json) throws IOException {
    Transaction transaction = decision.transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    json.writeBooleanField("allowed", decision.allowed());
    json.writeBooleanField("limited", decision.limited());
    if (!decision.limited()) {
      writeReason(transaction == null ? null : transaction.coverage(), json);
    }
    if (transaction != null) {
      json.writeStringField("limit", transaction.name().name());
      json.writeStringField("id", transaction.id());
      json.writeStringField("bucketKey", transaction.bucketKey());
    }
    boolean knowsBucket = decision.decidedBy().knowsBucket();
    if (decision.limited() && quota != null) {
      json.writeStringField("decidedBy", decision.decidedBy().word());
      if (knowsBucket) {
        json.writeNumberField("remaining", decision.remaining());
      }
      writeQuota(quota, json);
    }
    writePenalty(decision, json);
    writeTime("retryIn", decision.retryInNanos(), json);
    if (knowsBucket) {
      writeTime("resetIn", decision.resetInNanos(), json);
    }
    String message = decision.message();
    if (!message.isEmpty()) {
      json.writeStringField("message", message);
    }
    if (!decision.quotas().isEmpty()) {
      json.writeArrayFieldStart("quotas");
      for (Decision one : decision.quotas()) {
        writeQuotaState(one, json);
      }
      json.writeEndArray();
    }
  }

  /** Writes the decision on one quota of a limit with several quotas. */
  private static void writeQuotaState(Decision decision, JsonGenerator json) throws IOException {
    Transaction transaction = decision.transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    json.writeStartObject();
    json.writeBooleanField("allowed", decision.allowed());
    if (quota != null) {
      writeQuota(quota, json);
    }
    boolean knowsBucket = decision.decidedBy().knowsBucket();
    if (knowsBucket) {
      json.writeNumberField("remaining", decision.remaining());
    }
    writeTime("retryIn", decision.retryInNanos(), json);
    if (knowsBucket) {
      writeTime("resetIn", decision.resetInNanos(), json);
    }
    json.writeEndObject();
  }

  /**
   * Writes the response to a reset.
   *
   * @param penalized the decision on the bucket if a penalty keeps the bucket empty despite the
   *     reset
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void writeReset(Optional<Decision> penalized, JsonGenerator json)
      throws IOException {
    json.writeStartObject();
    json.writeBooleanField("reset", true);
    if (penalized.isPresent()) {
      json.writeNumberField("remaining", penalized.get().remaining());
      writePenalty(penalized.get(), json);
    }
    json.writeEndObject();
  }

  private static void writePenalty(Decision decision, JsonGenerator json) throws IOException {
    Penalty penalty = decision.penalty();
    if (penalty != null) {
      json.writeStringField("penaltyUntil", penalty.until().toString());
    }
  }

  /** Writes a duration in whole nanoseconds, for arithmetic, and in seconds, for people. */
  private static void writeTime(String field, long nanos, JsonGenerator json) throws IOException {
    json.writeNumberField(field + "Nanos", nanos);
    writeSeconds(field + "Seconds", nanos, json);
  }

  /**
   * Writes a duration in seconds, with all digits and no exponent: 28800, 0.05.
   *
   * @param field the name of the field
   * @param nanos the duration in nanoseconds
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void writeSeconds(String field, long nanos, JsonGenerator json) throws IOException {
    json.writeFieldName(field);
    json.writeNumber(Seconds.format(nanos));
  }

  /**
   * Writes the reason why no limit applies into the JSON object that is being written.
   *
   * @param coverage the reason why no limit applies; null if there was nothing to check
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void writeReason(@Nullable Coverage coverage, JsonGenerator json)
      throws IOException {
    String reason = "nothingToCheck";
    if (coverage != null) {
      reason =
          switch (coverage) {
            case UNLIMITED -> "unlimited";
            case DISABLED -> "disabled";
            case NO_DEFAULT -> "noDefault";
            case NOT_CONFIGURED -> "notConfigured";
            case LIMITED -> reason;
          };
    }
    json.writeStringField("reason", reason);
  }

  /**
   * Writes the fields of a limit's quota into the JSON object that is being written. For a limit
   * with several quotas, writes the fields of the quota with the longest period and the list of all
   * quotas.
   *
   * @param quotas the quotas, the longest period first
   * @param json the target
   * @throws IOException if the target throws an exception
   */
  public static void writeQuotas(List<Quota> quotas, JsonGenerator json) throws IOException {
    writeQuota(quotas.get(0), json);
    if (quotas.size() > 1) {
      json.writeArrayFieldStart("quotas");
      for (Quota quota : quotas) {
        json.writeStartObject();
        writeQuota(quota, json);
        json.writeEndObject();
      }
      json.writeEndArray();
    }
  }

  private static void writeQuota(Quota quota, JsonGenerator json) throws IOException {
    json.writeNumberField("burst", quota.burst());
    json.writeNumberField("count", quota.count());
    json.writeStringField("period", GoDuration.format(quota.period()));
    writeSeconds("periodSeconds", quota.period().toNanos(), json);
  }

  /** Formats durations as decimal numbers of seconds. */
  private static final class Seconds {

    private static final int DIGITS_OF_NANOS = 9;
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private Seconds() {}

    /** Formats nanoseconds as an exact number of seconds, such as {@code 28800} or {@code 0.05}. */
    static String format(long nanos) {
      if (nanos % NANOS_PER_SECOND == 0) {
        return Long.toString(
            nanos / NANOS_PER_SECOND); // a whole number of seconds is the common case
      }
      return BigDecimal.valueOf(nanos, DIGITS_OF_NANOS).stripTrailingZeros().toPlainString();
    }
  }
}
