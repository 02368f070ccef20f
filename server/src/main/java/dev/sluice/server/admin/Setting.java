// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A kind of setting that is made at run time for one id of a limit: an override or a penalty.
 * Overrides and penalties are saved, found and replaced in the same way. Immutable and thread-safe.
 */
public final class Setting<T> {

  /** The setting {@code override}: a different quota for one id. */
  public static final Setting<LimitOverride> OVERRIDE =
      new Setting<>(
          "an override",
          LimitOverride::name,
          LimitOverride::id,
          LimitName::overrideId,
          LimitOverride::moved,
          Kept::overrides,
          (kept, overrides) -> new Kept(overrides, kept.penalties()),
          LimitOverride::until);

  /** The setting {@code penalty}: a ban or a debt of one id. */
  public static final Setting<Penalty> PENALTY =
      new Setting<>(
          "a penalty",
          Penalty::name,
          Penalty::id,
          LimitName::id,
          (one, name, id) ->
              new Penalty(name, id, one.until(), one.owed(), one.comment(), one.author()),
          Kept::penalties,
          (kept, penalties) -> new Kept(kept.overrides(), penalties),
          Penalty::until);

  private interface Moved<T> {
    T to(T one, LimitName name, String id);
  }

  private interface Replaced<T> {
    Kept in(Kept kept, List<T> all);
  }

  private final String words;
  private final Function<T, LimitName> name;
  private final Function<T, String> id;
  private final Function<LimitName, IdFormat> form;
  private final Moved<T> moved;
  private final Function<Kept, List<T>> all;
  private final Replaced<T> replaced;
  private final Function<T, @Nullable Instant> until;

  private Setting(
      String words,
      Function<T, LimitName> name,
      Function<T, String> id,
      Function<LimitName, IdFormat> form,
      Moved<T> moved,
      Function<Kept, List<T>> all,
      Replaced<T> replaced,
      Function<T, @Nullable Instant> until) {
    this.words = words;
    this.name = name;
    this.id = id;
    this.form = form;
    this.moved = moved;
    this.all = all;
    this.replaced = replaced;
    this.until = until;
  }

  /** All settings that were made at run time, at most one of each kind for an id of a limit. */
  record Kept(List<LimitOverride> overrides, List<Penalty> penalties) {

    static final Kept NOTHING = new Kept(List.of(), List.of());

    Kept {
      overrides = List.copyOf(overrides);
      penalties = List.copyOf(penalties);
    }
  }

  public LimitName name(T one) {
    return name.apply(one);
  }

  public String id(T one) {
    return id.apply(one);
  }

  IdFormat form(LimitName limit) {
    return form.apply(limit);
  }

  T moved(T one, LimitName newName, String newId) {
    return moved.to(one, newName, newId);
  }

  List<T> in(Kept kept) {
    return all.apply(kept);
  }

  Kept with(List<T> settings, Kept kept) {
    return replaced.in(kept, settings);
  }

  boolean isEndedAt(Instant at, T one) {
    Instant end = until.apply(one);
    return end != null && !end.isAfter(at);
  }

  /** Whether a setting is for a limit's id; compares names, since limit numbers can change. */
  boolean isFor(T one, String limit, String ofId) {
    return name(one).name().equals(limit) && id(one).equals(ofId);
  }

  /** Returns all settings of this kind except the setting for one id, in a modifiable list. */
  List<T> without(String limit, String ofId, Kept kept) {
    List<T> rest = new ArrayList<>(in(kept));
    rest.removeIf(one -> isFor(one, limit, ofId));
    return rest;
  }

  /** Returns the name of a setting's limit; null if the limit is gone or its id format changed. */
  public @Nullable LimitName fitting(T kept, Catalogue names) {
    LimitName found = names.find(name(kept).name());
    return found != null && form(found).name().equals(form(name(kept)).name()) ? found : null;
  }

  @Override
  public String toString() {
    return words;
  }
}
