// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharging.Charged;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks whether a book's rules can produce an override's id, so that the override applies. */
final class AskedIds {

  /**
   * The largest number of rules per limit for which ids are checked. Each override is compared with
   * each rule that charges its limit; with more rules, these comparisons would slow reloads down.
   */
  private static final int MOST_TEMPLATES = 200;

  private record Asking(int line, Template<?> template) {}

  private final Map<String, List<Asking>> byLimit = new HashMap<>();

  AskedIds(List<AnyRule> rules) {
    for (AnyRule rule : rules) {
      for (Charged<?> charged : rule.charging().limits()) {
        byLimit
            .computeIfAbsent(charged.limit(), name -> new ArrayList<>())
            .add(new Asking(rule.line(), charged.id()));
      }
    }
  }

  /**
   * Returns a warning if no rule can produce the id of an override or a penalty. The warning names
   * the most similar id that a rule can produce.
   *
   * @param format the id format of the limit, or the id format of the limit's overrides
   * @param id the id in canonical form
   * @return the warning; null if a rule can produce the id, if no rule names the limit, or if more
   *     than {@link #MOST_TEMPLATES} rules name the limit
   */
  @Nullable String doubt(LimitName name, IdFormat format, String id) {
    List<Asking> asking = byLimit.getOrDefault(name.name(), List.of());
    if (asking.isEmpty() || asking.size() > MOST_TEMPLATES) {
      return null;
    }
    int count = format.parts().size();
    IdFormat form = count == name.id().parts().size() ? name.id() : format;
    List<String> parts = form.split(id);
    String instead = null;
    for (Asking one : asking) {
      List<String> nearest = one.template.nearest(parts);
      String asked = nearest == null ? null : canonical(form, nearest);
      if (id.equals(asked)) {
        return null;
      }
      if (instead == null && asked != null) {
        instead = "the rule on line %s uses the id %s".formatted(one.line, SafeText.quote(asked));
      }
    }
    Asking first = asking.get(0);
    return "no rule uses the id %s of %s: %s"
        .formatted(
            SafeText.quote(id),
            name,
            instead != null
                ? instead + " instead"
                : "the rule on line %s uses the id %s"
                    .formatted(first.line, SafeText.quote(first.template.toString())));
  }

  private static @Nullable String canonical(IdFormat form, List<String> parts) {
    try {
      return form.join(parts, Strictness.LENIENT);
    } catch (InvalidIdException e) {
      return null;
    }
  }
}
