// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.internal.text.SafeText;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireRequest;
import dev.sluice.wire.WireTransaction;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The result of a check, spend, refund or reset, decided by a server or in this process: the JSON
 * of the HTTP API, and the values that {@link #text} prints.
 *
 * @param taken how many tokens a spend with {@code --up-to} took; null for other operations
 * @param allowed whether the operation was allowed; true for a reset
 * @param burst the burst, null if no limit applies
 * @param message the message of a denial, safe to print; otherwise empty
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
    @Nullable Instant penaltyUntil) {

  private static final JsonFactory JSON = new JsonFactory();
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
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      DecisionWriter.write(decision, request, json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the JSON is written to memory
    }
    return parse(text.toString());
  }

  /**
   * Parses a response of the HTTP API.
   *
   * @throws IllegalArgumentException if the text is not a decision
   */
  static ActAnswer parse(String json) {
    Long taken = null;
    Boolean allowed = null;
    long remaining = 0;
    Long burst = null;
    long retryInNanos = 0;
    long resetInNanos = 0;
    String message = "";
    Instant penaltyUntil = null;
    try (JsonParser parser = JSON.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new IllegalArgumentException("no object");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String field = parser.currentName();
        JsonToken value = parser.nextToken();
        switch (field) {
          case "allowed", "reset" -> allowed = parser.getBooleanValue();
          case "taken" -> taken = parser.getLongValue();
          case "remaining" -> remaining = parser.getLongValue();
          case "burst" -> burst = value == JsonToken.VALUE_NULL ? null : parser.getLongValue();
          case "retryInNanos" -> retryInNanos = parser.getLongValue();
          case "resetInNanos" -> resetInNanos = parser.getLongValue();
          case "message" -> message = SafeText.printable(parser.getText());
          case "penaltyUntil" -> penaltyUntil = Instant.parse(parser.getText());
          default -> parser.skipChildren();
        }
      }
    } catch (IOException | DateTimeException e) {
      throw new IllegalArgumentException(e);
    }
    if (allowed == null) {
      throw new IllegalArgumentException("no decision");
    }
    return new ActAnswer(
        json.strip(),
        taken,
        allowed,
        remaining,
        burst,
        retryInNanos,
        resetInNanos,
        message,
        penaltyUntil);
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
    text.append(", remaining ").append(remaining).append(" of ").append(burst);
    if (retryInNanos > 0 && act != Act.REFUND) {
      text.append(allowed ? ", next in " : ", retry in ").append(Quantities.rounded(retryInNanos));
    }
    return text.append(
            resetInNanos == 0 ? ", full" : ", full again in " + Quantities.rounded(resetInNanos))
        .toString();
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
