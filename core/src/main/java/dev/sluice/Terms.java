package dev.sluice;

import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Coverage;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.store.Outcome;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What holds for an id: the limit's name and the quota, its default's or an override's. Made once
 * for a limit, so that a decision need not carry the parts. Immutable.
 */
final class Terms {

  private final LimitName name;
  private final @Nullable Quota quota;
  private final boolean overridden;
  private final Coverage coverage;
  private final Outcome<Boolean> fits;
  private final Outcome<Verdict> verdict;
  private final Outcome<Decision> decision;

  private Terms(LimitName name, @Nullable Quota quota, boolean overridden, Coverage coverage) {
    this.name = name;
    this.quota = quota;
    this.overridden = overridden;
    this.coverage = coverage;
    long offsetNanos = quota == null ? 0 : quota.offsetNanos();
    this.fits =
        (id, incrementNanos, nowNanos, tatNanos) -> {
          long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
          return Gcra.roomNanos(aheadNanos, incrementNanos, offsetNanos) >= 0;
        };
    this.verdict =
        (id, incrementNanos, nowNanos, tatNanos) -> {
          long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
          if (Gcra.roomNanos(aheadNanos, incrementNanos, offsetNanos) >= 0) {
            return Verdict.ALLOWED;
          }
          return aheadNanos > offsetNanos ? Verdict.IN_DEBT : Verdict.DENIED;
        };
    this.decision =
        (id, incrementNanos, nowNanos, tatNanos) ->
            Decision.ofSpend(this, Objects.requireNonNull(id), incrementNanos, nowNanos, tatNanos);
  }

  static Terms ofDefault(Limits limits, LimitName name) {
    return new Terms(name, limits.defaultFor(name), false, limits.coverage(name));
  }

  static Terms ofOverride(LimitOverride override, LimitName name) {
    return new Terms(name, override.quota(), true, Coverage.LIMITED);
  }

  static Terms of(Limits limits, LimitName name, String canonicalId) {
    LimitOverride override = limits.overrideFor(name, canonicalId);
    return override == null ? ofDefault(limits, name) : ofOverride(override, name);
  }

  LimitName name() {
    return name;
  }

  /** Null where nothing is limited; {@link #coverage} says why. */
  @Nullable Quota quota() {
    return quota;
  }

  boolean overridden() {
    return overridden;
  }

  Coverage coverage() {
    return coverage;
  }

  /** Whether a check or a spend is allowed. */
  Outcome<Boolean> fits() {
    return fits;
  }

  /** The same, with a debt told from a plain denial. */
  Outcome<Verdict> verdict() {
    return verdict;
  }

  /** What a spend comes to. */
  enum Verdict {
    ALLOWED,
    DENIED,
    /** Denied, and the TAT lies further ahead than the bucket is deep. */
    IN_DEBT
  }

  /** The decision on a check or a spend of an id that is given as a string. */
  Outcome<Decision> decision() {
    return decision;
  }
}
