// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * All limits: the catalogue of names, their default quotas, and the overrides for single ids.
 *
 * <p>Immutable and thread-safe. If a limit has no default and an id no override, nothing limits the
 * id; {@link #coverage} returns the reason. A {@link dev.sluice.Limiter} refuses requests for an id
 * that nothing limits, unless the limit is declared unlimited or is disabled.
 *
 * <p>Limits can have {@linkplain #with companions}: values, such as rules, that were read together
 * with the limits and refer to their names. A request that reads the limits once therefore sees
 * limits and companions that belong together.
 *
 * <p>Limits are equal if their names, quotas, overrides, penalties and companions are equal.
 */
public final class Limits {

  /** The largest debt of a bucket, in bursts. */
  public static final int DEEPEST_DEBT = 10;

  private static final int SHOWN = 10;

  private final Catalogue catalogue;
  private final Map<String, List<Quota>> defaults; // by limit name; the longest period first
  private final Set<String> unlimited;
  private final Map<String, Map<String, LimitOverride>> overrides;
  private final Map<String, Integer> debts;
  private final Map<Class<?>, Object> companions;
  // The outer key is a limit's name, the inner key is an id.
  private final Map<String, Map<String, Penalty>> penalties;

  private Limits(Builder builder) {
    this.catalogue = builder.catalogue;
    this.defaults = Map.copyOf(builder.defaults);
    this.unlimited = Set.copyOf(builder.unlimited);
    Map<String, Map<String, LimitOverride>> copy = new HashMap<>();
    builder.overrides.forEach((name, byId) -> copy.put(name, Map.copyOf(byId)));
    this.overrides = Map.copyOf(copy);
    this.debts = Map.copyOf(builder.debts);
    this.companions = Map.copyOf(builder.companions);
    this.penalties = builder.penalties;
  }

  /**
   * Returns a builder for a set of limits.
   *
   * @param catalogue the names that can have limits
   * @return a builder
   */
  public static Builder builder(Catalogue catalogue) {
    return new Builder(catalogue);
  }

  /**
   * Returns the names that can have limits.
   *
   * @return the catalogue
   */
  public Catalogue catalogue() {
    return catalogue;
  }

  /**
   * Returns the default quota, which applies to every id without an override.
   *
   * @param name a limit name from the catalogue
   * @return the quota, or the quota with the longest period if there are several; null if the name
   *     has no default
   */
  public @Nullable Quota defaultFor(LimitName name) {
    return longest(defaultsFor(name));
  }

  /**
   * Returns all default quotas, which apply to every id without an override.
   *
   * @param name a limit name from the catalogue
   * @return the quotas, the longest period first; empty if the name has no default
   */
  public List<Quota> defaultsFor(LimitName name) {
    return defaults.getOrDefault(name.name(), List.of());
  }

  private static @Nullable Quota longest(List<Quota> quotas) {
    return quotas.isEmpty() ? null : quotas.get(0);
  }

  /**
   * Returns the override for an id.
   *
   * @param name a limit name from the catalogue
   * @param canonicalId an id in the canonical form of a transaction
   * @return the override, null if the id has none
   */
  public @Nullable LimitOverride overrideFor(LimitName name, String canonicalId) {
    Map<String, LimitOverride> byId = overrides.get(name.name());
    return byId == null ? null : byId.get(name.overrideKey(canonicalId));
  }

  /**
   * Returns the quota for an id: the quota of its override, otherwise the default quota.
   *
   * @param name a limit name from the catalogue
   * @param canonicalId an id in the canonical form of a transaction
   * @return the quota, or the quota with the longest period if there are several; null if nothing
   *     limits the id ({@link #coverage} returns the reason)
   */
  public @Nullable Quota quotaFor(LimitName name, String canonicalId) {
    return longest(quotasFor(name, canonicalId));
  }

  /**
   * Returns all quotas for an id: the quotas of its override, otherwise the default quotas.
   *
   * @param name a limit name from the catalogue
   * @param canonicalId an id in the canonical form of a transaction
   * @return the quotas, the longest period first; empty if nothing limits the id
   */
  public List<Quota> quotasFor(LimitName name, String canonicalId) {
    LimitOverride override = overrideFor(name, canonicalId);
    return override == null ? defaultsFor(name) : override.quotas();
  }

  /**
   * Returns whether ids without an override are limited.
   *
   * @param name a limit name from the catalogue
   * @return {@link Coverage#LIMITED} if the name has a default, otherwise the reason why the ids
   *     are not limited
   */
  public Coverage coverage(LimitName name) {
    if (defaults.containsKey(name.name())) {
      return Coverage.LIMITED;
    }
    if (unlimited.contains(name.name())) {
      return Coverage.UNLIMITED;
    }
    if (name.disabledWithoutDefault()) {
      return Coverage.DISABLED;
    }
    return overrides.containsKey(name.name()) ? Coverage.NO_DEFAULT : Coverage.NOT_CONFIGURED;
  }

  /**
   * Returns whether the limits declare what applies to ids without an override.
   *
   * @param name a limit name from the catalogue
   * @return true if the name has a default, or is declared unlimited
   */
  public boolean hasDefault(LimitName name) {
    return defaults.containsKey(name.name()) || unlimited.contains(name.name());
  }

  /**
   * Returns whether an id is limited.
   *
   * @param name a limit name from the catalogue
   * @param canonicalId an id in the canonical form of a transaction
   * @return {@link Coverage#LIMITED} if the id has a quota, otherwise the reason why the id has no
   *     quota
   */
  public Coverage coverage(LimitName name, String canonicalId) {
    return overrideFor(name, canonicalId) == null ? coverage(name) : Coverage.LIMITED;
  }

  /**
   * Returns whether a limit has a default or an override, or is declared unlimited.
   *
   * @param name a limit name from the catalogue
   * @return false if the limit is in the catalogue, but nothing is configured for it
   */
  public boolean isConfigured(LimitName name) {
    return hasDefault(name) || overrides.containsKey(name.name());
  }

  /**
   * Returns the limit name for a text; the limit must be configured.
   *
   * @param name the text
   * @return the name
   * @throws UnknownLimitException if the catalogue has no such name
   * @throws MissingDefaultException if the name is not configured, and not {@linkplain
   *     LimitName#disabledWithoutDefault disabled without a default}
   */
  public LimitName configured(String name) {
    LimitName known = catalogue.get(name);
    if (coverage(known) == Coverage.NOT_CONFIGURED) {
      throw MissingDefaultException.of(List.of(known));
    }
    return known;
  }

  /**
   * Returns the names that are {@linkplain #isConfigured configured}.
   *
   * @return the names, in alphabetical order
   */
  public List<LimitName> configured() {
    return catalogue.names().stream().filter(this::isConfigured).toList();
  }

  /**
   * Returns the overrides of a limit.
   *
   * @param name a limit name from the catalogue
   * @return the overrides, in no particular order
   */
  public Collection<LimitOverride> overridesOf(LimitName name) {
    return overrides.getOrDefault(name.name(), Map.of()).values();
  }

  /**
   * Returns the overrides of all limits.
   *
   * @return the overrides, sorted by the names of their limits
   */
  public List<LimitOverride> overrides() {
    return catalogue.names().stream().flatMap(name -> overridesOf(name).stream()).toList();
  }

  /**
   * Returns a copy of these limits with further overrides. An override replaces the existing
   * override for the same id.
   *
   * @param more the overrides, each of a limit of this catalogue
   * @return new limits
   * @throws UnknownLimitException if a name is not in the catalogue
   * @throws InvalidIdException if an id is not canonical, so that its override would never apply
   */
  public Limits withOverrides(Collection<LimitOverride> more) {
    Builder builder = copied();
    for (LimitOverride override : more) {
      LimitName known = catalogue.get(override.name().name());
      known.requireCanonical(override);
      builder
          .overrides
          .computeIfAbsent(known.name(), n -> new HashMap<>())
          .put(override.id(), override);
    }
    return builder.build();
  }

  /**
   * Returns a copy of these limits without the overrides that have ended. Limits read no clock, so
   * an ended override stays in force until {@code withoutEnded} removes it.
   *
   * @param now the current time
   * @return new limits; these limits if no override has ended
   */
  public Limits withoutEnded(Instant now) {
    boolean none =
        overrides.values().stream()
            .flatMap(byId -> byId.values().stream())
            .noneMatch(one -> one.isEndedAt(now));
    if (none) {
      return this;
    }
    Builder builder = copied();
    builder.overrides.values().forEach(byId -> byId.values().removeIf(one -> one.isEndedAt(now)));
    builder.overrides.values().removeIf(Map::isEmpty);
    return builder.build();
  }

  /**
   * Returns a copy of these limits with exactly the given penalties.
   *
   * @param all the penalties, each on a limit of this catalogue
   * @return new limits; these limits if they have the same penalties
   * @throws UnknownLimitException if a name is not in the catalogue
   * @throws InvalidIdException if an id is not canonical, so that its penalty would never apply
   * @throws IllegalArgumentException if two penalties have the same id
   */
  public Limits withPenalties(Collection<Penalty> all) {
    Map<String, Map<String, Penalty>> byName = new HashMap<>();
    for (Penalty penalty : all) {
      LimitName known = catalogue.get(penalty.name().name());
      known.requireCanonical(penalty);
      Penalty before =
          byName.computeIfAbsent(known.name(), n -> new HashMap<>()).put(penalty.id(), penalty);
      if (before != null) {
        throw new IllegalArgumentException(
            "found a second penalty of %s for the id %s"
                .formatted(known, SafeText.quote(penalty.id())));
      }
    }
    if (byName.equals(penalties)) {
      return this;
    }
    byName.replaceAll((name, byId) -> Map.copyOf(byId));
    Builder builder = copied();
    builder.penalties = Map.copyOf(byName);
    return builder.build();
  }

  /**
   * Returns the penalty on an id. The penalty may have ended, since a {@code Limits} object reads
   * no clock.
   *
   * @param name a limit name from the catalogue
   * @param canonicalId an id in the canonical form of a transaction
   * @return the penalty, null if the id has none
   */
  public @Nullable Penalty penaltyFor(LimitName name, String canonicalId) {
    Map<String, Penalty> byId = penalties.get(name.name());
    return byId == null ? null : byId.get(canonicalId);
  }

  /**
   * Returns the penalties on the ids of a limit. Can include ended penalties, since a {@code
   * Limits} object reads no clock.
   *
   * @param name a limit name from the catalogue
   * @return the penalties, in no particular order
   */
  public Collection<Penalty> penaltiesOf(LimitName name) {
    return penalties.getOrDefault(name.name(), Map.of()).values();
  }

  /**
   * Returns whether any id has a penalty; fast enough to be called for every request.
   *
   * @return false if no id has a penalty
   */
  public boolean hasPenalties() {
    return !penalties.isEmpty();
  }

  /**
   * Returns the largest debt that a bucket is allowed to have. A spend forgives only debts that
   * exceed the returned number.
   *
   * @param name a limit name of any catalogue
   * @return a number of bursts, 0 if no debt is declared; also applies to ids with an override
   */
  public int debtOf(LimitName name) {
    return debts.getOrDefault(name.name(), 0);
  }

  /**
   * Returns a copy of these limits with a companion: an immutable value that belongs to the limits,
   * and is replaced together with the limits.
   *
   * @param type the companion's type; a second companion of the same type replaces the first
   * @param companion the value; {@link CurrentLimits#replace} compares companions with {@code
   *     equals}
   * @param <T> the companion's type
   * @return new limits
   */
  public <T> Limits with(Class<T> type, T companion) {
    Builder builder = copied();
    builder.companions.put(type, type.cast(companion));
    return builder.build();
  }

  /**
   * Returns the value that belongs to these limits as their companion of a given type.
   *
   * @param type the companion's type
   * @param <T> the companion's type
   * @return the companion, null if these limits have no companion of this type
   */
  public <T> @Nullable T companion(Class<T> type) {
    return type.cast(companions.get(type));
  }

  private Builder copied() {
    Builder builder = builder(catalogue);
    builder.defaults.putAll(defaults);
    builder.unlimited.addAll(unlimited);
    overrides.forEach((name, byId) -> builder.overrides.put(name, new HashMap<>(byId)));
    builder.debts.putAll(debts);
    builder.companions.putAll(companions);
    builder.penalties = penalties;
    return builder;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof Limits that
            && catalogue.equals(that.catalogue)
            && defaults.equals(that.defaults)
            && unlimited.equals(that.unlimited)
            && overrides.equals(that.overrides)
            && debts.equals(that.debts)
            && companions.equals(that.companions)
            && penalties.equals(that.penalties));
  }

  /** Ignores the overrides in the hash code: hashing thousands of overrides would take too long. */
  @Override
  public int hashCode() {
    return Objects.hash(defaults, unlimited, overrides.keySet());
  }

  /** Returns the configured names, each with its default and its number of overrides. */
  @Override
  public String toString() {
    List<LimitName> names = configured();
    String shown =
        names.stream()
            .limit(SHOWN)
            .map(name -> name + " (" + describe(name) + ")")
            .collect(Collectors.joining(", "));
    int more = names.size() - SHOWN;
    return names.isEmpty()
        ? "no limits"
        : "limits " + shown + (more > 0 ? ", " + more + " more" : "");
  }

  /** Describes a name, such as "burst 10, 10 per PT1M, 2 overrides". */
  private String describe(LimitName name) {
    List<Quota> quotas = defaultsFor(name);
    int overridden = overridesOf(name).size();
    String ofDefault =
        quotas.isEmpty()
            ? coverage(name) == Coverage.UNLIMITED ? "unlimited" : "no default"
            : quotas.stream().map(Quota::toString).collect(Collectors.joining(" and "));
    return overridden == 0
        ? ofDefault
        : "%s, %s override%s".formatted(ofDefault, overridden, overridden == 1 ? "" : "s");
  }

  /** Makes {@link Limits}. Not thread-safe. */
  public static final class Builder {
    private final Catalogue catalogue;
    private final Map<String, List<Quota>> defaults = new HashMap<>();
    private final Set<String> unlimited = new HashSet<>();
    private final Map<String, Map<String, LimitOverride>> overrides = new LinkedHashMap<>();
    private final Map<String, Integer> debts = new HashMap<>();
    private final Map<Class<?>, Object> companions = new HashMap<>();
    private Map<String, Map<String, Penalty>> penalties = Map.of();

    private Builder(Catalogue catalogue) {
      this.catalogue = Objects.requireNonNull(catalogue, "catalogue");
    }

    /**
     * Sets the default of a limit; does nothing for a limit with {@linkplain
     * LimitName#overridesOnly overrides only}, as in Boulder.
     *
     * @param name a limit name from the catalogue
     * @param quota the rate and burst for each id
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws IllegalArgumentException if the name has a default already
     */
    @CanIgnoreReturnValue
    public Builder limit(String name, Quota quota) {
      return limit(name, List.of(Objects.requireNonNull(quota, "quota")));
    }

    /**
     * Sets a default of several quotas, all of which apply to each id.
     *
     * @param name a limit name from the catalogue
     * @param quotas the rate and burst for each id; {@link Quota#ofOneLimit} checks them
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws IllegalArgumentException if the name has a default already, or if {@link
     *     Quota#ofOneLimit} refuses the quotas
     */
    @CanIgnoreReturnValue
    public Builder limit(String name, List<Quota> quotas) {
      LimitName known = catalogue.get(name);
      requireFirst(known);
      if (!known.overridesOnly()) {
        defaults.put(name, Quota.ofOneLimit(quotas));
      }
      return this;
    }

    /**
     * Declares a limit unlimited for every id without an override.
     *
     * @param name a limit name from the catalogue
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws IllegalArgumentException if the name has a default already
     */
    @CanIgnoreReturnValue
    public Builder unlimited(String name) {
      LimitName known = catalogue.get(name);
      requireFirst(known);
      if (!known.overridesOnly()) {
        unlimited.add(name);
      }
      return this;
    }

    /**
     * Allows the buckets of a limit to owe tokens, including the buckets of ids with an override.
     * Every process that shares the buckets must set the same debt.
     *
     * @param name a limit name from the catalogue
     * @param bursts how many bursts a bucket is allowed to owe, 0 to {@link #DEEPEST_DEBT}
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws IllegalArgumentException if the number of bursts is out of range
     */
    @CanIgnoreReturnValue
    public Builder debt(String name, int bursts) {
      LimitName known = catalogue.get(name);
      if (bursts < 0 || bursts > DEEPEST_DEBT) {
        throw new IllegalArgumentException(
            "debt of %s: found %s, expected 0 to %s bursts".formatted(known, bursts, DEEPEST_DEBT));
      }
      if (bursts == 0) {
        debts.remove(name);
      } else {
        debts.put(name, bursts);
      }
      return this;
    }

    private void requireFirst(LimitName name) {
      if (defaults.containsKey(name.name()) || unlimited.contains(name.name())) {
        throw new IllegalArgumentException(
            "found a second default for "
                + name
                + ", expected one; several quotas are one list: limit(name, List.of(…))");
      }
    }

    /**
     * Sets the quota of one id.
     *
     * @param name a limit name from the catalogue
     * @param id the id, in the limit's format for override ids; converted to its canonical form
     * @param quota the rate and burst
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws InvalidIdException if the id has another format
     * @throws IllegalArgumentException if the id has an override already
     */
    @CanIgnoreReturnValue
    public Builder override(String name, String id, Quota quota) {
      LimitName known = catalogue.get(name);
      String canonical =
          known.overrideId().canonical(Objects.requireNonNull(id, "id"), Strictness.LENIENT);
      return override(new LimitOverride(known, canonical, quota, ""));
    }

    /**
     * Adds an override whose id is canonical already.
     *
     * @param override the override
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     * @throws InvalidIdException if the id is not canonical, so that the override would never apply
     * @throws IllegalArgumentException if the id has an override already
     */
    @CanIgnoreReturnValue
    public Builder override(LimitOverride override) {
      Objects.requireNonNull(override, "override");
      LimitName known = catalogue.get(override.name().name());
      known.requireCanonical(override);
      LimitOverride before =
          overrides
              .computeIfAbsent(known.name(), n -> new HashMap<>())
              .putIfAbsent(override.id(), override);
      if (before != null) {
        throw new IllegalArgumentException(
            "found a second override of %s for the id %s"
                .formatted(known, SafeText.quote(override.id())));
      }
      return this;
    }

    /**
     * Returns the overrides added so far.
     *
     * @return a copy of the list, in no particular order
     */
    public List<LimitOverride> overrides() {
      List<LimitOverride> all = new ArrayList<>();
      overrides.values().forEach(byId -> all.addAll(byId.values()));
      return all;
    }

    /**
     * Makes the limits.
     *
     * @return the limits
     */
    public Limits build() {
      return new Limits(this);
    }
  }

  /** Whether a quota limits an id, and the reason if no quota does. */
  public enum Coverage {

    /** The limit has a default, or the id has an override. */
    LIMITED,

    /** The limit is declared unlimited. */
    UNLIMITED,

    /**
     * The id has no override, and the limit has no default, so the limit {@linkplain
     * LimitName#disabledWithoutDefault is disabled}.
     */
    DISABLED,

    /** The limit has overrides but no default, and the id has no override. */
    NO_DEFAULT,

    /** The limit has neither a default nor an override, and is not declared unlimited. */
    NOT_CONFIGURED;

    /**
     * Returns whether no quota limits the id, and the limit is neither declared unlimited nor
     * disabled. A limiter refuses requests for the id unless the limiter's builder allows missing
     * defaults.
     *
     * @return true if the constant is {@link #NO_DEFAULT} or {@link #NOT_CONFIGURED}
     */
    public boolean isMissing() {
      return this == NO_DEFAULT || this == NOT_CONFIGURED;
    }
  }

  /**
   * A requirement that a limit has a {@linkplain Limits#hasDefault default}, for example because a
   * rule uses the limit.
   *
   * @param limit the limit's name
   * @param by the part of the configuration that requires the default, as it appears in messages,
   *     such as {@code a rule of the filter}
   * @param onMissing what happens if the limit has no default
   */
  public record Requirement(String limit, String by, MissingDefault onMissing) {

    /**
     * Makes a requirement.
     *
     * @param limit the limit's name
     * @param by the part of the configuration that requires the default, as it appears in messages
     * @param onMissing what happens if the limit has no default
     */
    public Requirement {
      Objects.requireNonNull(limit, "limit");
      Objects.requireNonNull(by, "by");
      Objects.requireNonNull(onMissing, "onMissing");
    }

    /**
     * Returns whether the given limits satisfy this requirement.
     *
     * @param limits the limits
     * @return true if the catalogue has the limit, and the limit has a default, is declared
     *     unlimited, or has overrides only
     */
    public boolean isMetBy(Limits limits) {
      LimitName name = limits.catalogue().find(limit);
      return name != null && (name.overridesOnly() || limits.hasDefault(name));
    }

    /**
     * Returns the error message for limits that do not satisfy this requirement, with the remedy.
     *
     * @param limits the limits
     * @return one line
     */
    public String message(Limits limits) {
      if (limits.catalogue().find(limit) == null) {
        List<String> known = limits.catalogue().names().stream().map(LimitName::name).toList();
        return "%s requires the limit %s, which does not exist%s"
            .formatted(by, SafeText.quote(limit), Suggestion.didYouMean(limit, known));
      }
      return "%s has no default, but %s requires one; %s"
          .formatted(limit, by, MissingDefaultException.line(limit));
    }

    /** What happens to a request whose limit has no {@linkplain Limits#hasDefault default}. */
    public enum MissingDefault {

      /**
       * A request that needs the missing default is refused with a {@link MissingDefaultException}.
       * If a requirement has the policy REFUSE, the process does not start without the default, and
       * a reload without the default is rejected.
       */
      REFUSE,

      /** The missing default is logged once as a warning, and the limit allows all requests. */
      WARN,

      /** The limit allows all requests. */
      ALLOW
    }
  }
}
