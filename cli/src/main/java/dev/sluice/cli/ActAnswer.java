// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.base.Json;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireRequest;
import dev.sluice.wire.WireTransaction;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of a check, spend, refund or reset, decided by a server or in this process: the JSON
 * of the HTTP API, and the values that {@link #text} prints.
 *
 * @param taken how many tokens a spend with {@code --up-to} took; null for other operations
 * @param allowed whether the operation was allowed; true for a reset
 * @param burst the burst, null if no limit applies
 * @param message the message of a denial, safe to print; otherwise empty
 * @param failureRule the failure rule that decided in place of the store; null for the store
 * @param knowsBucket whether {@code remaining} and {@code resetInNanos} describe the bucket
 * @param penaltyUntil the end of a penalty, until which every cost above 0 is denied; null for none
 */
record ActAnswer(
    String json,
    @Nullable Long taken,
    boolean allowed,
    long remaining,
    @Nullable Long burst,
    long retryInNanos,
    long resetInNanos,
    String message,
    @Nullable String failureRule,
    boolean knowsBucket,
    @Nullable Instant penaltyUntil) {

  private static final WireTransaction NONE = new WireTransaction(null, null, null, null);
  private static final String RESET = "{\"reset\":true}";

  static ActAnswer ofReset() {
    return parse(RESET);
  }

  static ActAnswer of(Decision decision) {
    return of(decision, WireRequest.of(NONE));
  }

  /** Returns the result of a spend with {@code --up-to}. */
  static ActAnswer ofUpTo(Decision decision) {
    return of(decision, WireRequest.ofUpTo(NONE));
  }

  private static ActAnswer of(Decision decision, WireRequest request) {
    return parse(
        Json.written(json -> DecisionWriter.write(decision, request, json))
            .toString(StandardCharsets.UTF_8));
  }

  /**
   * Parses a response of the HTTP API.
   *
   * @throws IllegalArgumentException if the text is not a decision
   */
  static ActAnswer parse(String json) {
    Map<String, Object> answer = ServerClient.parsed(json);
    if (answer == null
        || !(answer.getOrDefault("allowed", answer.get("reset")) instanceof Boolean allowed)) {
      throw new IllegalArgumentException("no decision");
    }
    Object message = answer.getOrDefault("message", "");
    String decidedBy = ServerClient.text(answer, "decidedBy");
    Object until = answer.get("penaltyUntil");
    try {
      return new ActAnswer(
          json.strip(),
          (Long) answer.get("taken"),
          allowed,
          (Long) answer.getOrDefault("remaining", 0L),
          (Long) answer.get("burst"),
          (Long) answer.getOrDefault("retryInNanos", 0L),
          (Long) answer.getOrDefault("resetInNanos", 0L),
          SafeText.printable((String) message),
          decidedBy.isEmpty() || decidedBy.equals(DecidedBy.STORE.word()) ? null : decidedBy,
          answer.containsKey("remaining"),
          until == null ? null : Instant.parse((String) until));
    } catch (ClassCastException | DateTimeException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /**
   * Formats the result as one line for people: {@code allowed, remaining 9 of 10, full again in 6
   * s}.
   */
  String text(Act act) {
    if (act == Act.RESET) {
      return "reset, the bucket is full" + penalty();
    }
    if (act == Act.REFUND && penaltyUntil != null) {
      return word(act) + penalty();
    }
    StringBuilder text = new StringBuilder(word(act));
    if (taken != null && allowed) {
      text.append(", took ").append(taken);
    }
    if (burst == null) {
      return text.append(", no limit applies").toString();
    }
    if (knowsBucket) {
      text.append(", remaining ").append(remaining).append(" of ").append(burst);
    }
    if (retryInNanos > 0 && act != Act.REFUND) {
      text.append(allowed ? ", next in " : ", retry in ").append(Quantities.rounded(retryInNanos));
    }
    if (knowsBucket) {
      text.append(
          resetInNanos == 0 ? ", full" : ", full again in " + Quantities.rounded(resetInNanos));
    }
    if (failureRule != null) {
      text.append(", decided by the failure rule ")
          .append(failureRule)
          .append(" since the store does not answer");
    }
    return text.toString();
  }

  private String penalty() {
    return penaltyUntil == null ? "" : ", but a penalty denies until " + penaltyUntil;
  }

  private String word(Act act) {
    if (act == Act.REFUND) {
      return allowed ? "given back" : "nothing given back";
    }
    return allowed ? "allowed" : "denied";
  }
}
