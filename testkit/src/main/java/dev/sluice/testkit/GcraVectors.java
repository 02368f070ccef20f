// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Reads the recorded operations in {@code vectors/gcra} and repeats them with a limiter. */
final class GcraVectors {

  // The two limit files have a fixed layout, so regular expressions can parse the files without a
  // YAML library.
  private static final String QUOTA = "burst: (\\d+)\\s+count: (\\d+)\\s+period: (\\w+)";
  private static final Pattern DEFAULT = Pattern.compile("(\\w+):\\s+" + QUOTA);
  private static final Pattern OVERRIDE =
      Pattern.compile("- " + DEFAULT.pattern() + "\\s+ids:\\s+- id: \"(\\d+)\"");

  private GcraVectors() {}

  static Limits limits() {
    Limits.Builder limits = Limits.builder(Vectors.names());
    DEFAULT
        .matcher(Vectors.text("gcra/defaults.yml"))
        .results()
        .forEach(found -> limits.limit(found.group(1), quota(found)));
    OVERRIDE
        .matcher(Vectors.text("gcra/overrides.yml"))
        .results()
        .forEach(found -> limits.override(found.group(1), found.group(5), quota(found)));
    return limits.build();
  }

  private static Quota quota(MatchResult found) {
    return Quota.burst(Long.parseLong(found.group(2)))
        .refill(Long.parseLong(found.group(3)), GoDuration.parse(found.group(4)));
  }

  static List<JsonNode> trace() {
    return Vectors.jsonLines("gcra/trace.jsonl");
  }

  static List<JsonNode> decisions() {
    return Vectors.jsonLines("gcra/decisions.jsonl");
  }

  /** Repeats a recorded operation. Returns the result in the format of the recorded decisions. */
  static String act(JsonNode act, Limiter limiter) {
    if (act.has("transactions")) {
      return text(limiter.spend(batch(act, limiter)));
    }
    String limit = act.get("limit").asText();
    String id = act.get("id").asText();
    long cost = act.path("cost").asLong(1);
    return switch (act.get("op").asText()) {
      case "check" -> text(limiter.check(limit, id, cost));
      case "spend" -> text(limiter.spend(limit, id, cost));
      case "refund" -> text(limiter.refund(limit, id, cost));
      case "reset" -> {
        limiter.reset(limit, id);
        yield "reset";
      }
      default -> throw new AssertionError("unknown operation in the trace: " + act);
    };
  }

  /** Repeats a recorded operation like {@link #act}, but with {@link Limiter#async}. */
  static CompletionStage<String> actAsync(JsonNode act, Limiter limiter) {
    AsyncLimiter async = limiter.async();
    if (act.has("transactions")) {
      return async.spend(batch(act, limiter)).thenApply(GcraVectors::text);
    }
    String limit = act.get("limit").asText();
    String id = act.get("id").asText();
    long cost = act.path("cost").asLong(1);
    return switch (act.get("op").asText()) {
      case "check" -> async.check(limit, id, cost).thenApply(GcraVectors::text);
      case "spend" -> async.spend(limit, id, cost).thenApply(GcraVectors::text);
      case "refund" -> async.refund(limit, id, cost).thenApply(GcraVectors::text);
      case "reset" -> async.reset(limit, id).thenApply(done -> "reset");
      default -> throw new AssertionError("unknown operation in the trace: " + act);
    };
  }

  /** Repeats a recorded operation like {@link #act}, but supplies the quotas itself. */
  static String actSupplied(JsonNode act, Limits limits, Limiter limiter) {
    if (act.has("transactions")) {
      List<Transaction> batch = new ArrayList<>();
      act.get("transactions").forEach(one -> batch.add(ofKind(one, supplied(one, limits))));
      return text(limiter.spend(batch));
    }
    Transaction transaction = supplied(act, limits);
    return switch (act.get("op").asText()) {
      case "check" -> text(limiter.check(transaction));
      case "spend" -> text(limiter.spend(transaction));
      case "refund" -> text(limiter.refund(transaction));
      case "reset" -> {
        limiter.reset(transaction);
        yield "reset";
      }
      default -> throw new AssertionError("unknown operation in the trace: " + act);
    };
  }

  private static Transaction supplied(JsonNode act, Limits limits) {
    Transaction named =
        Transaction.of(limits, act.get("limit").asText(), act.get("id").asText())
            .withCost(act.path("cost").asLong(1));
    Quota quota = named.quota();
    return quota == null // a disabled limit has no quota to supply
        ? named
        : Transaction.of(named.name(), quota, act.get("id").asText()).withCost(named.cost());
  }

  private static List<Transaction> batch(JsonNode act, Limiter limiter) {
    List<Transaction> batch = new ArrayList<>();
    act.get("transactions")
        .forEach(
            one ->
                batch.add(
                    ofKind(
                        one,
                        limiter
                            .transaction(one.get("limit").asText(), one.get("id").asText())
                            .withCost(one.get("cost").asLong()))));
    return batch;
  }

  private static Transaction ofKind(JsonNode one, Transaction transaction) {
    return switch (one.get("kind").asText()) {
      case "checkAndSpend" -> transaction;
      case "checkOnly" -> transaction.checkOnly();
      case "spendOnly" -> transaction.spendOnly();
      default -> throw new AssertionError("unknown kind of transaction in the trace: " + one);
    };
  }

  /** Formats a recorded decision in the same way as {@link #act} formats a result. */
  static String text(JsonNode decision) {
    return decision.has("reset")
        ? "reset"
        : text(
            decision.get("allowed").asBoolean(),
            decision.get("remaining").asLong(),
            decision.get("retryInNanos").asLong(),
            decision.get("resetInNanos").asLong());
  }

  static String text(Decision decision) {
    return text(
        decision.allowed(), decision.remaining(), decision.retryInNanos(), decision.resetInNanos());
  }

  private static String text(boolean allowed, long remaining, long retryIn, long resetIn) {
    return "%s remaining %s retryIn %s resetIn %s"
        .formatted(allowed ? "allowed" : "denied", remaining, retryIn, resetIn);
  }
}
