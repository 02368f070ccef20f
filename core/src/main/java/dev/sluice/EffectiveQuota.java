// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.ReadingMapper;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The quota in force for an id, with the limit's name and the quota's origin. Created once per
 * limit, so that decisions share it.
 */
final class EffectiveQuota {

  private final LimitName name;
  private final @Nullable Quota quota;
  private final Origin origin;
  private final Coverage coverage;
  private final ReadingMapper<@Nullable Decision> decision;

  @SuppressWarnings("NullAway") // it does not see that the mapper's result is nullable
  private EffectiveQuota(LimitName name, @Nullable Quota quota, Origin origin, Coverage coverage) {
    this.name = name;
    this.quota = quota;
    this.origin = origin;
    this.coverage = coverage;
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
    return new EffectiveQuota(name, limits.defaultFor(name), Origin.DEFAULT, limits.coverage(name));
  }

  static EffectiveQuota ofOverride(LimitOverride override, LimitName name) {
    return new EffectiveQuota(name, override.quota(), Origin.OVERRIDE, Coverage.LIMITED);
  }

  static EffectiveQuota ofCaller(LimitName name, Quota quota) {
    return new EffectiveQuota(
        Objects.requireNonNull(name, "name"),
        Objects.requireNonNull(quota, "quota"), // without one, everything would be allowed
        Origin.CALLER,
        Coverage.LIMITED);
  }

  static EffectiveQuota of(Limits limits, LimitName name, String canonicalId) {
    LimitOverride override = limits.overrideFor(name, canonicalId);
    return override == null ? ofDefault(limits, name) : ofOverride(override, name);
  }

  /** Returns a share of this quota. */
  EffectiveQuota heldTo(Quota share) {
    return new EffectiveQuota(name, share, origin, coverage);
  }

  LimitName name() {
    return name;
  }

  /** Returns the quota, null if nothing is limited; {@link #coverage} says why. */
  @Nullable Quota quota() {
    return quota;
  }

  boolean overridden() {
    return origin == Origin.OVERRIDE;
  }

  /** Whether the caller supplied the quota, which limits then neither know nor change. */
  boolean ofCaller() {
    return origin == Origin.CALLER;
  }

  /** Returns the quota of the id under the given limits, null if nothing limits it. */
  @Nullable Quota quotaIn(Limits now, String canonicalId) {
    return ofCaller() ? quota : now.quotaFor(name, canonicalId);
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
   * Returns a mapper from readings to decisions on a check or a spend of an id; it returns null
   * where {@link Debts} must look at the reading first.
   */
  ReadingMapper<@Nullable Decision> decision() {
    return decision;
  }
}
