// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Reservation.Estimate;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.RequestWord;
import dev.sluice.web.Rule;
import dev.sluice.web.RuleBuilder;
import dev.sluice.web.VaryBy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.springframework.util.ClassUtils;

/** Parses the rules of {@code sluice.filter}. */
final class FilterRules {

  private static final String PRINCIPAL = "principal";
  private static final String CONSTANT = "constant:";
  private static final int SPRING_SECURITY_ORDER = -100;

  private FilterRules() {}

  /** Adds the rules of the file in {@code sluice.rules}, or the rules in properties and beans. */
  static void addTo(
      RuleBuilder<?> builder, SluiceProperties properties, Limits limits, Stream<Rule> beans) {
    List<Rule> rules = of(properties.filter(), beans);
    if (properties.rules() == null) {
      rules.forEach(builder::rule);
      return;
    }
    if (!rules.isEmpty()) {
      throw new SluiceConfigurationException(
          List.of(
              properties.filter().rules().isEmpty()
                  ? "sluice.rules: found a rule book and beans of type Rule"
                  : "sluice.rules: found a rule book and sluice.filter.rules"),
          "Keep the rules in the book (sluice.rules), or in sluice.filter.rules and beans, not in"
              + " both: in a book, only the first matching rule is charged; without a book, all"
              + " matching rules are charged.");
    }
    RuleBook book = RuleBook.of(limits);
    if (book.isEmpty()) {
      throw new SluiceConfigurationException(
          List.of("sluice.rules: found no rule for requests in " + properties.rules()),
          "Write at least one rule with path; rules with entries are for a proxy's descriptors.");
    }
    builder.rules(book);
  }

  /** Returns the rules in the properties and the rules that are beans. */
  private static List<Rule> of(SluiceProperties.Filter filter, Stream<Rule> beans) {
    List<Rule> rules = new ArrayList<>();
    List<String> problems = problems(filter, rules::add);
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems, "Correct the rules. A rule has path, limit and id; see docs/spring.md.");
    }
    beans.forEach(rules::add);
    return rules;
  }

  /** Passes each valid rule of the properties to a consumer, and returns the mistakes. */
  static List<String> problems(SluiceProperties.Filter filter, Consumer<Rule> taker) {
    List<String> problems = new ArrayList<>();
    for (int i = 0; i < filter.rules().size(); i++) {
      SluiceProperties.FilterRule properties = filter.rules().get(i);
      String place = "sluice.filter.rules[%s]".formatted(i);
      List<VaryBy> ids = new ArrayList<>();
      boolean usable = true;
      for (String word : properties.id()) {
        try {
          ids.add(source(word, filter.order()));
        } catch (IllegalArgumentException e) {
          problems.add(place + ".id: " + e.getMessage());
          ids.add(VaryBy.constant(word)); // so that other mistakes are reported too
          usable = false;
        }
      }
      try {
        Rule rule = rule(properties, ids, filter);
        if (usable) {
          taker.accept(rule);
        }
      } catch (IllegalArgumentException | IllegalStateException e) {
        problems.add(place + ": " + e.getMessage());
      }
    }
    return problems;
  }

  private static Rule rule(
      SluiceProperties.FilterRule properties, List<VaryBy> ids, SluiceProperties.Filter filter) {
    String limit = properties.limit();
    if (limit == null) {
      throw new IllegalArgumentException("the name of the limit is missing");
    }
    Rule.Builder rule =
        Rule.on(properties.path().toArray(String[]::new))
            .methods(properties.methods().toArray(String[]::new))
            .limit(limit, ids.toArray(VaryBy[]::new))
            .methodOverride(
                Objects.requireNonNullElse(properties.methodOverride(), filter.methodOverride()))
            .cost(Objects.requireNonNullElse(properties.cost(), 1L));
    if (Objects.requireNonNullElse(properties.ignoreCase(), filter.ignoreCase())) {
      rule.ignoreCase();
    }
    Long most = properties.estimate();
    if (most != null) {
      if (properties.cost() != null) {
        throw new IllegalArgumentException("found cost beside estimate, expected one or the other");
      }
      if (most < 1) {
        throw new IllegalArgumentException(
            "estimate: found %s, expected 1 or more tokens".formatted(most));
      }
      Estimate tokens = Estimate.mean(1, most);
      rule.estimate(request -> tokens.of(limit));
    }
    long conditions =
        Stream.of(
                !properties.countOnly().isEmpty(),
                !properties.countAllBut().isEmpty(),
                properties.countAllButSuccess())
            .filter(Boolean::booleanValue)
            .count();
    if (conditions > 1) {
      throw new IllegalArgumentException(
          "found several of count-only, count-all-but and count-all-but-success, expected one");
    }
    if (!properties.countOnly().isEmpty()) {
      rule.countOnly(ints(properties.countOnly()));
    }
    if (!properties.countAllBut().isEmpty()) {
      rule.countAllBut(ints(properties.countAllBut()));
    }
    if (properties.countAllButSuccess()) {
      rule.countAllButSuccess();
    }
    if (properties.shadow()) {
      rule.shadow();
    }
    return rule.build();
  }

  private static int[] ints(List<Integer> statuses) {
    return statuses.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Parses a word of rule files, or a word that only a filter in an application supports. */
  private static VaryBy source(String word, int order) {
    if (word.startsWith(CONSTANT)) {
      return VaryBy.constant(word.substring(CONSTANT.length()));
    }
    int bar = word.indexOf('|');
    if (!(bar < 0 ? word : word.substring(0, bar)).equals(PRINCIPAL)) {
      return RequestWord.parse(word);
    }
    if (order <= SPRING_SECURITY_ORDER
        && ClassUtils.isPresent(
            "org.springframework.security.config.http.SessionCreationPolicy",
            FilterRules.class.getClassLoader())) {
      throw new IllegalArgumentException(
          ("principal: the filter runs before Spring Security (order %s), where no user is logged"
                  + " in; set sluice.filter.order to -90")
              .formatted(order));
    }
    return bar < 0 ? VaryBy.principal() : VaryBy.principal().orId(word.substring(bar + 1));
  }

  static ClientAddress clientAddress(SluiceProperties.Client properties) {
    boolean behind = properties.header() != null;
    if (behind == properties.trustedProxies().isEmpty()) {
      throw problem(
          "found one of header and trusted-proxies, expected both: the header that the proxies"
              + " write, and their addresses");
    }
    try {
      ClientAddress found =
          behind
              ? ClientAddress.behind(
                  Objects.requireNonNull(properties.header()),
                  properties.trustedProxies().toArray(String[]::new))
              : ClientAddress.direct();
      return found.groupIpv6By(properties.ipv6Prefix());
    } catch (IllegalArgumentException e) {
      throw problem(String.valueOf(e.getMessage()));
    }
  }

  private static SluiceConfigurationException problem(String message) {
    return new SluiceConfigurationException(
        List.of("sluice.filter.client-address: " + message),
        "Correct sluice.filter.client-address, or remove it if there is no proxy.");
  }

  /** Builds a filter. A rule that does not fit the limits is a mistake in the configuration. */
  static <T> T build(Supplier<T> builder) {
    try {
      return builder.get();
    } catch (IllegalArgumentException e) {
      throw new SluiceConfigurationException(
          List.of(String.valueOf(e.getMessage())),
          "Correct sluice.filter.rules or the Rule beans, or configure the limits that they name."
              + " Your own limits need the form of their ids, such as sluice.limits.NAME.id=string.");
    }
  }
}
