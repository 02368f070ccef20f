// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.DirectStore.ReadingMapper;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The quota in force for an id, with the limit's name and the origin of the quota. Many decisions
 * share one {@code EffectiveQuota}.
 *
 * <p>For a limit with several quotas, each of the {@link #parts} has one quota and its own bucket.
 */
final class EffectiveQuota {

  private final LimitName name;
  private final @Nullable Quota quota;
  private final @Nullable Quota onlyQuota; // null if the limit has several quotas
  private final Origin origin;
  private final Coverage coverage;
  private final List<EffectiveQuota> parts; // empty if the limit has one quota
  // The limit with several quotas to which this quota belongs, otherwise null.
  private final @Nullable EffectiveQuota whole;
  // The period in the bucket's key; null for the longest period.
  private final @Nullable Duration period;
  private final ReadingMapper<@Nullable Decision> decision;

  private EffectiveQuota(LimitName name, List<Quota> quotas, Origin origin, Coverage coverage) {
    this(
        name,
        quotas.isEmpty() ? null : quotas.get(0),
        origin,
        coverage,
        quotas,
        List.of(),
        null,
        null);
  }

  @SuppressWarnings("NullAway") // NullAway does not see that the mapper's result is nullable
  private EffectiveQuota(
      LimitName name,
      @Nullable Quota quota,
      Origin origin,
      Coverage coverage,
      List<Quota> several,
      List<EffectiveQuota> parts,
      @Nullable EffectiveQuota whole,
      @Nullable Duration period) {
    this.name = name;
    this.quota = quota;
    this.origin = origin;
    this.coverage = coverage;
    this.whole = whole;
    this.period = period;
    this.onlyQuota = several.size() > 1 || !parts.isEmpty() ? null : quota;
    this.parts = several.size() > 1 ? several.stream().map(this::part).toList() : parts;
    this.decision =
        (id, effect, nowNanos, tatNanos) -> {
          if (effect.isInDebt(nowNanos, tatNanos)) {
            return null;
          }
          Quota held = Objects.requireNonNull(quota);
          long cost = effect.incrementNanos() / held.intervalNanos();
          return Decision.of(
              effect.op() == Effect.Op.CHECK ? Act.CHECK : Act.SPEND,
              Transaction.of(this, Objects.requireNonNull(id), cost),
              Answer.ofSpend(effect, held, nowNanos, tatNanos));
        };
  }

  static EffectiveQuota ofDefault(Limits limits, LimitName name) {
    return new EffectiveQuota(
        name, limits.defaultsFor(name), Origin.DEFAULT, limits.coverage(name));
  }

  static EffectiveQuota ofOverride(LimitOverride override, LimitName name) {
    return new EffectiveQuota(name, override.quotas(), Origin.OVERRIDE, Coverage.LIMITED);
  }

  static EffectiveQuota ofCaller(LimitName name, Quota quota) {
    // A missing quota would allow all requests, so null is rejected.
    return ofCaller(name, List.of(Objects.requireNonNull(quota, "quota")));
  }

  static EffectiveQuota ofCaller(LimitName name, List<Quota> quotas) {
    return new EffectiveQuota(
        Objects.requireNonNull(name, "name"),
        Quota.ofOneLimit(Objects.requireNonNull(quotas, "quotas")),
        Origin.CALLER,
        Coverage.LIMITED);
  }

  static EffectiveQuota of(Limits limits, LimitName name, String canonicalId) {
    LimitOverride override = limits.overrideFor(name, canonicalId);
    return override == null ? ofDefault(limits, name) : ofOverride(override, name);
  }

  private EffectiveQuota part(Quota one) {
    Duration further = one.equals(quota) ? null : one.period();
    return new EffectiveQuota(name, one, origin, coverage, List.of(), List.of(), this, further);
  }

  /** Returns a copy with another quota: a share of the old quota, or another quota of the limit. */
  EffectiveQuota heldTo(Quota share) {
    return new EffectiveQuota(name, share, origin, coverage, List.of(), parts, whole, period);
  }

  /** Returns one object per quota, the longest period first; empty for a limit with one quota. */
  List<EffectiveQuota> parts() {
    return parts;
  }

  /** Returns all quotas, empty if no limit applies. */
  List<Quota> quotas() {
    if (quota == null) {
      return List.of();
    }
    return parts.isEmpty()
        ? List.of(quota)
        : parts.stream().map(part -> Objects.requireNonNull(part.quota)).toList();
  }

  /**
   * Returns the {@code EffectiveQuota} of the whole limit, even if this object has only one of the
   * limit's quotas.
   */
  EffectiveQuota whole() {
    return whole == null ? this : whole;
  }

  boolean isPart() {
    return whole != null;
  }

  /** Returns the quota with the smallest burst, null if no limit applies. */
  @Nullable Quota leastBurst() {
    Quota least = quota;
    for (EffectiveQuota part : parts) {
      Quota one = Objects.requireNonNull(part.quota);
      least = least == null || one.burst() < least.burst() ? one : least;
    }
    return least;
  }

  LimitName name() {
    return name;
  }

  /** Returns the quota, null if no limit applies. */
  @Nullable Quota quota() {
    return quota;
  }

  /** Returns the quota; null for a limit with several quotas, and if no limit applies. */
  @Nullable Quota onlyQuota() {
    return onlyQuota;
  }

  boolean overridden() {
    return origin == Origin.OVERRIDE;
  }

  /** Returns whether the caller supplied the quota, so that it does not depend on the limits. */
  boolean ofCaller() {
    return origin == Origin.CALLER;
  }

  /** Returns the quota of the id under the given limits, null if nothing limits the id. */
  @Nullable Quota quotaIn(Limits now, String canonicalId) {
    if (ofCaller()) {
      return quota;
    }
    if (period == null) {
      return now.quotaFor(name, canonicalId);
    }
    return now.quotasFor(name, canonicalId).stream()
        .skip(1)
        .filter(one -> one.period().equals(period))
        .findFirst()
        .orElse(null);
  }

  /**
   * Returns the key of the bucket. If there are several quotas, the key for the quota with the
   * longest period is the same as for a single quota, so that a limit keeps its buckets when quotas
   * with shorter periods are added. Unless a quota has the longest period, its bucket's key
   * contains its period. Bucket keys do not contain a quota's index, since adding a quota to a
   * limit can change the index.
   */
  String bucketKey(String canonicalId) {
    String key = name.bucketKey(canonicalId);
    if (period == null) {
      return key;
    }
    int colon = key.indexOf(':'); // limit numbers and names contain no colon
    return key.substring(0, colon) + "/" + furtherPeriod() + key.substring(colon);
  }

  /** Returns the period in the bucket's key; null for the longest period and for a single quota. */
  @Nullable String furtherPeriod() {
    return period == null ? null : GoDuration.shortened(period).replace('µ', 'u'); // keys are ASCII
  }

  Coverage coverage() {
    return coverage;
  }

  private enum Origin {
    DEFAULT,
    OVERRIDE,
    CALLER
  }

  /**
   * Returns a mapper from readings to decisions on a check or spend of an id. The mapper returns
   * null for a bucket in debt, for which {@link Debts} decides.
   */
  ReadingMapper<@Nullable Decision> decision() {
    return decision;
  }
}
