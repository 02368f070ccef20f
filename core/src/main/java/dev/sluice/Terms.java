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
 * What holds for an id: the limit's name, the quota, and where that comes from. Made once for a
 * limit, so that a decision need not carry the parts. Immutable.
 */
final class Terms {

  private final LimitName name;
  private final @Nullable Quota quota;
  private final Origin origin;
  private final Coverage coverage;
  private final Outcome<Boolean> fits;
  private final Outcome<Verdict> verdict;
  private final Outcome<Decision> decision;

  private Terms(LimitName name, @Nullable Quota quota, Origin origin, Coverage coverage) {
    this.name = name;
    this.quota = quota;
    this.origin = origin;
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
    return new Terms(name, limits.defaultFor(name), Origin.DEFAULT, limits.coverage(name));
  }

  static Terms ofOverride(LimitOverride override, LimitName name) {
    return new Terms(name, override.quota(), Origin.OVERRIDE, Coverage.LIMITED);
  }

  static Terms ofCaller(LimitName name, Quota quota) {
    return new Terms(name, quota, Origin.CALLER, Coverage.LIMITED);
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
    return origin == Origin.OVERRIDE;
  }

  /** Whether the caller supplied the quota: then limits neither know it nor change it. */
  boolean ofCaller() {
    return origin == Origin.CALLER;
  }

  /** What the id is held to under the limits that hold now, null where nothing limits it. */
  @Nullable Quota quotaIn(Limits now, String canonicalId) {
    return ofCaller() ? quota : now.quotaFor(name, canonicalId);
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

  private enum Origin {
    DEFAULT,
    OVERRIDE,
    CALLER
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
