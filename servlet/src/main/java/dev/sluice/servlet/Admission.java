package dev.sluice.servlet;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way through its rules: what they ask for together, and what shadow rules ask
 * for, each by itself, so that a trial can not refuse what the others let through.
 *
 * <p>Not thread-safe. Spending blocks as long as the store does.
 */
final class Admission {

  private final Limiter limiter;
  private final QuietLog log;
  private final Visit visit;
  private final Limits limits;
  private final Batch enforced = new Batch();
  private final List<Batch> open = new ArrayList<>();
  private final List<Rule> shadows = new ArrayList<>();

  Admission(Limiter limiter, QuietLog log, Visit visit) {
    this.limiter = limiter;
    this.log = log;
    this.visit = visit;
    this.limits = limiter.limits().get();
  }

  /**
   * Spends what all rules for this request ask for, or nothing.
   *
   * @return the decision, null where they ask for nothing
   * @throws UnusableRequestException if one of them can not be applied to the request
   */
  @Nullable Decision spend(List<Rule> rules) {
    List<Rule> matched = new ArrayList<>();
    for (Rule rule : rules) {
      if (rule.match(visit) != null) {
        (rule.isShadow() ? shadows : matched).add(rule);
      }
    }
    for (Rule rule : matched) {
      for (Transaction transaction : transactions(rule)) {
        enforced.add(rule, transaction);
      }
    }
    return enforced.isEmpty() ? null : spend(enforced);
  }

  private List<Transaction> transactions(Rule rule) {
    Map<String, String> variables = rule.match(visit);
    return variables == null ? List.of() : rule.transactions(limits, visit, variables);
  }

  private Decision spend(Batch batch) {
    Decision decision = batch.spend(limiter);
    if (batch.isOpen()) {
      open.add(batch);
    }
    return decision;
  }

  /** Spends what each shadow rule asks for. Nothing that goes wrong here is the client's. */
  void spendInShadow() {
    for (Rule rule : shadows) {
      Batch batch = new Batch();
      try {
        for (Transaction transaction : transactions(rule)) {
          batch.add(rule, transaction.inShadow());
        }
        if (!batch.isEmpty()) {
          Decision decision = spend(batch);
          if (decision.denied() && decision.transaction() != null) {
            log.shadowDenied(rule, decision.transaction().name());
          }
        }
      } catch (RuntimeException e) {
        log.failed("could not decide for the shadow rule on " + rule, e);
      }
    }
  }

  /** The batches of which the response's status may give something back. */
  List<Batch> open() {
    return open;
  }
}
