// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Reservation.Estimate.EstimatedCost;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A rule that selects requests by path and method, and declares from which limits these requests
 * spend, with which ids and which cost.
 *
 * <pre>{@code
 * Rule.on("/login").methods("POST")
 *     .limit("LoginsPerIPAddress", VaryBy.clientAddress())
 *     .build();
 * }</pre>
 *
 * <p>Immutable and thread-safe.
 */
public final class Rule {

  private final List<PathPattern> paths;
  private final String where;
  private final Set<String> methods;
  private final List<Spend> spends;
  private final Cost cost;
  private final @Nullable Predicate<Integer> counted;
  private final boolean shadow;
  private final boolean ignoresCase;
  private final boolean methodOverride;

  private Rule(Builder builder) {
    this.paths =
        builder.ignoresCase
            ? builder.paths.stream().map(PathPattern::ignoringCase).toList()
            : builder.paths;
    this.where = paths.stream().map(PathPattern::toString).collect(Collectors.joining(", "));
    this.methods = Set.copyOf(builder.methods);
    this.spends = List.copyOf(builder.spends);
    this.cost = builder.cost;
    this.counted = builder.counted;
    this.shadow = builder.shadow;
    this.ignoresCase = builder.ignoresCase;
    this.methodOverride = builder.methodOverride;
  }

  /**
   * Returns a builder for a rule.
   *
   * @param paths the paths, relative to the application's context path, at least one: {@code
   *     /login}, {@code /users/{user}/export}, {@code *} for any single segment, {@code **} at the
   *     end for all further segments
   * @return a builder
   * @throws IllegalArgumentException if a pattern is invalid
   */
  public static Builder on(String... paths) {
    return new Builder(paths);
  }

  /** One interpretation of a request that matches this rule, with the path's variables. */
  record Reading(RequestFacts facts, Map<String, String> variables) {}

  /**
   * Returns each interpretation of a request that matches this rule.
   *
   * @return the interpretations, an empty list if the request does not match
   */
  List<Reading> match(RequestFacts facts) {
    List<Reading> readings = new ArrayList<>(1);
    for (RequestFacts reading : facts.readings()) {
      RequestFacts seen = reading.as(ignoresCase, methodOverride);
      if (methods.isEmpty() || methods.contains(seen.method())) {
        Map<String, String> variables = variables(seen.path());
        if (variables != null) {
          readings.add(new Reading(seen, variables));
        }
      }
    }
    return readings;
  }

  private @Nullable Map<String, String> variables(List<String> path) {
    for (PathPattern pattern : paths) {
      Map<String, String> variables = pattern.match(path);
      if (variables != null) {
        return variables;
      }
    }
    return null;
  }

  /** A limit from which a request spends, with the request's id. */
  private record Spent(Spend spend, String id) {}

  /**
   * Returns the transactions of a request under this rule; a bucket can occur more than once. The
   * future completes when the application has supplied all quotas.
   */
  CompletableFuture<List<Transaction>> transactions(Limits limits, List<Reading> readings) {
    if (readings.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    WebRequest request = readings.get(0).facts.request();
    List<Spent> spent = new ArrayList<>(spends.size());
    for (Reading reading : readings) {
      for (Spend spend : spends) {
        reading
            .facts
            .inEachSpelling(facts -> spend.id(limits, facts, reading.variables))
            .forEach(id -> id.ifPresent(one -> spent.add(new Spent(spend, one))));
      }
    }
    if (spent.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    UnaryOperator<Transaction> charge = cost.of(request);
    IdentityHashMap<Spend, CompletableFuture<@Nullable List<Quota>>> quotas =
        new IdentityHashMap<>();
    for (Spent one : spent) {
      QuotaSource source = one.spend.quota();
      if (source != null) {
        quotas.computeIfAbsent(one.spend, spend -> source.ask(request));
      }
    }
    return quotas.isEmpty()
        ? CompletableFuture.completedFuture(transactions(limits, spent, charge, quotas))
        : CompletableFuture.allOf(quotas.values().toArray(CompletableFuture<?>[]::new))
            .handle((done, failure) -> transactions(limits, spent, charge, quotas));
  }

  private List<Transaction> transactions(
      Limits limits,
      List<Spent> spent,
      UnaryOperator<Transaction> charge,
      IdentityHashMap<Spend, CompletableFuture<@Nullable List<Quota>>> quotas) {
    return spent.stream()
        .map(one -> charge.apply(one.spend.transaction(limits, one.id, quotas.get(one.spend))))
        .toList();
  }

  /** Returns the statuses after which tokens stay spent; null if tokens always stay spent. */
  @Nullable Predicate<Integer> counts() {
    return counted;
  }

  /** Returns whether the cost is an estimate, which the true cost replaces. */
  boolean isEstimated() {
    return cost.estimate() != null;
  }

  /** Returns whether this rule depends on a request's method override. */
  boolean readsMethodOverride() {
    return methodOverride
        && (!methods.isEmpty()
            || spends.stream().flatMap(spend -> spend.id().stream()).anyMatch(VaryBy::isMethod));
  }

  boolean isShadow() {
    return shadow;
  }

  /** Returns whether a function that supplies a quota can block the thread of the request. */
  boolean mayBlock() {
    return spends.stream()
        .map(Spend::quota)
        .anyMatch(source -> source != null && source.mayBlock());
  }

  /** Returns one message for each mistake of this rule under the given limits. */
  List<String> faults(Limits limits) {
    List<String> faults = new ArrayList<>();
    for (Spend spend : spends) {
      try {
        LimitName name = spend.check(limits.catalogue());
        long burst =
            spend.quota() == null ? Quota.leastBurst(limits.defaultsFor(name)) : Long.MAX_VALUE;
        if (cost.fixed() > burst) {
          faults.add(
              "rule %s: found the cost %s for %s, whose burst is %s: no request could ever pass"
                  .formatted(where(), cost.fixed(), name, burst));
        }
      } catch (IllegalArgumentException e) {
        faults.add("rule %s: %s".formatted(where(), e.getMessage()));
      }
    }
    return faults;
  }

  /**
   * Returns the limits that this rule requires. If the application supplies a limit's quota, the
   * limit needs no default. A limit that has a default now must keep a default, since the
   * application can rely on the default.
   */
  List<Requirement> requirements(Limits now, MissingDefault onMissing) {
    return spends.stream()
        .filter(spend -> spend.quota() == null || spend.hasDefault(now))
        .map(spend -> new Requirement(spend.limit(), "the rule " + where(), onMissing))
        .toList();
  }

  /** Returns the paths in their original form, which identify this rule in messages. */
  String where() {
    return where;
  }

  /** Returns a description of the rule: its methods, paths, limits and cost. */
  @Override
  public String toString() {
    String from = methods.isEmpty() ? "" : String.join(" or ", new TreeSet<>(methods)) + " ";
    String limits = spends.stream().map(Spend::toString).collect(Collectors.joining(", of "));
    return "rule %s%s: spends %s of %s%s%s"
        .formatted(
            from,
            where(),
            isEstimated()
                ? "an estimated cost"
                : cost.ofRequest() == null ? cost.fixed() : "a computed cost",
            limits,
            counted == null ? "" : ", given back after some responses",
            shadow ? ", in shadow" : "");
  }

  /** The cost of a request: fixed, or computed or estimated by a function. */
  private record Cost(
      long fixed,
      @Nullable ToLongFunction<WebRequest> ofRequest,
      @Nullable Function<WebRequest, EstimatedCost> estimate) {

    /** Returns a function that sets the cost of a request in a transaction. */
    UnaryOperator<Transaction> of(WebRequest request) {
      if (estimate != null) {
        EstimatedCost estimated = estimate.apply(request);
        return transaction -> transaction.withCost(estimated);
      }
      long tokens = ofRequest == null ? fixed : ofRequest.applyAsLong(request);
      return transaction -> charge(transaction, tokens);
    }

    private static Transaction charge(Transaction transaction, long tokens) {
      try {
        return transaction.withCost(tokens);
      } catch (InvalidRequestException e) {
        throw new UnusableRequestException(
            "the request costs %s, which the limit %s never allows"
                .formatted(tokens, transaction.name()));
      }
    }
  }

  /** Makes a {@link Rule}. Not thread-safe. */
  public static final class Builder {
    private final List<PathPattern> paths;
    private final Set<String> methods = new HashSet<>();
    private final List<Spend> spends = new ArrayList<>();
    private Cost cost = new Cost(1, null, null);
    private @Nullable Predicate<Integer> counted;
    private boolean shadow;
    private boolean ignoresCase;
    private boolean methodOverride = true;

    private Builder(String... paths) {
      if (paths.length == 0) {
        throw new IllegalArgumentException(
            "the rule has no path; add at least one, such as /login");
      }
      this.paths =
          Stream.of(paths)
              .map(path -> PathPattern.parse(Objects.requireNonNull(path, "path")))
              .toList();
    }

    /**
     * Restricts the rule to some methods; by default it applies to all methods. {@code GET}
     * includes {@code HEAD}, since applications handle both methods in the same way. The case of a
     * request's method is ignored, as in many applications. A request whose method override is one
     * of the methods also matches; see {@link #methodOverride}.
     *
     * @param names the methods, in upper case
     * @return this builder
     * @throws IllegalArgumentException if a name is not a word in upper case
     */
    @CanIgnoreReturnValue
    public Builder methods(String... names) {
      for (String name : names) {
        if (!name.matches("[A-Z][A-Z_-]*")) {
          throw new IllegalArgumentException(
              "method: found \"%s\", expected an upper-case word such as POST".formatted(name));
        }
        methods.add(name);
      }
      if (methods.contains("GET")) {
        methods.add("HEAD");
      }
      return this;
    }

    /**
     * Sets whether the rule also applies to a request's method override: the header {@code
     * X-HTTP-Method-Override}, {@code X-HTTP-Method} or {@code X-Method-Override}, or the query
     * parameter {@code _method}. Pass false if the application ignores method overrides; the
     * default is true. A {@code _method} in a form is ignored, since the body is not read.
     *
     * @param honored false if the application certainly ignores method overrides
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder methodOverride(boolean honored) {
      this.methodOverride = honored;
      return this;
    }

    /**
     * Ignores the case of paths, for applications that ignore case. By default, a rule on {@code
     * /login} does not limit {@code /LOGIN}. Paths are converted to lower case by Unicode's simple
     * folding, so path variables in ids are in lower case too.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder ignoreCase() {
      this.ignoresCase = true;
      return this;
    }

    /**
     * Adds a limit. A request spends from all limits of all matching rules, or from none.
     *
     * @param name the limit's name
     * @param id the source of the id; for a joined id one source per part, in order
     * @return this builder
     * @throws IllegalArgumentException if there is no source, or a source needs a path variable
     *     that a path of this rule does not have
     */
    @CanIgnoreReturnValue
    public Builder limit(String name, VaryBy... id) {
      return spend(name, null, null, id);
    }

    /**
     * Adds a limit whose quota the application supplies for each request, such as a customer's plan
     * from a cache. This method is like {@link #limitAsync(String, Function, VaryBy...)}, but the
     * function returns the quota itself. Do not use this method for WebFlux, whose threads must not
     * block.
     *
     * @param name the limit's name
     * @param quota returns the quota, or null if the limit's own quota applies; must be
     *     thread-safe, and must not read the body
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limit(String name, Function<WebRequest, @Nullable Quota> quota, VaryBy... id) {
      return spend(name, null, QuotaSource.blocking(quota), id);
    }

    /**
     * Adds a limit that the application declares, and whose quota the application supplies; see
     * {@link #limit(String, Function, VaryBy...)}. If the current limits do not contain the added
     * limit, the function for the quota must not return null.
     *
     * @param name the limit
     * @param quota see {@link #limit(String, Function, VaryBy...)}
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limit(
        LimitName name, Function<WebRequest, @Nullable Quota> quota, VaryBy... id) {
      return spend(
          Objects.requireNonNull(name, "name").name(), name, QuotaSource.blocking(quota), id);
    }

    /**
     * Adds a limit whose quota the application supplies for each request without blocking, such as
     * a customer's plan from a database. The function is called once per request, after the id was
     * computed. Overrides of the limit do not apply to a supplied quota.
     *
     * <p>If the function or its stage fails, or supplies null although the limit has no default,
     * the request is refused with a 500, and counted in {@code ratelimits_quota_failures_total}. A
     * filter waits for the returned stage without a bound, so give the stage a time-out.
     *
     * @param name the limit's name
     * @param quota returns a stage with the quota, or with null if the limit's own quota applies;
     *     must be thread-safe, and must not read the body
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitAsync(
        String name, Function<WebRequest, CompletionStage<@Nullable Quota>> quota, VaryBy... id) {
      return spend(name, null, QuotaSource.async(quota), id);
    }

    /**
     * Adds a limit that the application declares, and whose quota the application supplies without
     * blocking; see {@link #limitAsync(String, Function, VaryBy...)} and {@link #limit(LimitName,
     * Function, VaryBy...)}.
     *
     * @param name the limit
     * @param quota see {@link #limitAsync(String, Function, VaryBy...)}
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitAsync(
        LimitName name,
        Function<WebRequest, CompletionStage<@Nullable Quota>> quota,
        VaryBy... id) {
      return spend(Objects.requireNonNull(name, "name").name(), name, QuotaSource.async(quota), id);
    }

    /**
     * Adds a limit for which the application supplies one or several quotas for each request; see
     * {@link #limit(String, Function, VaryBy...)}, which is for one quota.
     *
     * @param name the limit's name
     * @param quotas returns 1 to 4 quotas, each with a different period, or null if the limit's own
     *     quotas apply; must be thread-safe, and must not read the body
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitQuotas(
        String name, Function<WebRequest, @Nullable List<Quota>> quotas, VaryBy... id) {
      return spend(name, null, QuotaSource.severalBlocking(quotas), id);
    }

    /**
     * Adds a limit that the application declares, and for which it supplies one or several quotas;
     * see {@link #limitQuotas(String, Function, VaryBy...)} and {@link #limit(LimitName, Function,
     * VaryBy...)}.
     *
     * @param name the limit
     * @param quotas see {@link #limitQuotas(String, Function, VaryBy...)}
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitQuotas(
        LimitName name, Function<WebRequest, @Nullable List<Quota>> quotas, VaryBy... id) {
      return spend(
          Objects.requireNonNull(name, "name").name(),
          name,
          QuotaSource.severalBlocking(quotas),
          id);
    }

    /**
     * Adds a limit for which the application supplies one or several quotas for each request
     * without blocking; see {@link #limitAsync(String, Function, VaryBy...)}, which is for one
     * quota.
     *
     * @param name the limit's name
     * @param quotas returns a stage with 1 to 4 quotas, each with a different period, or with null
     *     if the limit's own quotas apply; must be thread-safe, and must not read the body
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitQuotasAsync(
        String name,
        Function<WebRequest, CompletionStage<@Nullable List<Quota>>> quotas,
        VaryBy... id) {
      return spend(name, null, QuotaSource.severalAsync(quotas), id);
    }

    /**
     * Adds a limit that the application declares, and for which it supplies one or several quotas
     * without blocking; see {@link #limitQuotasAsync(String, Function, VaryBy...)} and {@link
     * #limit(LimitName, Function, VaryBy...)}.
     *
     * @param name the limit
     * @param quotas see {@link #limitQuotasAsync(String, Function, VaryBy...)}
     * @param id the source of the id; see {@link #limit(String, VaryBy...)}
     * @return this builder
     * @throws IllegalArgumentException see {@link #limit(String, VaryBy...)}
     */
    @CanIgnoreReturnValue
    public Builder limitQuotasAsync(
        LimitName name,
        Function<WebRequest, CompletionStage<@Nullable List<Quota>>> quotas,
        VaryBy... id) {
      return spend(
          Objects.requireNonNull(name, "name").name(), name, QuotaSource.severalAsync(quotas), id);
    }

    @CanIgnoreReturnValue
    private Builder spend(
        String name, @Nullable LimitName declared, @Nullable QuotaSource quota, VaryBy... id) {
      Objects.requireNonNull(name, "name");
      if (id.length == 0) {
        throw new IllegalArgumentException(
            "limit %s: the source of the id is missing; add one, for example VaryBy.clientAddress()"
                .formatted(name));
      }
      for (VaryBy part : id) {
        String variable = Objects.requireNonNull(part, "id").pathVariable();
        for (PathPattern path : paths) {
          if (variable != null && !path.variables().contains(variable)) {
            throw new IllegalArgumentException(
                "limit %s: found the path variable %s, expected one of the path %s: %s"
                    .formatted(name, variable, path, path.variables()));
          }
        }
      }
      spends.add(new Spend(name, declared, List.of(id), quota));
      return this;
    }

    /**
     * Sets the cost of a request; the default is 1.
     *
     * @param tokens the number of tokens, at least 0 and at most the burst of each limit
     * @return this builder
     * @throws IllegalArgumentException if the number is negative
     */
    @CanIgnoreReturnValue
    public Builder cost(long tokens) {
      if (tokens < 0) {
        throw new IllegalArgumentException("cost: found " + tokens + ", expected at least 0");
      }
      this.cost = new Cost(tokens, null, null);
      return this;
    }

    /**
     * Sets a function for the cost of a request. A request whose cost is negative or above a
     * limit's burst is refused with a 400, since a retry would not help.
     *
     * @param ofRequest returns the cost in tokens; must be thread-safe, and not read the body
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder cost(ToLongFunction<WebRequest> ofRequest) {
      this.cost = new Cost(0, Objects.requireNonNull(ofRequest, "ofRequest"), null);
      return this;
    }

    /**
     * Estimates the cost of a request, for costs that are known only afterwards, such as the tokens
     * of a language model. Replaces {@link #cost(long)}. The filter reserves the estimated cost. A
     * handler sets the true cost, which the filter charges in place of the estimate when the whole
     * response is sent. If the handler sets no cost, the estimate stays charged. If the true cost
     * exceeds the tokens in the bucket, all tokens of the bucket are charged, and the rest becomes
     * a debt, up to the debt that the limit declares.
     *
     * <pre>{@code
     * Estimate tokens = Estimate.mean(16, 8_192);
     * Rule.on("/chat").limit("TokensPerKey", key).estimate(request -> tokens.of("model"))
     * }</pre>
     *
     * @param ofRequest returns the estimate; must be thread-safe, and must not read the body
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder estimate(Function<WebRequest, EstimatedCost> ofRequest) {
      this.cost = new Cost(0, null, Objects.requireNonNull(ofRequest, "ofRequest"));
      return this;
    }

    /**
     * Counts only some outcomes, such as failed logins: the cost is spent at once, and given back
     * if the response has another status. An exception of the application counts as a 500. If the
     * client disconnects or an asynchronous request times out before the response, the cost stays
     * spent. Replaces {@link #countAllBut}.
     *
     * @param statuses the statuses after which the cost stays spent, for example 401
     * @return this builder
     * @throws IllegalArgumentException if a number is outside 100 to 599, or there is no number
     */
    @CanIgnoreReturnValue
    public Builder countOnly(int... statuses) {
      this.counted = statuses("countOnly", statuses)::contains;
      return this;
    }

    /**
     * Counts all outcomes except some: the cost is spent at once, and given back only if the
     * response has one of the given statuses. This method is stricter than {@link #countOnly},
     * since the cost stays spent after an unexpected status, and replaces the statuses given to
     * {@link #countOnly}.
     *
     * @param statuses the statuses after which the cost is given back, for example 200 and 204
     * @return this builder
     * @throws IllegalArgumentException if a number is outside 100 to 599, or there is no number
     */
    @CanIgnoreReturnValue
    public Builder countAllBut(int... statuses) {
      Set<Integer> free = statuses("countAllBut", statuses);
      this.counted = status -> !free.contains(status);
      return this;
    }

    /**
     * Counts all outcomes except success, like {@link #countAllBut} with every status from 200 to
     * 299. Do not use this method if the application answers a failed attempt with status 200.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder countAllButSuccess() {
      this.counted = status -> status < 200 || status > 299;
      return this;
    }

    private static Set<Integer> statuses(String method, int... statuses) {
      Set<Integer> all = Set.copyOf(IntStream.of(statuses).boxed().toList());
      if (all.isEmpty() || all.stream().anyMatch(status -> status < 100 || status > 599)) {
        throw new IllegalArgumentException(
            "%s: found %s, expected statuses from 100 to 599".formatted(method, all));
      }
      return all;
    }

    /**
     * Makes the rule a trial: the rule spends from separate buckets, and its decisions are counted
     * and logged. A trial rule never refuses a request, takes no tokens from other rules, and sets
     * no header.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder shadow() {
      this.shadow = true;
      return this;
    }

    /**
     * Makes the rule.
     *
     * @return the rule
     * @throws IllegalStateException if the rule has no limit
     */
    public Rule build() {
      if (spends.isEmpty()) {
        throw new IllegalStateException(
            "rule " + paths + ": the limit is missing; add it with limit(…)");
      }
      return new Rule(this);
    }
  }
}
