// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** A place that is read and written as a whole. */
abstract class ListKeeper implements Keeper {

  /** Servers' clocks differ: a penalty that has just ended here may still hold elsewhere. */
  private static final Duration GRACE = Duration.ofMinutes(10);

  /**
   * Runs a change from its read to its write, while nobody else changes the place.
   *
   * @return what the change returns
   * @throws KeepException if somebody else changes it for too long; then the change is not run
   */
  @CanIgnoreReturnValue
  abstract boolean alone(BooleanSupplier change);

  /** Writes all that is kept. */
  abstract void save(Kept kept, Catalogue names);

  @Override
  public final void put(LimitOverride override, Catalogue names) {
    alone(
        () -> {
          Kept now = load(names);
          List<LimitOverride> all = without(override.name(), override.id(), now.overrides());
          all.add(override);
          save(new Kept(all, living(now.penalties())), names);
          return true;
        });
  }

  @Override
  public final boolean remove(LimitName name, String id, Catalogue names) {
    return alone(
        () -> {
          Kept now = load(names);
          List<LimitOverride> rest = without(name, id, now.overrides());
          if (rest.size() == now.overrides().size()) {
            return false;
          }
          save(new Kept(rest, living(now.penalties())), names);
          return true;
        });
  }

  @Override
  public final void put(Penalty penalty, Catalogue names) {
    alone(
        () -> {
          Kept now = load(names);
          List<Penalty> all = withoutPenalty(penalty.name(), penalty.id(), now.penalties());
          all.add(penalty);
          save(new Kept(now.overrides(), living(all)), names);
          return true;
        });
  }

  @Override
  public final boolean removePenalty(LimitName name, String id, Catalogue names) {
    return alone(
        () -> {
          Kept now = load(names);
          List<Penalty> rest = withoutPenalty(name, id, now.penalties());
          if (rest.size() == now.penalties().size()) {
            return false;
          }
          save(new Kept(now.overrides(), living(rest)), names);
          return true;
        });
  }

  private static List<LimitOverride> without(
      LimitName name, String id, List<LimitOverride> overrides) {
    List<LimitOverride> rest = new ArrayList<>(overrides);
    rest.removeIf(one -> isSame(one.name(), name) && one.id().equals(id));
    return rest;
  }

  /** Names of limits that are gone have other numbers at each read. */
  private static boolean isSame(LimitName one, LimitName other) {
    return one.name().equals(other.name());
  }

  private static List<Penalty> withoutPenalty(LimitName name, String id, List<Penalty> penalties) {
    List<Penalty> rest = new ArrayList<>(penalties);
    rest.removeIf(one -> isSame(one.name(), name) && one.id().equals(id));
    return rest;
  }

  private static List<Penalty> living(List<Penalty> penalties) {
    Instant longOver = Instant.now().minus(GRACE);
    return penalties.stream().filter(one -> one.until().isAfter(longOver)).toList();
  }
}
