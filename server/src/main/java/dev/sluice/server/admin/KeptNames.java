// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.Node;
import dev.sluice.yaml.Problems;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/*
 * What is kept in files is read twice: for the names that stand there, and then with all of these
 * as names whose ids may be anything. So an entry may stand there whose limit is gone, or whose id
 * no longer has the right form. It keeps such a name, and is written back as it stands. The limits
 * in force leave it out, for no limit has that form of ids.
 */

/** The names in files of kept entries, of limits that there are or were. Stateless. */
final class KeptNames {

  private KeptNames() {}

  /** Names with these texts, and ids as they stand. */
  static Catalogue asTheyStand(Collection<String> texts) {
    List<LimitName> names = new ArrayList<>();
    for (String text : new TreeSet<>(texts)) {
      try {
        names.add(LimitName.builder(names.size() + 1, text).id(AnyId.AS_IT_STANDS).build());
      } catch (IllegalArgumentException e) {
        // No limit ever had that name: it stays unknown, which is a mistake of the file.
      }
    }
    return Catalogue.of(names.toArray(LimitName[]::new));
  }

  /** The overrides with the names that there are, as far as their ids fit. */
  static List<LimitOverride> overrides(List<LimitOverride> read, Catalogue names) {
    return fitting(read, one -> fit(one, names), LimitOverride::name, LimitOverride::id);
  }

  /** The penalties with the names that there are, as far as their ids fit. */
  static List<Penalty> penalties(List<Penalty> read, Catalogue names) {
    return fitting(read, one -> fit(one, names), Penalty::name, Penalty::id);
  }

  /** Of two spellings of one id, the canonical one counts; the other one stays as it stands. */
  private static <T> List<T> fitting(
      List<T> read,
      Function<T, @Nullable T> fit,
      Function<T, LimitName> name,
      Function<T, String> id) {
    List<T> canonicalFirst = new ArrayList<>(read);
    canonicalFirst.sort(
        Comparator.comparing(
            one -> {
              T fits = fit.apply(one);
              return fits == null || !id.apply(fits).equals(id.apply(one));
            }));
    List<T> fitting = new ArrayList<>();
    Set<String> taken = new HashSet<>();
    for (T one : canonicalFirst) {
      T fits = fit.apply(one);
      boolean isFirst = fits != null && taken.add(name.apply(fits).bucketKey(id.apply(fits)));
      fitting.add(isFirst && fits != null ? fits : one);
    }
    return fitting;
  }

  private static @Nullable LimitOverride fit(LimitOverride one, Catalogue names) {
    LimitName name = names.find(one.name().name());
    String id = name == null ? null : canonical(name.overrideId(), one.id());
    return name == null || id == null
        ? null
        : new LimitOverride(name, id, one.quota(), one.comment());
  }

  private static @Nullable Penalty fit(Penalty one, Catalogue names) {
    LimitName name = names.find(one.name().name());
    String id = name == null ? null : canonical(name.id(), one.id());
    return name == null || id == null
        ? null
        : new Penalty(name, id, one.until(), one.owed(), one.comment());
  }

  private static @Nullable String canonical(IdFormat form, String id) {
    try {
      return form.canonical(id, Strictness.LENIENT);
    } catch (InvalidIdException e) {
      return null;
    }
  }

  /** Takes every id as it is. */
  private enum AnyId implements IdFormat {
    AS_IT_STANDS;

    // Its name() is the one of the constant.

    @Override
    public String canonical(String text, Strictness strictness) {
      return text;
    }
  }

  /** Collects the names that stand in a file of overrides or of penalties. */
  record Reader(Set<String> texts) implements CompanionFile<Reader> {

    @Override
    public Class<Reader> type() {
      return Reader.class;
    }

    @Override
    public String expected() {
      return "a list of overrides, or a map with the one field penalties";
    }

    @Override
    public @Nullable Reader read(
        Node root, String file, Limits limits, boolean known, Problems problems) {
      if (root instanceof Node.Sequence overrides) {
        for (Node item : overrides.items()) {
          entries(item).forEach(entry -> texts.add(entry.key().text()));
        }
      }
      for (Node.Entry field : entries(root)) {
        if (field.value() instanceof Node.Sequence penalties) {
          penalties.items().forEach(this::penalty);
        }
      }
      return null; // the texts are what was asked for
    }

    private void penalty(Node item) {
      for (Node.Entry field : entries(item)) {
        if (field.key().text().equals("limit") && field.value() instanceof Node.Scalar limit) {
          texts.add(limit.text());
        }
      }
    }

    private static List<Node.Entry> entries(Node node) {
      return node instanceof Node.Mapping map ? map.entries() : List.of();
    }
  }
}
