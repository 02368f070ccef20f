// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.ByteString;
import com.google.protobuf.Value;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.envoy.HeaderValue;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitResponse.RateLimit;
import dev.sluice.gcra.Quota;
import dev.sluice.server.rls.Charging.Charged;
import dev.sluice.server.rls.Lines.Found;
import dev.sluice.server.rls.Lines.Line;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProblemDetails;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** The outcomes of lines, in Envoy's words. Pure. */
final class EnvoyAnswers {

  private static final String RETRY_AFTER = "Retry-After";

  /** The name in Envoy's dynamic metadata; the values are those of the header. */
  private static final String DECIDED_BY = "decidedBy";

  /** The status with which Envoy, and {@code /json}, answer whatever is over a limit. */
  private static final int TOO_MANY_REQUESTS = 429;

  private static final DescriptorStatus PASSES =
      DescriptorStatus.newBuilder().setCode(Code.OK).build();
  private static final DescriptorStatus UNLIMITED =
      PASSES.toBuilder().setLimitRemaining(CurrentLimit.UINT32_MAX).build();

  private EnvoyAnswers() {}

  static RateLimitResponse of(List<Found> found, Charged charged) {
    Map<Line, LineOutcome> outcomes = charged.outcomes();
    RateLimitResponse.Builder response = RateLimitResponse.newBuilder();
    for (Found one : found) {
      response.addStatuses(status(one, outcomes));
    }
    List<LineOutcome> refusals = new ArrayList<>(0);
    for (LineOutcome outcome : outcomes.values()) {
      if (outcome.refuses()) {
        refusals.add(outcome);
      }
    }
    response.setOverallCode(refusals.isEmpty() ? Code.OK : Code.OVER_LIMIT);
    Decision whole = charged.whole();
    Map<String, String> fields =
        whole == null ? RateLimitHeaders.of(outcomes.values()) : HeaderProfile.IETF.headers(whole);
    fields.forEach((name, value) -> add(response, name, value));
    String rule = fields.get(HeaderProfile.DEGRADED);
    if (rule != null) {
      response.getDynamicMetadataBuilder().putFields(DECIDED_BY, text(rule));
    }
    if (!refusals.isEmpty()) {
      addRefusal(refusals, fields.containsKey(RETRY_AFTER), response);
    }
    return response.build();
  }

  private static DescriptorStatus status(Found found, Map<Line, LineOutcome> outcomes) {
    LineOutcome told = null;
    for (Line line : found.lines()) {
      LineOutcome outcome = outcomes.get(line);
      if (outcome != null) { // a trial that failed has none
        told = told == null ? outcome : told.stricter(outcome);
      }
    }
    return told == null ? (found.unlimited() ? UNLIMITED : PASSES) : status(told);
  }

  private static DescriptorStatus status(LineOutcome outcome) {
    DescriptorStatus.Builder status =
        DescriptorStatus.newBuilder().setCode(outcome.refuses() ? Code.OVER_LIMIT : Code.OK);
    if (outcome.isBlind() && !outcome.line().neverFits()) {
      return status.build(); // nobody knows what is left, and Envoy would tell clients a number
    }
    status.setCurrentLimit(currentLimit(outcome));
    if (!outcome.refuses()) {
      return status
          .setLimitRemaining(CurrentLimit.uint32(outcome.remaining()))
          .setDurationUntilReset(CurrentLimit.seconds(outcome.resetInNanos()))
          .build();
    }
    if (outcome.retryInNanos() > 0) {
      status.setDurationUntilReset(CurrentLimit.seconds(outcome.retryInNanos()));
    }
    return status.build();
  }

  private static RateLimit currentLimit(LineOutcome outcome) {
    Line line = outcome.line();
    String name = line.limit().equals(Lines.OF_CALLER) ? "" : line.limit().name();
    Quota quota = outcome.quota();
    RateLimitOverride closed = line.closedBy();
    return quota != null
        ? CurrentLimit.of(quota, name)
        : RateLimit.newBuilder()
            .setUnit(CurrentLimit.unit(Objects.requireNonNull(closed)))
            .setName(name)
            .build();
  }

  private static void addRefusal(
      List<LineOutcome> refusals, boolean saysWhen, RateLimitResponse.Builder response) {
    // A wait that helps none of them is not told.
    if (!saysWhen && refusals.stream().allMatch(refusal -> refusal.retryInNanos() > 0)) {
      long seconds =
          refusals.stream().mapToLong(LineOutcome::retryAfterSeconds).max().orElseThrow();
      add(response, RETRY_AFTER, Long.toString(seconds));
    }
    add(response, "Content-Type", ProblemDetails.MEDIA_TYPE);
    add(response, "Cache-Control", "no-store"); // a later request may pass
    // A cost above the burst is refused whatever the store would have said.
    boolean degraded =
        refusals.stream().anyMatch(refusal -> refusal.isBlind() && !refusal.line().neverFits());
    List<String> limits =
        refusals.stream()
            .filter(refusal -> refusal.line().closedWhy() == null)
            .map(refusal -> refusal.line().limit().name())
            .distinct()
            .toList();
    String body =
        degraded
            ? ProblemDetails.temporaryReducedCapacity(TOO_MANY_REQUESTS)
            : limits.isEmpty() // no quota is exceeded: an id cannot be used, or a rule denies
                ? ProblemDetails.of(TOO_MANY_REQUESTS, "Request denied", detail(refusals.get(0)))
                : ProblemDetails.quotaExceeded(limits, detail(refusals.get(0)));
    response.setRawBody(ByteString.copyFromUtf8(body));
  }

  private static String detail(LineOutcome refusal) {
    Line line = refusal.line();
    Quota quota = line.quota();
    Decision decision = refusal.decision();
    String why = line.closedWhy();
    if (why != null) {
      return why;
    }
    if (quota == null) {
      return "the limit %s lets nothing pass".formatted(line.limit());
    }
    return line.neverFits() || decision == null
        ? "%s exceeds the burst (%s) of %s"
            .formatted(cost(line.cost()), quota.burst(), line.limit())
        : decision.message();
  }

  /** Proxies send unsigned numbers; lines count up to the largest signed one. */
  private static String cost(long tokens) {
    return tokens == Long.MAX_VALUE ? "the cost, %s or more,".formatted(tokens) : "cost " + tokens;
  }

  private static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  private static void add(RateLimitResponse.Builder response, String name, String value) {
    response.addResponseHeadersToAdd(
        HeaderValue.newBuilder().setKey(name.toLowerCase(Locale.ROOT)).setValue(value));
  }

  /*
   * Where descriptors only look, or a cost fits no bucket, the limiter was asked for another cost
   * than theirs. Its decision then tells another level than the outcomes of the lines, which these
   * are of.
   */

  /**
   * The IETF's fields, as {@link HeaderProfile#IETF} writes them for a decision, for lines whose
   * decision is on another cost. Pure.
   */
  private static final class RateLimitHeaders {

    /** The largest Integer of a structured field (RFC 9651, section 3.3.1). */
    private static final long MAX_INTEGER = 999_999_999_999_999L;

    private RateLimitHeaders() {}

    /** The fields; of a failure rule its word, and no other where nobody knows what is left. */
    static Map<String, String> of(Collection<LineOutcome> outcomes) {
      Map<String, LineOutcome> policies = new LinkedHashMap<>();
      Map<String, String> fields = new LinkedHashMap<>();
      boolean blind = false;
      for (LineOutcome outcome : outcomes) {
        if (outcome.line().quota() == null || outcome.line().isShadow()) {
          continue; // it has no bucket, or is in shadow
        }
        if (outcome.decidedBy() != DecidedBy.STORE && !blind) {
          fields.put(HeaderProfile.DEGRADED, outcome.decidedBy().word());
        }
        blind |= outcome.isBlind();
        policies.merge(outcome.line().limit().name(), outcome, LineOutcome::stricter);
      }
      if (policies.isEmpty() || blind) {
        return fields;
      }
      StringBuilder policy = new StringBuilder();
      StringBuilder state = new StringBuilder();
      policies.forEach((name, outcome) -> add(name, outcome, policy, state));
      fields.put("RateLimit-Policy", policy.toString());
      fields.put("RateLimit", state.toString());
      return fields;
    }

    private static void add(
        String name, LineOutcome outcome, StringBuilder policy, StringBuilder state) {
      Quota quota = Objects.requireNonNull(outcome.quota());
      String item = (policy.isEmpty() ? "" : ", ") + '"' + name + '"';
      policy
          .append(item)
          .append(";q=")
          .append(integer(quota.burst()))
          .append(";w=")
          .append(integer(CurrentLimit.seconds(quota.offsetNanos()).getSeconds()));
      state.append(item).append(";r=").append(integer(outcome.remaining()));
      if (outcome.refuses() && outcome.retryInNanos() > 0) {
        state.append(";t=").append(integer(outcome.retryAfterSeconds()));
      }
    }

    private static long integer(long value) {
      return Math.min(value, MAX_INTEGER);
    }
  }
}
