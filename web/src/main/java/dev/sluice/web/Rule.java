// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The limits that some requests spend from, for whom, and at what cost.
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
    this.methods = Set.copyOf(builder.methods);
    this.spends = List.copyOf(builder.spends);
    this.cost = builder.cost;
    this.counted = builder.counted;
    this.shadow = builder.shadow;
    this.ignoresCase = builder.ignoresCase;
    this.methodOverride = builder.methodOverride;
  }

  /**
   * Starts a rule.
   *
   * @param paths which paths, below the one under which the application is installed: {@code
   *     /login}, {@code /users/{user}/export}, any one segment as {@code *}, all that follows as a
   *     last {@code **}; at least one
   * @return a builder
   * @throws IllegalArgumentException for a pattern of another form
   */
  public static Builder on(String... paths) {
    return new Builder(paths);
  }

  /** A request as this rule knows it, and the path's variables. */
  record Reading(RequestFacts facts, Map<String, String> variables) {}

  /**
   * Returns each reading by which a request is one of this rule's.
   *
   * @return empty where the request is not one of this rule's
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

  /** Returns the spends of a request under this rule; those of one bucket may come repeatedly. */
  List<Transaction> transactions(Limits limits, List<Reading> readings) {
    List<Transaction> transactions = new ArrayList<>(spends.size());
    for (Reading reading : readings) {
      for (Spend spend : spends) {
        reading
            .facts
            .inEachSpelling(facts -> spend.transaction(limits, facts, reading.variables))
            .forEach(
                spent ->
                    spent.ifPresent(
                        one -> transactions.add(cost.charge(one, reading.facts.request()))));
      }
    }
    return transactions;
  }

  /** Whether a response with a status leaves the tokens spent; null where each does. */
  @Nullable Predicate<Integer> counts() {
    return counted;
  }

  /** Whether it matters to this rule which method a request asks to have instead of its own. */
  boolean readsMethodOverride() {
    return methodOverride
        && (!methods.isEmpty()
            || spends.stream().flatMap(spend -> spend.id().stream()).anyMatch(VaryBy::isMethod));
  }

  boolean isShadow() {
    return shadow;
  }

  /** Returns the parts of this rule that do not fit the limits, one message each. */
  List<String> faults(Limits limits) {
    List<String> faults = new ArrayList<>();
    for (Spend spend : spends) {
      try {
        LimitName name = spend.check(limits.catalogue());
        Quota quota = limits.defaultFor(name);
        if (quota != null && cost.fixed() > quota.burst()) {
          faults.add(
              "rule %s: found the cost %s for %s, whose burst is %s: it could never pass"
                  .formatted(this, cost.fixed(), name, quota.burst()));
        }
      } catch (IllegalArgumentException e) {
        faults.add("rule %s: %s".formatted(this, e.getMessage()));
      }
    }
    return faults;
  }

  /** The limits that must not be missing. */
  List<Requirement> requirements(MissingDefault onMissing) {
    return spends.stream()
        .map(spend -> new Requirement(spend.limit(), "the rule " + this, onMissing))
        .toList();
  }

  /** The paths, as they were written. */
  @Override
  public String toString() {
    return String.join(", ", paths.stream().map(PathPattern::toString).toList());
  }

  /** The cost of a request: the same each time, or what a function says. Immutable. */
  private record Cost(long fixed, @Nullable ToLongFunction<WebRequest> ofRequest) {

    Transaction charge(Transaction transaction, WebRequest request) {
      long tokens = ofRequest == null ? fixed : ofRequest.applyAsLong(request);
      try {
        return transaction.withCost(tokens);
      } catch (InvalidRequestException e) {
        throw new UnusableRequestException(
            "the request costs %s, which the limit %s never lets pass"
                .formatted(tokens, transaction.name()));
      }
    }
  }

  /** Makes a {@link Rule}. Not thread-safe. */
  public static final class Builder {
    private final List<PathPattern> paths;
    private final Set<String> methods = new HashSet<>();
    private final List<Spend> spends = new ArrayList<>();
    private Cost cost = new Cost(1, null);
    private @Nullable Predicate<Integer> counted;
    private boolean shadow;
    private boolean ignoresCase;
    private boolean methodOverride = true;

    private Builder(String... paths) {
      if (paths.length == 0) {
        throw new IllegalArgumentException(
            "the rule has no path; name at least one, such as /login");
      }
      this.paths = Stream.of(paths).map(PathPattern::parse).toList();
    }

    /**
     * Restricts the rule to some methods; all if not called. {@code GET} includes {@code HEAD}, as
     * applications answer it the same way. The case of a request's method does not count, as many
     * applications ignore it. A request that asks for one of the methods instead of its own is one
     * of the rule's too; see {@link #methodOverride}.
     *
     * @param names the methods, upper-case as HTTP writes them
     * @return this
     * @throws IllegalArgumentException for a name that is not an upper-case word
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
     * Sets whether the rule also holds for the method that a request asks to have instead of its
     * own, in the header {@code X-HTTP-Method-Override}, {@code X-HTTP-Method} or {@code
     * X-Method-Override}, or in the parameter {@code _method} of its query; true if not called.
     * False is for applications that ignore these. The body is not read, so a {@code _method} in a
     * form is not seen.
     *
     * @param honored whether the application may obey the request
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder methodOverride(boolean honored) {
      this.methodOverride = honored;
      return this;
    }

    /**
     * Compares paths without case, for applications that do: without this, {@code /LOGIN} is not
     * limited by a rule on {@code /login}. Paths and their variables are then in lower case, also
     * in ids, by Unicode's simple folding.
     *
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder ignoreCase() {
      this.ignoresCase = true;
      return this;
    }

    /**
     * Adds a limit to spend from. A request spends from all limits of all its rules, or from none.
     *
     * @param name the limit's name
     * @param id where the id comes from; for a joined id one for each part, in order
     * @return this
     * @throws IllegalArgumentException if there is no source, or one wants a path variable that a
     *     path of this rule has not
     */
    @CanIgnoreReturnValue
    public Builder limit(String name, VaryBy... id) {
      if (id.length == 0) {
        throw new IllegalArgumentException(
            "limit %s: name what the id is taken from, for example VaryBy.clientAddress()"
                .formatted(name));
      }
      for (VaryBy part : id) {
        String variable = part.pathVariable();
        for (PathPattern path : paths) {
          if (variable != null && !path.variables().contains(variable)) {
            throw new IllegalArgumentException(
                "limit %s: found the path variable %s, expected one of the path %s: %s"
                    .formatted(name, variable, path, path.variables()));
          }
        }
      }
      spends.add(new Spend(name, List.of(id)));
      return this;
    }

    /**
     * Sets what a request costs; 1 if not called.
     *
     * @param tokens not negative, at most the burst of each limit
     * @return this
     * @throws IllegalArgumentException if negative
     */
    @CanIgnoreReturnValue
    public Builder cost(long tokens) {
      if (tokens < 0) {
        throw new IllegalArgumentException("cost: found " + tokens + ", expected at least 0");
      }
      this.cost = new Cost(tokens, null);
      return this;
    }

    /**
     * Sets what each request costs. A request whose cost is negative or above a limit's burst is
     * refused with a 400, as waiting would not help.
     *
     * @param ofRequest gives the tokens; must be thread-safe, and must not read the body
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder cost(ToLongFunction<WebRequest> ofRequest) {
      this.cost = new Cost(0, ofRequest);
      return this;
    }

    /**
     * Counts only some outcomes, such as failed logins: the cost is spent at once, and given back
     * when the response has another status. An exception of the application counts as a 500. Where
     * the client breaks off or an asynchronous request times out before there is a response, the
     * cost stays spent. Replaces what {@link #countAllBut} set.
     *
     * @param statuses what counts, for example 401
     * @return this
     * @throws IllegalArgumentException for a number outside 100 to 599, or no number at all
     */
    @CanIgnoreReturnValue
    public Builder countOnly(int... statuses) {
      this.counted = statuses("countOnly", statuses)::contains;
      return this;
    }

    /**
     * Counts all outcomes but some: the cost is spent at once, and given back only when the
     * response has one of these statuses. The strict form of {@link #countOnly}, which it replaces:
     * an outcome that nobody thought of counts.
     *
     * @param statuses what does not count, for example 200 and 204
     * @return this
     * @throws IllegalArgumentException for a number outside 100 to 599, or no number at all
     */
    @CanIgnoreReturnValue
    public Builder countAllBut(int... statuses) {
      Set<Integer> free = statuses("countAllBut", statuses);
      this.counted = status -> !free.contains(status);
      return this;
    }

    /**
     * Counts all outcomes but success, like {@link #countAllBut} with every status from 200 to 299.
     * Not for an application that answers a failed attempt with a page and a 200.
     *
     * @return this
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
     * Makes the rule a trial: it spends from buckets of its own, decides, is counted and logged. It
     * never refuses a request, takes a token from another rule, or shows in a header.
     *
     * @return this
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
     * @throws IllegalStateException if it has no limit
     */
    public Rule build() {
      if (spends.isEmpty()) {
        throw new IllegalStateException("rule " + paths + ": the limit is missing");
      }
      return new Rule(this);
    }
  }
}
