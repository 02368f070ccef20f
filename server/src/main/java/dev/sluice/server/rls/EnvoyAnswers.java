// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.ByteString;
import com.google.protobuf.Value;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Transaction;
import dev.sluice.envoy.HeaderValue;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitResponse.RateLimit;
import dev.sluice.gcra.Quota;
import dev.sluice.server.rls.DescriptorCharges.DescriptorCharge;
import dev.sluice.server.rls.DescriptorCharges.Found;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.HeaderProfile.State;
import dev.sluice.web.ProblemDetails;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Builds the response to one request of Envoy's rate limit protocol. */
final class EnvoyAnswers {

  private static final String RETRY_AFTER = "Retry-After";

  /** The metadata field with the value of the header {@link HeaderProfile#DEGRADED}. */
  private static final String DECIDED_BY = "decidedBy";

  /** The HTTP status that Envoy and {@code /json} return for a request over a limit. */
  private static final int TOO_MANY_REQUESTS = 429;

  private static final DescriptorStatus PASSES =
      DescriptorStatus.newBuilder().setCode(Code.OK).build();
  private static final DescriptorStatus UNLIMITED =
      PASSES.toBuilder().setLimitRemaining(CurrentLimit.UINT32_MAX).build();

  private final Settings settings;
  private final List<Found> found;
  private final List<DescriptorCharge> refunds;
  private final List<DescriptorCharge> charges = new ArrayList<>();
  private final List<DescriptorCharge> refusals = new ArrayList<>(0);
  private @Nullable Decision whole;

  /** Makes a builder for a response; the outcomes of the charges can still be unknown. */
  EnvoyAnswers(
      Settings settings,
      List<Found> found,
      List<DescriptorCharge> enforced,
      List<DescriptorCharge> refunds,
      List<DescriptorCharge> trials) {
    this.settings = settings;
    this.found = found;
    this.refunds = refunds;
    for (DescriptorCharge charge : enforced) {
      if (charge.isClosed()) {
        charges.add(charge); // charges that can never pass come first
      }
    }
    for (DescriptorCharge charge : enforced) {
      if (!charge.isClosed()) {
        charges.add(charge);
      }
    }
    charges.addAll(refunds);
    charges.addAll(trials);
  }

  /** Sets the decision from which the response headers are made. */
  void decidedBy(Decision decision) {
    whole = decision;
  }

  /** Returns the response. All charges but failed shadow trials must have their outcomes. */
  RateLimitResponse response() {
    charges.removeIf(charge -> !charge.isDecided()); // removes trials that failed
    RateLimitResponse.Builder response = RateLimitResponse.newBuilder();
    for (Found one : found) {
      response.addStatuses(status(one));
    }
    for (DescriptorCharge charge : charges) {
      if (charge.refuses()) {
        refusals.add(charge);
      }
    }
    boolean passes = refusals.isEmpty() || settings.shadow();
    response.setOverallCode(passes ? Code.OK : Code.OVER_LIMIT);
    Decision told = whole;
    Map<String, String> fields =
        told == null ? headers(charges, settings.headers()) : settings.headers().headers(told);
    if (passes) {
      fields.remove(RETRY_AFTER);
    }
    fields.forEach((name, value) -> add(response, settings.nameOf(name), value));
    String rule = fields.get(HeaderProfile.DEGRADED);
    if (rule != null) {
      response.getDynamicMetadataBuilder().putFields(DECIDED_BY, text(rule));
    }
    if (!passes) {
      addRefusal(refusals, fields.containsKey(RETRY_AFTER), response);
    }
    return response.build();
  }

  /** Counts a request that passes only due to shadow mode, and hits that are near their limit. */
  void count(RlsMeters meters) {
    if (!refusals.isEmpty() && settings.shadow()) {
      meters.shadowed();
    }
    for (DescriptorCharge charge : charges) {
      Quota quota = charge.heldTo();
      boolean isCharged = charge.isShadow() ? !charge.isOver() : refusals.isEmpty();
      if (quota != null && isCharged && !charge.isBlind() && !refunds.contains(charge)) {
        long used = quota.burst() - charge.remaining();
        long near = used - (long) (quota.burst() * settings.nearLimit());
        if (near > 0 && charge.cost() > 0) {
          meters.near(charge.limit().name(), Math.min(near, charge.cost()));
        }
      }
    }
  }

  /**
   * Reports the charges that deny the request to {@code denials}, unless the request passes because
   * of shadow mode.
   *
   * @param rules the name of the rule file; empty if there are no rules
   * @param request the request, whose entries can contain a method and a path
   */
  void report(Denials denials, String door, String rules, RateLimitRequest request) {
    if (denials.isOff() || settings.shadow()) {
      return;
    }
    for (DescriptorCharge charge : refusals) {
      DeniedRequest asked =
          DeniedRequest.of(
              door,
              entry(request, "method"),
              entry(request, "path"),
              charge.line() == 0 ? null : rules + ":" + charge.line());
      Decision decision = charge.decision();
      Transaction transaction = decision == null ? null : decision.transaction();
      if (decision == null || transaction == null) {
        denials.reportWithoutLimit(charge.isDeniedByRule(), asked);
      } else if (charge.neverFits()) {
        denials.reportNeverFits(transaction, charge.cost(), asked);
      } else {
        denials.report(decision, () -> asked);
      }
    }
  }

  /**
   * Returns the value of the first entry whose key is {@code key} or {@code :key}; null for none.
   */
  private static @Nullable String entry(RateLimitRequest request, String key) {
    return request.getDescriptorsList().stream()
        .flatMap(descriptor -> descriptor.getEntriesList().stream())
        .filter(one -> one.getKey().equalsIgnoreCase(key) || one.getKey().equals(":" + key))
        .map(Entry::getValue)
        .findFirst()
        .orElse(null);
  }

  private static DescriptorStatus status(Found found) {
    DescriptorCharge told = null;
    for (DescriptorCharge charge : found.charges()) {
      if (charge.isDecided()) {
        told = told == null ? charge : told.stricter(charge);
      }
    }
    return told == null ? (found.unlimited() ? UNLIMITED : PASSES) : status(told);
  }

  private static DescriptorStatus status(DescriptorCharge charge) {
    DescriptorStatus.Builder status =
        DescriptorStatus.newBuilder().setCode(charge.refuses() ? Code.OVER_LIMIT : Code.OK);
    if (charge.isBlind() && !charge.neverFits()) {
      return status.build(); // the remaining tokens are unknown; Envoy would send a number
    }
    status.setCurrentLimit(currentLimit(charge));
    if (!charge.refuses()) {
      return status
          .setLimitRemaining(CurrentLimit.uint32(charge.remaining()))
          .setDurationUntilReset(CurrentLimit.seconds(charge.resetInNanos()))
          .build();
    }
    if (charge.retryInNanos() > 0) {
      status.setDurationUntilReset(CurrentLimit.seconds(charge.retryInNanos()));
    }
    return status.build();
  }

  private static RateLimit currentLimit(DescriptorCharge charge) {
    String name = charge.limit().equals(DescriptorCharges.OF_CALLER) ? "" : charge.limit().name();
    Quota quota = charge.heldTo();
    RateLimitOverride closed = charge.closedBy();
    return quota != null
        ? CurrentLimit.of(quota, name)
        : RateLimit.newBuilder()
            .setUnit(CurrentLimit.unit(Objects.requireNonNull(closed)))
            .setName(name)
            .build();
  }

  private static void addRefusal(
      List<DescriptorCharge> refusals, boolean saysWhen, RateLimitResponse.Builder response) {
    // Retry-After is set only if waiting helps for every limit that denies.
    if (!saysWhen && refusals.stream().allMatch(refusal -> refusal.retryInNanos() > 0)) {
      long seconds =
          refusals.stream().mapToLong(DescriptorCharge::retryAfterSeconds).max().orElseThrow();
      add(response, RETRY_AFTER, Long.toString(seconds));
    }
    add(response, "Content-Type", ProblemDetails.MEDIA_TYPE);
    add(response, "Cache-Control", "no-store"); // a later request can pass
    // A cost above the burst is denied regardless of the store's state.
    boolean degraded =
        refusals.stream().anyMatch(refusal -> refusal.isBlind() && !refusal.neverFits());
    List<String> limits =
        refusals.stream()
            .filter(refusal -> refusal.closedWhy() == null)
            .map(refusal -> refusal.limit().name())
            .distinct()
            .toList();
    String body =
        degraded
            ? ProblemDetails.temporaryReducedCapacity(TOO_MANY_REQUESTS)
            : limits.isEmpty() // no quota is exceeded: the id is invalid, or a rule denies
                ? ProblemDetails.of(TOO_MANY_REQUESTS, "Request denied", detail(refusals.get(0)))
                : ProblemDetails.quotaExceeded(limits, detail(refusals.get(0)));
    response.setRawBody(ByteString.copyFromUtf8(body));
  }

  private static String shown(DescriptorCharge refusal) {
    return refusal.limit().equals(DescriptorCharges.OF_CALLER)
        ? "the descriptor's limit"
        : refusal.limit().name();
  }

  private static String detail(DescriptorCharge refusal) {
    Quota quota = refusal.quota();
    Decision decision = refusal.decision();
    String why = refusal.closedWhy();
    if (why != null) {
      return why;
    }
    if (quota == null) {
      return "the limit is zero, so no request passes";
    }
    return refusal.neverFits() || decision == null
        ? "%s exceeds the burst (%s) of %s"
            .formatted(cost(refusal.cost()), refusal.burst(), shown(refusal))
        : decision.message();
  }

  /**
   * Formats a cost. Proxies send unsigned numbers, which are capped at the largest signed number.
   */
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
   * If descriptors only check their buckets, or a cost exceeds its burst, the limiter decided on a
   * cost that differs from the request's cost. The remaining tokens after the other cost are wrong
   * for the headers, so the headers are made from the charges.
   */
  /**
   * Returns the response headers for charges. If a failure rule decided, a header names the rule.
   * If the remaining tokens are unknown, the response gets none of the headers of {@code profile}.
   */
  private static Map<String, String> headers(
      List<DescriptorCharge> charges, HeaderProfile profile) {
    Map<String, DescriptorCharge> policies = new LinkedHashMap<>();
    Map<String, String> fields = new LinkedHashMap<>();
    boolean blind = false;
    for (DescriptorCharge charge : charges) {
      if (charge.quota() == null || charge.isShadow()) {
        continue; // the charge has no bucket, or is in shadow
      }
      if (charge.decidedBy() != DecidedBy.STORE && !blind) {
        fields.put(HeaderProfile.DEGRADED, charge.decidedBy().word());
      }
      blind |= charge.isBlind();
      policies.merge(charge.limit().name(), charge, DescriptorCharge::stricter);
    }
    if (!policies.isEmpty() && !blind) {
      List<State> each = policies.values().stream().map(EnvoyAnswers::state).toList();
      DescriptorCharge told =
          policies.values().stream().reduce(DescriptorCharge::stricter).orElseThrow();
      fields.putAll(profile.headers(each, state(told)));
    }
    return fields;
  }

  private static State state(DescriptorCharge charge) {
    boolean mustWait = charge.refuses() && charge.retryInNanos() > 0;
    return new State(
        charge.limit().name(),
        Objects.requireNonNull(charge.heldTo()),
        charge.remaining(),
        mustWait ? charge.retryAfterSeconds() : -1,
        charge.resetInNanos(),
        Objects.requireNonNull(charge.decision()).decidedAt());
  }
}
