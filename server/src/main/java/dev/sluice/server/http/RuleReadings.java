// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.Explanation;
import dev.sluice.rules.RuleBook.Explanation.PassedOver;
import dev.sluice.rules.RuleBook.Explanation.Unusable;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * For each possible interpretation of a request, the rule that matches. An application can
 * interpret a request in one or several ways, called readings. Charges nothing.
 */
record RuleReadings(String file, List<RuleReading> all) {

  /** Answers {@code GET /v1/rules}: the rule book in force. */
  static AggregatedHttpResponse rules(ServiceRequestContext context, Limits limits) {
    Queries.require(context, List.of());
    if (!AccessPart.caller(context).mayUseAll()) {
      throw RefusedException.forbidden("the rules name limits that this token may not use", null);
    }
    RuleBook book = RuleBook.of(limits);
    return Answers.json(
        HttpStatus.OK,
        json ->
            json.put("file", book.file())
                .putEach(
                    "rules",
                    book.forms(),
                    (rule, one) ->
                        one.put("line", rule.line())
                            .put("for", rule.forRequests() ? "request" : "descriptor")
                            .put("matches", rule.matches())));
  }

  static RuleReadings of(WebRequest request, Limits limits) {
    RuleBook book = RuleBook.of(limits);
    List<RuleReading> all = new ArrayList<>();
    try {
      for (RequestFacts facts : book.readings(request, ClientAddress.direct())) {
        all.add(RuleReading.of(facts, book.explain(facts), limits));
      }
    } catch (UnusableRequestException e) {
      all.add(
          new RuleReading(
              request.method(), request.path(), List.of(), null, null, List.of(), e.detail()));
    }
    return new RuleReadings(book.file(), all);
  }

  void write(Json json) {
    json.putEach("readings", all, RuleReading::write);
  }

  List<String> lines() {
    List<String> lines = new ArrayList<>();
    for (RuleReading reading : all) {
      if (all.size() > 1) {
        lines.add("read as %s %s:".formatted(reading.method, SafeText.printable(reading.path)));
      }
      reading.addLines(file, lines);
    }
    return lines;
  }

  /**
   * The effect of the rules on one possible interpretation of a request.
   *
   * @param passedOver the rules before the deciding rule
   * @param line the line of the deciding rule, null if no rule decides
   * @param verdict the outcome of the rules; null if no rule matches, or the request is unusable
   * @param problem why the request cannot be charged, null if the request can be charged
   */
  private record RuleReading(
      String method,
      String path,
      List<PassedOver> passedOver,
      @Nullable Integer line,
      @Nullable Verdict verdict,
      List<Charged> charges,
      @Nullable String problem) {

    static RuleReading of(RequestFacts facts, Explanation why, Limits limits) {
      Unusable unusable = why.unusable();
      RuleMatch match = why.match();
      List<Charged> charges = new ArrayList<>();
      String problem = unusable == null ? null : unusable.detail();
      if (match != null) {
        for (RuleCharge charge : match.charges()) {
          Charged one = Charged.of(charge, limits);
          charges.add(one);
          // The server skips a shadow charge that has a mistake.
          problem = one.shadow || one.problem == null ? problem : one.problem;
        }
      }
      why.skipped().forEach(one -> charges.add(new Charged(one.limit(), true, null, one.reason())));
      return new RuleReading(
          facts.method(),
          facts.pathText(),
          why.passedOver(),
          unusable != null ? Integer.valueOf(unusable.line()) : match == null ? null : match.line(),
          match == null ? null : match.verdict(),
          charges,
          problem);
    }

    void write(Json json) {
      json.put("method", method)
          .put("path", path)
          .putEach(
              "passedOver",
              passedOver,
              (rule, one) -> one.put("line", rule.line()).put("reason", rule.reason()))
          .put("line", line);
      if (verdict != null) {
        json.put("verdict", verdict.name().toLowerCase(Locale.ROOT))
            .putEach(
                "charges",
                charges.stream().filter(charge -> charge.transaction != null).toList(),
                Charged::write);
      }
      json.put("problem", problem);
    }

    void addLines(String file, List<String> lines) {
      for (PassedOver rule : passedOver) {
        lines.add("%s:%s: not this rule: %s".formatted(file, rule.line(), rule.reason()));
      }
      if (verdict != null) {
        String all =
            switch (verdict) {
              case UNLIMITED -> ": unlimited";
              case DENIES -> ": always denied";
              case CHARGES -> charges.isEmpty() ? ": nothing" : "";
            };
        lines.add("%s:%s: this rule%s".formatted(file, line, all));
        charges.forEach(charge -> lines.add("  " + charge));
      } else if (line != null) {
        lines.add("%s:%s: cannot be charged: %s".formatted(file, line, problem));
      } else {
        lines.add(
            problem == null
                ? "no rule matches: nothing is charged"
                : "the request cannot be charged: " + problem);
      }
    }
  }

  /** One charge of a rule; {@code transaction} is null if the charge has a mistake. */
  private record Charged(
      String limit, boolean shadow, @Nullable Transaction transaction, @Nullable String problem) {

    static Charged of(RuleCharge charge, Limits limits) {
      try {
        return new Charged(charge.limit(), charge.shadow(), charge.transaction(limits, 1), null);
      } catch (InvalidRequestException e) {
        return new Charged(charge.limit(), charge.shadow(), null, String.valueOf(e.getMessage()));
      }
    }

    void write(Json json) {
      if (transaction != null) {
        json.put("limit", limit)
            .put("id", transaction.id())
            .put("cost", transaction.cost())
            .put("shadow", shadow);
      }
    }

    @Override
    public String toString() {
      String in = shadow ? ", in shadow" : "";
      return transaction == null
          ? "%s%s, cannot be charged: %s".formatted(limit, in, problem)
          : "%s of %s, cost %s%s"
              .formatted(limit, SafeText.printable(transaction.id()), transaction.cost(), in);
    }
  }
}
