// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.rules.RequestTemplate;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.RequestForm;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.store.MemoryStore;
import dev.sluice.store.TimeSource;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.VaryBy;
import dev.sluice.web.WebRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The limits in force, or the candidate: limits with their rules, a limiter, and a tally for each
 * limit of each rule. Not thread-safe.
 */
final class Side {

  private static final String FIELD = "field:";
  private static final byte[] NO_ID = {};

  /** What the rules determine for a request before a limit decides it. */
  enum Outcome {
    CHARGED,
    /** The matching rule charges no tokens: the rule is unlimited, or its id has no value. */
    FREE,
    NO_RULE,
    /** The matching rule denies all of its requests, or the cost is above the burst. */
    DENIED,
    /**
     * The request lacks a value that a rule or a {@code LIMIT=ID} needs, has the value in an
     * unusable form, or has too many interpretations. For an unusable request, a server would reply
     * with 400.
     */
    UNUSABLE
  }

  /** The charges of a request. */
  static final class Charges {

    final Outcome outcome;

    /**
     * The transactions that decide, followed by the transactions in shadow; if a cost is above the
     * burst, only the transaction with this cost. Empty after {@link #shrink}.
     */
    List<Transaction> together;

    /**
     * The tally of each transaction. If the rules deny the request, one tally counts the denial.
     */
    final List<Tally> tallies;

    /** Whether the cost is above the burst of a limit, which can be in shadow. */
    final boolean isTooCostly;

    private final int trials; // the number of transactions in shadow
    // If one transaction decides, and no limit is in shadow, the following fields
    // copy the transaction, so that a decision reads few objects.
    private final @Nullable Limit onlyLimit;
    private final @Nullable Tally onlyTally;
    private final long cost;
    final byte[] utf8Id; // empty if onlyLimit is null

    private Charges(
        Outcome outcome,
        List<Transaction> together,
        List<Tally> tallies,
        int trials,
        boolean isTooCostly,
        @Nullable Limit onlyLimit) {
      this.outcome = outcome;
      this.together = together;
      this.tallies = tallies;
      this.trials = trials;
      this.isTooCostly = isTooCostly;
      this.onlyLimit = onlyLimit;
      this.onlyTally = onlyLimit == null ? null : tallies.get(0);
      this.cost = onlyLimit == null ? 0 : together.get(0).cost();
      this.utf8Id =
          onlyLimit == null ? NO_ID : together.get(0).id().getBytes(StandardCharsets.UTF_8);
    }

    private static Charges of(Outcome outcome, List<Tally> tallies) {
      return new Charges(outcome, List.of(), tallies, 0, false, null);
    }

    /**
     * Forgets the only transaction if other fields have its values. This saves half of the memory
     * for the charges of a line.
     */
    void shrink() {
      together = onlyLimit == null ? together : List.of();
    }

    /**
     * Counts the request once for each tally. A tally in shadow counts each id apart, as a server
     * does; a denied request is not charged to the limits in shadow.
     */
    void countRequest(boolean isDenied) {
      if (onlyTally != null) {
        onlyTally.requests++;
        return;
      }
      for (int i = 0; i < tallies.size(); i++) {
        Tally tally = tallies.get(i);
        boolean counts = tally.shadow ? !isDenied : tallies.indexOf(tally) == i;
        tally.requests += counts ? 1 : 0;
      }
    }
  }

  /** The counts for one limit of one rule. */
  static final class Tally {

    final int line;
    final String limit;
    final boolean shadow;
    long requests;
    long denied;
    long longestWaitNanos;
    final BitSet clients = new BitSet();
    final BitSet deniedClients = new BitSet();
    final Sketch sketch = new Sketch();

    Tally(int line, String limit, boolean shadow) {
      this.line = line;
      this.limit = limit;
      this.shadow = shadow;
    }

    void deny(long waitNanos, int client) {
      denied++;
      longestWaitNanos = Math.max(longestWaitNanos, waitNanos);
      if (client >= 0) {
        deniedClients.set(client);
      }
    }
  }

  private record Count(String limit, RequestTemplate id) {}

  private record TallyKey(int line, String limit, boolean shadow) {}

  private final Limits limits;
  private final RuleBook book;
  private final List<Count> counts = new ArrayList<>();
  private final Limiter limiter;
  private final Map<TallyKey, Tally> tallies = new LinkedHashMap<>();

  /**
   * @param rules the rule book, which is used if {@code counted} is empty
   * @param counted the limits that are charged without rules, each {@code LIMIT=ID}
   */
  Side(Limits limits, RuleBook rules, List<String> counted, TimeSource time, long mostBuckets) {
    this.limits = limits;
    this.book = rules;
    for (String one : counted) {
      Count count = count(one);
      if (counts.stream().anyMatch(other -> other.limit().equals(count.limit()))) {
        throw new IllegalArgumentException(
            "found --count twice for %s, expected it once for each limit".formatted(count.limit()));
      }
      counts.add(count);
    }
    if (counts.isEmpty()) {
      rules.requirements().forEach(this::require);
    }
    this.limiter =
        Limiter.builder(
                new CurrentLimits(limits),
                MemoryStore.builder().time(time).maxBuckets(mostBuckets).build())
            .time(time)
            .build();
  }

  private Count count(String text) {
    int equals = text.indexOf('=');
    if (equals < 1) {
      throw new IllegalArgumentException(
          "--count: found %s, expected LIMIT=ID such as CallsPerClient={ip}"
              .formatted(SafeText.quote(text)));
    }
    LimitName name = limits.catalogue().get(text.substring(0, equals));
    require(new Requirement(name.name(), "--count", MissingDefault.REFUSE));
    return new Count(
        name.name(),
        RequestTemplate.parse(
            text.substring(equals + 1),
            name.id(),
            word ->
                word.startsWith(FIELD)
                    ? VaryBy.function(word, r -> field(r, word)).orSkip()
                    : null));
  }

  /**
   * Throws if a limit cannot be used, so that the replay does not fail only at the first request
   * for this limit.
   */
  private void require(Requirement needed) {
    if (!needed.isMetBy(limits)) {
      throw new IllegalArgumentException(needed.message(limits));
    }
  }

  private static @Nullable String field(WebRequest request, String word) {
    return request.unwrap(LogRequest.class).field(word);
  }

  Limiter limiter() {
    return limiter;
  }

  List<Tally> tallies() {
    return List.copyOf(tallies.values());
  }

  /** Returns the rules in use; an empty list if limits are charged without rules. */
  List<RequestForm> rules() {
    return counts.isEmpty() ? book.requestRules() : List.of();
  }

  String rulesFile() {
    return String.valueOf(Path.of(book.file()).getFileName());
  }

  Charges charges(LogRequest request, ClientAddress address, long hits) {
    try {
      request.requireRequest();
      return counts.isEmpty()
          ? ofRules(request, address, hits)
          : ofCounts(new RequestFacts(request, address), hits);
    } catch (UnusableRequestException | InvalidRequestException e) {
      return Charges.of(Outcome.UNUSABLE, List.of());
    }
  }

  private Charges ofCounts(RequestFacts facts, long hits) {
    Map<String, Transaction> together = new LinkedHashMap<>();
    for (Count count : counts) {
      LimitName name = limits.catalogue().get(count.limit());
      for (List<String> parts : count.id().ids(facts)) {
        String id = name.id().join(parts, Strictness.LENIENT);
        Transaction one = Transaction.of(limits, count.limit(), id);
        if (isAboveBurst(one, hits)) {
          return denied(one, tally(0, count.limit(), false));
        }
        together.put(one.bucketKey(), one.withCost(hits));
      }
    }
    return charged(0, List.copyOf(together.values()), List.of(), false);
  }

  /**
   * Returns the cost that a request would charge to each id of one limit, even if the cost is above
   * the burst.
   */
  Map<String, Long> demands(String limit, LogRequest request, ClientAddress address, long hits) {
    Map<String, Long> demands = new LinkedHashMap<>();
    LimitName name = limits.catalogue().get(limit);
    try {
      request.requireRequest();
      if (counts.isEmpty()) {
        RuleMatch match = match(request, address, hits);
        for (RuleCharge charge : match == null ? List.<RuleCharge>of() : match.charges()) {
          if (charge.limit().equals(limit)) {
            demands.merge(charge.transaction(limits).id(), charge.cost(1), Math::max);
          }
        }
      } else {
        RequestFacts facts = new RequestFacts(request, address);
        for (Count count : counts) {
          for (List<String> parts :
              count.limit().equals(limit) ? count.id().ids(facts) : List.<List<String>>of()) {
            demands.put(name.id().join(parts, Strictness.LENIENT), hits);
          }
        }
      }
    } catch (UnusableRequestException | InvalidRequestException e) {
      return Map.of();
    }
    demands.keySet().removeIf(id -> limits.overrideFor(name, id) != null);
    return Map.copyOf(demands);
  }

  private static boolean isAboveBurst(Transaction transaction, long cost) {
    return cost > Quota.leastBurst(transaction.quotas());
  }

  private static Charges denied(Transaction tooCostly, Tally tally) {
    return new Charges(Outcome.DENIED, List.of(tooCostly), List.of(tally), 0, true, null);
  }

  /**
   * Returns the charges of the matching rule. If a charge has no cost of its own, the cost is read
   * from the log.
   */
  private @Nullable RuleMatch match(LogRequest request, ClientAddress address, long hits) {
    return book.match(request, address)
        .map(
            match ->
                new RuleMatch(
                    match.line(),
                    match.verdict(),
                    match.charges().stream().map(charge -> withCost(charge, hits)).toList(),
                    match.replaces()))
        .orElse(null);
  }

  private static RuleCharge withCost(RuleCharge charge, long hits) {
    return charge.fixedCost() != null ? charge : charge.costing(hits);
  }

  private Charges ofRules(LogRequest request, ClientAddress address, long hits) {
    RuleMatch match = match(request, address, hits);
    if (match == null) {
      return Charges.of(Outcome.NO_RULE, List.of());
    }
    if (match.verdict() == Verdict.DENIES) {
      return Charges.of(Outcome.DENIED, List.of(tally(match.line(), "", false)));
    }
    boolean isTooCostly = false;
    for (RuleCharge charge : match.charges()) {
      Transaction one;
      try {
        one = charge.transaction(limits);
      } catch (InvalidRequestException e) {
        if (charge.shadow()) {
          continue; // a limit in shadow rejects no request
        }
        throw e;
      }
      if (isAboveBurst(one, charge.cost(1))) {
        if (!charge.shadow()) {
          return denied(one, tally(match.line(), charge.limit(), false));
        }
        isTooCostly = true;
      }
    }
    return charged(match.line(), match.enforced(limits, 1), match.trials(limits, 1), isTooCostly);
  }

  private Charges charged(
      int line, List<Transaction> enforced, List<Transaction> trials, boolean isTooCostly) {
    if (enforced.isEmpty() && trials.isEmpty() && !isTooCostly) {
      return Charges.of(Outcome.FREE, List.of());
    }
    List<Transaction> all = new ArrayList<>(enforced);
    all.addAll(trials);
    List<Tally> theirs = new ArrayList<>(all.size());
    for (Transaction transaction : all) {
      theirs.add(tally(line, transaction.name().name(), transaction.isShadow()));
    }
    return new Charges(
        Outcome.CHARGED,
        List.copyOf(all),
        List.copyOf(theirs),
        trials.size(),
        isTooCostly,
        enforced.size() == 1 && theirs.size() == 1 && enforced.get(0).quota() != null
            ? limiter.limit(enforced.get(0).name().name())
            : null);
  }

  private Tally tally(int line, String limit, boolean shadow) {
    return tallies.computeIfAbsent(
        new TallyKey(line, limit, shadow), key -> new Tally(line, limit, shadow));
  }

  /**
   * Counts a client for each limit to which the client's request is charged. For a limit in shadow,
   * a client counts even if the enforced limits deny all of the client's requests.
   */
  void see(Charges charges, int client, long hash) {
    for (Tally tally : charges.tallies) {
      tally.sketch.add(hash);
      if (client >= 0) {
        tally.clients.set(client);
      }
    }
  }

  /**
   * Decides a request as a server does: limits in shadow are charged only if the enforced limits
   * allow the request. Returns null if no limit decides the request, or if the rules have already
   * denied it. {@code client} is called only if a limit in shadow denies the request.
   */
  @Nullable Decision decide(Charges charges, IntSupplier client) {
    Limit limit = charges.onlyLimit;
    if (limit != null) {
      return limit.trySpendUtf8(charges.utf8Id, charges.cost)
          ? null
          : limit.check(new String(charges.utf8Id, StandardCharsets.UTF_8), charges.cost);
    }
    if (charges.outcome == Outcome.DENIED) {
      return null;
    }
    List<Transaction> all = charges.together;
    int enforced = all.size() - charges.trials;
    Decision decision = enforced == 0 ? null : limiter.spend(all.subList(0, enforced));
    if (decision != null && decision.denied()) {
      return decision;
    }
    for (int i = enforced; i < all.size(); i++) {
      Decision trial = limiter.spend(all.get(i));
      if (trial.denied()) {
        charges.tallies.get(i).deny(trial.retryInNanos(), client.getAsInt());
      }
    }
    return decision;
  }

  static Tally decisive(Charges charges, Decision decision) {
    for (int i = 0; i < charges.together.size(); i++) {
      Transaction decided = decision.transaction();
      if (decided != null && charges.together.get(i).bucketKey().equals(decided.bucketKey())) {
        return charges.tallies.get(i);
      }
    }
    return charges.tallies.get(0);
  }
}
