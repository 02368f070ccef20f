// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Reservation.Estimate;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.RequestWord;
import dev.sluice.web.Rule;
import dev.sluice.web.Rules;
import dev.sluice.web.VaryBy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/** Parses one rule of {@code sluice.filter.rules}, and finds every mistake in it. */
final class RuleParser {

  private static final String PRINCIPAL = "principal";
  private static final String CONSTANT = "constant:";
  private static final int SPRING_SECURITY_ORDER = -100;

  /**
   * The valid source of an id that replaces a wrong source, to find the rule's other mistakes too.
   */
  private static final VaryBy ANY = VaryBy.header("any");

  private static final String ANY_PATH = "/**";

  /** The field's name in a message of {@link Rule.Builder}; the property's name replaces it. */
  private static final Pattern FIELD =
      Pattern.compile("^(path|method|cost|countOnly|countAllBut): ");

  private final SluiceProperties.Filter filter;
  private final SluiceProperties.FilterRule properties;
  private final String place;
  private final @Nullable Limits limits;
  private final MissingDefault missingDefault;
  private final List<String> problems;

  /**
   * Makes a parser.
   *
   * @param index the position of the rule in {@code sluice.filter.rules}
   * @param limits the limits that the rule must fit; null if they could not be loaded
   * @param problems a consumer that receives one line per mistake
   */
  RuleParser(
      SluiceProperties.Filter filter,
      int index,
      @Nullable Limits limits,
      MissingDefault missingDefault,
      List<String> problems) {
    this.filter = filter;
    this.properties = filter.rules().get(index);
    this.place = "sluice.filter.rules[%s]".formatted(index);
    this.limits = limits;
    this.missingDefault = missingDefault;
    this.problems = problems;
  }

  /** Returns the rule; null if there was a mistake. */
  @Nullable Rule parse() {
    int before = problems.size();
    if (properties.path().isEmpty()) {
      problem("path", "the rule has no path; add at least one, such as /login");
    }
    properties.path().forEach(path -> correct("path", () -> Rule.on(path)));
    boolean pathsAreRight = problems.size() == before;
    String[] paths =
        pathsAreRight ? properties.path().toArray(String[]::new) : new String[] {ANY_PATH};
    Rule.Builder rule =
        Rule.on(paths)
            .methodOverride(
                Objects.requireNonNullElse(properties.methodOverride(), filter.methodOverride()));
    properties.methods().forEach(method -> correct("methods", () -> rule.methods(method)));
    if (Objects.requireNonNullElse(properties.ignoreCase(), filter.ignoreCase())) {
      rule.ignoreCase();
    }
    String where = String.join(", ", paths);
    LimitName name = name(where);
    List<VaryBy> ids = ids(pathsAreRight);
    String limit = Objects.requireNonNullElse(properties.limit(), "");
    if (!ids.isEmpty()
        && correct("id", () -> rule.limit(limit, ids.toArray(VaryBy[]::new))) != null
        && name != null) {
      checkFit("id", rule.build(), where);
    }
    addCost(rule, name);
    addStatuses(rule);
    if (properties.shadow()) {
      rule.shadow();
    }
    return problems.size() > before ? null : rule.build();
  }

  private void problem(String field, String message) {
    problems.add("%s.%s: %s".formatted(place, field, FIELD.matcher(message).replaceFirst("")));
  }

  /** Returns the parsed value of a field; null if the field has a mistake. */
  @CanIgnoreReturnValue
  private <T> @Nullable T correct(String field, Supplier<T> step) {
    try {
      return step.get();
    } catch (IllegalArgumentException e) {
      problem(field, String.valueOf(e.getMessage()));
      return null;
    }
  }

  /**
   * Adds the mistakes of a rule that does not fit the limits; the messages omit the rule's paths.
   */
  private void checkFit(String field, Rule rule, String where) {
    if (limits != null) {
      String prefix = "rule %s: ".formatted(where);
      for (String fault : Rules.of(List.of(rule), ClientAddress.direct()).faults(limits)) {
        problem(field, fault.startsWith(prefix) ? fault.substring(prefix.length()) : fault);
      }
    }
  }

  /** Returns the rule's limit; null if there was a mistake, or the limits are unknown. */
  private @Nullable LimitName name(String where) {
    String limit = properties.limit();
    if (limit == null) {
      problem("limit", "the name of the limit is missing");
      return null;
    }
    Limits known = limits;
    LimitName name = known == null ? null : correct("limit", () -> known.catalogue().get(limit));
    Requirement needed = new Requirement(limit, "the rule " + where, missingDefault);
    if (known != null
        && name != null
        && missingDefault == MissingDefault.REFUSE
        && !needed.isMetBy(known)) {
      problem("limit", needed.message(known));
    }
    return name;
  }

  private List<VaryBy> ids(boolean pathsAreRight) {
    if (properties.id().isEmpty()) {
      problem("id", "the source of the id is missing; add one, such as ip");
    }
    List<VaryBy> ids = new ArrayList<>();
    for (String word : properties.id()) {
      VaryBy id = correct("id", () -> source(word, filter.order()));
      ids.add(id == null || (!pathsAreRight && word.startsWith("path:")) ? ANY : id);
    }
    return ids;
  }

  private void addCost(Rule.Builder rule, @Nullable LimitName name) {
    Long cost = properties.cost();
    Long most = properties.estimate();
    if (cost != null && correct("cost", () -> rule.cost(cost)) != null && name != null) {
      VaryBy[] ids = Collections.nCopies(name.id().parts().size(), ANY).toArray(VaryBy[]::new);
      checkFit("cost", Rule.on(ANY_PATH).limit(name.name(), ids).cost(cost).build(), ANY_PATH);
    }
    if (most == null) {
      return;
    }
    if (cost != null) {
      problem("estimate", "found both cost and estimate, expected only one");
    }
    if (most < 1) {
      problem("estimate", "found %s, expected 1 or more tokens".formatted(most));
      return;
    }
    Estimate tokens = Estimate.mean(1, most);
    String limit = Objects.requireNonNullElse(properties.limit(), "");
    rule.estimate(request -> tokens.of(limit));
  }

  private void addStatuses(Rule.Builder rule) {
    List<Integer> only = properties.countOnly();
    List<Integer> allBut = properties.countAllBut();
    boolean success = properties.countAllButSuccess();
    if (Stream.of(!only.isEmpty(), !allBut.isEmpty(), success).filter(set -> set).count() > 1) {
      problem(
          only.isEmpty() ? "count-all-but" : "count-only",
          "found several of count-only, count-all-but and count-all-but-success, expected one");
    }
    if (!only.isEmpty()) {
      correct("count-only", () -> rule.countOnly(ints(only)));
    }
    if (!allBut.isEmpty()) {
      correct("count-all-but", () -> rule.countAllBut(ints(allBut)));
    }
    if (success) {
      rule.countAllButSuccess();
    }
  }

  private static int[] ints(List<Integer> statuses) {
    return statuses.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Parses a word of the rule book, or a word that only a filter in an application supports. */
  private static VaryBy source(String word, int order) {
    if (word.startsWith(CONSTANT)) {
      return VaryBy.constant(word.substring(CONSTANT.length()));
    }
    int bar = word.indexOf('|');
    if (!(bar < 0 ? word : word.substring(0, bar)).equals(PRINCIPAL)) {
      return RequestWord.parse(word, List.of(PRINCIPAL, CONSTANT + "TEXT"));
    }
    if (order <= SPRING_SECURITY_ORDER
        && ClassUtils.isPresent(
            "org.springframework.security.config.http.SessionCreationPolicy",
            RuleParser.class.getClassLoader())) {
      throw new IllegalArgumentException(
          ("principal: the filter runs before Spring Security (order %s), where no user is logged"
                  + " in; set sluice.filter.order to -90")
              .formatted(order));
    }
    return bar < 0 ? VaryBy.principal() : VaryBy.principal().orId(word.substring(bar + 1));
  }
}
