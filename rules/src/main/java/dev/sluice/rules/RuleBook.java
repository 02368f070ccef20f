// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.rules.RuleBook.Explanation.PassedOver;
import dev.sluice.rules.RuleBook.Explanation.Unusable;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.RequestRules;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.internal.Node;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/*
 * The first rule that matches always decides: a rule never falls through to the next rule, and two
 * rules are never merged. So a reader of the file needs to find only one rule to know what a
 * request is charged. To try out a limit, add the limit in shadow mode to an existing rule; a new
 * rule would prevent the rules below it from matching.
 */
/**
 * An ordered list of rules that map a descriptor or a request to the limits to be charged. The
 * first rule that matches decides.
 *
 * <p>A book is loaded together with the limits that its rules name, and is the {@linkplain
 * Limits#companion companion} of these limits. For each request, get the limits once, and get the
 * book from the limits with {@link #of}.
 *
 * <pre>{@code
 * Limits limits = limiter.limits().get();
 * Optional<RuleMatch> match = RuleBook.of(limits).match("edge", entries);
 * List<Transaction> together = match.map(m -> m.enforced(limits, hits)).orElse(List.of());
 * }</pre>
 *
 * <p>Thread-safe. Matching does not block and does not access a store.
 */
public final class RuleBook implements RequestRules {

  private static final RuleBook EMPTY = new RuleBook("", null, List.of(), Set.of(), List.of());

  private final String file;
  private final @Nullable Node source;
  private final List<AnyRule> rules;
  private final Set<String> rulesOnly;
  private final List<Requirement> requirements;
  private final boolean forRequests;
  private final boolean readsMethodOverride;
  private final Set<String> headers; // the headers that choose a rule
  private final RuleFinder finder = new RuleFinder();
  private final AskedIds asked;

  RuleBook(
      String file,
      @Nullable Node source,
      List<AnyRule> rules,
      Set<String> domainsOfRulesOnly,
      Collection<String> named) {
    this.file = file;
    this.source = source;
    this.rules = List.copyOf(rules);
    this.rulesOnly = Set.copyOf(domainsOfRulesOnly);
    this.requirements =
        named.stream()
            .map(limit -> new Requirement(limit, "a rule", MissingDefault.ALLOW))
            .toList();
    this.rules.forEach(finder::add);
    this.asked = new AskedIds(this.rules);
    this.forRequests = this.rules.stream().anyMatch(RequestRule.class::isInstance);
    this.readsMethodOverride =
        this.rules.stream()
            .anyMatch(r -> r instanceof RequestRule one && one.readsMethodOverride());
    this.headers =
        this.rules.stream()
            .filter(RequestRule.class::isInstance)
            .flatMap(rule -> ((RequestRule) rule).headers().keySet().stream())
            .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Returns the book that was loaded with limits.
   *
   * @param limits the limits in force
   * @return the book; an empty book if no book was loaded
   */
  public static RuleBook of(Limits limits) {
    RuleBook book = limits.companion(RuleBook.class);
    return book == null ? EMPTY : book;
  }

  /**
   * Returns the reader of rule books, for {@link dev.sluice.yaml.LimitFiles.Builder#companion}. A
   * rule for a limit without a default is reported as a mistake.
   *
   * @return the reader
   */
  public static CompanionFile<RuleBook> reader() {
    return reader(MissingDefault.REFUSE);
  }

  /**
   * Returns a reader of rule books with a policy for rules that name a limit without a default.
   *
   * @param onMissing whether a missing default is a mistake, a warning or allowed
   * @return the reader
   */
  public static CompanionFile<RuleBook> reader(MissingDefault onMissing) {
    return new RuleBookFile(onMissing, false);
  }

  /**
   * Returns a reader of rule books for a program that decides on requests only, such as a servlet
   * filter. The reader ignores rules for descriptors, with a warning.
   *
   * @param onMissing what to do with a rule whose limit has no default
   * @return the reader
   */
  public static CompanionFile<RuleBook> readerForRequests(MissingDefault onMissing) {
    return new RuleBookFile(onMissing, true);
  }

  /**
   * Returns the limits that rules name, for the metric of missing defaults. Missing defaults were
   * already reported when the book was read.
   *
   * @return the limits, each as a {@link Requirement} that allows a missing default
   */
  public List<Requirement> requirements() {
    return requirements;
  }

  /**
   * Returns the name of the book's file.
   *
   * @return the file name that the caller gave; empty for a book without rules
   */
  public String file() {
    return file;
  }

  /**
   * Returns the number of rules.
   *
   * @return the number of rules; 0 for a book without a file
   */
  public int size() {
    return rules.size();
  }

  /**
   * Whether there are rules for requests.
   *
   * @return false if the book is empty, or if all rules are for descriptors
   */
  public boolean hasRequestRules() {
    return forRequests;
  }

  /**
   * Returns the rules for requests, in order.
   *
   * @return a summary of each rule for requests; empty if all rules are for descriptors
   */
  public List<RequestForm> requestRules() {
    return rules.stream()
        .filter(RequestRule.class::isInstance)
        .map(rule -> ((RequestRule) rule).form())
        .toList();
  }

  /**
   * Returns all rules, in order.
   *
   * @return a description of each rule
   */
  public List<RuleForm> forms() {
    return rules.stream()
        .map(
            rule ->
                rule instanceof DescriptorRule descriptor
                    ? new RuleForm(rule.line(), false, descriptor.words())
                    : new RuleForm(rule.line(), true, ((RequestRule) rule).words()))
        .toList();
  }

  /**
   * Returns whether only rules limit the descriptors of a domain. If the domain is in {@code
   * rulesOnly}, a descriptor that no rule matches is not treated as the name of a limit.
   *
   * @param domain the descriptor's domain
   * @return whether the book lists the domain in {@code rulesOnly}
   */
  public boolean isRulesOnly(String domain) {
    return rulesOnly.contains(domain);
  }

  /**
   * Returns a warning if an override never applies to a request, since no rule produces the
   * override's id.
   *
   * @param override an override of the limits that were loaded together with the book
   * @return a warning with the most similar id that a rule can produce; null if a rule produces the
   *     override's id, or if no rule names the limit
   */
  public @Nullable String doubt(LimitOverride override) {
    return asked.doubt(override.name(), override.name().overrideId(), override.id());
  }

  /**
   * Returns a warning if a penalty never applies to a request, since no rule produces the penalized
   * id.
   *
   * @param name the limit
   * @param id the penalized id
   * @return a warning with the most similar id that a rule can produce; null if a rule produces the
   *     penalized id, or if no rule names the limit
   */
  public @Nullable String doubt(LimitName name, String id) {
    return asked.doubt(name, name.id(), id);
  }

  /**
   * Finds the first rule that matches a descriptor.
   *
   * @param domain the descriptor's domain
   * @param entries the descriptor's entries, in order
   * @return the rule and its charges; empty if no rule matches
   */
  public Optional<RuleMatch> match(String domain, List<DescriptorEntry> entries) {
    return finder.match(domain, entries);
  }

  /**
   * Finds the rule for each way in which the application can interpret a request. The request is
   * charged for the rules of all interpretations, and is denied if one of these rules denies the
   * request. Rules match the host that the client sent.
   *
   * @param request the request
   * @param client how the client's address is found
   * @return the charges of all rules found, with the line of the first rule; empty if no rule
   *     matches
   * @throws dev.sluice.web.UnusableRequestException if the request lacks a value that a rule needs,
   *     or has too many interpretations
   */
  public Optional<RuleMatch> match(WebRequest request, ClientAddress client) {
    List<RuleMatch> matches = new ArrayList<>(1);
    for (RequestFacts reading : readings(request, client)) {
      finder.match(reading).ifPresent(matches::add);
    }
    return matches.stream().reduce(RuleMatch::with);
  }

  /**
   * Returns each way in which the application can interpret a request: each path combined with each
   * method, if a rule of the book uses the method, and with headers of similar names, if a rule of
   * the book matches such a header.
   *
   * @param request the request
   * @param client how the client's address is found
   * @return the interpretations, at least one
   * @throws dev.sluice.web.UnusableRequestException if the request has too many interpretations
   */
  public List<RequestFacts> readings(WebRequest request, ClientAddress client) {
    return new RequestFacts(request, client, readsMethodOverride).readings(headers);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Uses the rule book that was loaded with {@code limits}, or this book if {@code limits} has
   * no rule book.
   */
  @Override
  public Charges charges(WebRequest request, ClientAddress client, Limits limits) {
    RuleBook ofLimits = limits.companion(RuleBook.class);
    RuleBook book = ofLimits == null ? this : ofLimits;
    Optional<RuleMatch> found = book.match(request, client);
    if (found.isEmpty()) {
      return Charges.NONE;
    }
    RuleMatch match = found.get();
    if (match.verdict() == Verdict.DENIES) {
      return Charges.DENIED;
    }
    try {
      return new Charges(false, match.enforced(limits, 1), match.trials(limits, 1));
    } catch (UnknownLimitException e) {
      throw e;
    } catch (InvalidIdException e) {
      throw match.unusableId();
    } catch (InvalidRequestException e) { // the cost is above the burst
      throw new UnusableRequestException(String.valueOf(e.getMessage()));
    }
  }

  /** Whether there are no rules for requests. */
  @Override
  public boolean isEmpty() {
    return !forRequests;
  }

  /**
   * Explains which rule matches a descriptor, and why the rules before this rule do not match.
   *
   * @param domain the descriptor's domain
   * @param entries the descriptor's entries, in order
   * @return the explanation, with the result of {@link #match(String, List)}
   */
  public Explanation explain(String domain, List<DescriptorEntry> entries) {
    List<PassedOver> passedOver = new ArrayList<>();
    for (AnyRule rule : rules) {
      String mismatch = "the rule is for requests, not descriptors";
      if (rule instanceof DescriptorRule descriptor) {
        mismatch = descriptor.mismatch(domain, entries);
        if (mismatch == null) {
          return new Explanation(passedOver, descriptor.match(entries), null, List.of());
        }
      }
      passedOver.add(new PassedOver(rule.line(), mismatch));
    }
    return new Explanation(passedOver, null, null, List.of());
  }

  /**
   * Explains which rule matches one interpretation of a request, and why the rules before it do not
   * match.
   *
   * @param facts one of the interpretations that {@link #readings} returns
   * @return the explanation of this interpretation; {@link #match(WebRequest, ClientAddress)} joins
   *     the matches of all interpretations, and throws if one interpretation is unusable
   */
  public Explanation explain(RequestFacts facts) {
    List<PassedOver> passedOver = new ArrayList<>();
    for (AnyRule rule : rules) {
      String mismatch = "the rule is for descriptors, not requests";
      if (rule instanceof RequestRule candidate) {
        try {
          RequestRule.Result result = candidate.match(facts);
          RequestRule.Context context = result.context();
          if (context != null) {
            List<Explanation.Skipped> skipped = new ArrayList<>();
            RuleMatch match = candidate.charge(context, skipped::add);
            return new Explanation(passedOver, match, null, skipped);
          }
          mismatch = result.mismatch().get();
        } catch (UnusableRequestException e) {
          Unusable unusable = new Unusable(rule.line(), e.detail());
          return new Explanation(passedOver, null, unusable, List.of());
        }
      }
      passedOver.add(new PassedOver(rule.line(), mismatch));
    }
    return new Explanation(passedOver, null, null, List.of());
  }

  /**
   * Returns how this book differs from an earlier book. Differences in comments and layout are left
   * out.
   *
   * @param before the earlier book
   * @return a line for each rule that was added or removed, and for each changed field besides the
   *     rules
   */
  public List<String> changesSince(RuleBook before) {
    return RuleChanges.between(before.source, source);
  }

  /** Returns whether both books have the same text and the same file name. */
  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof RuleBook that
            && file.equals(that.file)
            && Objects.equals(source, that.source));
  }

  @Override
  public int hashCode() {
    return file.hashCode();
  }

  /**
   * An explanation of which rule decides, and why the rules before this rule do not match.
   *
   * @param passedOver the rules before the rule that decides, in order; all rules if no rule
   *     decides
   * @param match the rule that matches; null if no rule matches or the request cannot be used
   * @param unusable the rule that needs a value which the request lacks; null if the request has
   *     all needed values
   * @param skipped the limits in shadow mode that are not charged, since the request lacks a value
   */
  public record Explanation(
      List<PassedOver> passedOver,
      @Nullable RuleMatch match,
      @Nullable Unusable unusable,
      List<Skipped> skipped) {

    /**
     * Makes an explanation.
     *
     * @param passedOver the rules that do not match; copied
     * @param match the rule that matches; null if no rule matches or the request cannot be used
     * @param unusable the rule that needs a missing or unusable value; null if there is no such
     *     rule
     * @param skipped the limits in shadow mode that are not charged; copied
     */
    public Explanation {
      passedOver = List.copyOf(passedOver);
      skipped = List.copyOf(skipped);
    }

    /**
     * A limit in shadow mode that is not charged.
     *
     * @param limit the limit's name
     * @param reason which value is missing or unusable
     */
    public record Skipped(String limit, String reason) {}

    /**
     * A rule that does not match.
     *
     * @param line where the rule starts in the file, from 1
     * @param reason why the rule does not match
     */
    public record PassedOver(int line, String reason) {}

    /**
     * A rule that rejects the request, since a value that the rule needs is absent or unusable.
     *
     * @param line where the rule starts in the file, from 1
     * @param detail the message for the client: which value is missing or unusable
     */
    public record Unusable(int line, String detail) {}
  }

  /**
   * A description of what a rule matches.
   *
   * @param line where the rule starts in the file, from 1
   * @param forRequests true for a rule for requests, false for a rule for descriptors
   * @param matches the methods and paths of a rule for requests, or the domain and entries of a
   *     rule for descriptors
   */
  public record RuleForm(int line, boolean forRequests, String matches) {}

  /**
   * A summary of a rule for requests, for messages and log tools.
   *
   * @param line where the rule starts in the file, from 1
   * @param paths the rule's paths, joined with a comma
   * @param words the parts of a request that the rule uses, in the words of placeholders, such as
   *     {@code ip}, {@code method} or {@code header:x-api-key}
   */
  public record RequestForm(int line, String paths, Set<String> words) {

    /**
     * Makes a summary.
     *
     * @param line where the rule starts in the file, from 1
     * @param paths the rule's paths, joined with a comma
     * @param words the parts of a request that the rule uses; copied
     */
    public RequestForm {
      words = Set.copyOf(words);
    }
  }

  /**
   * One entry of a descriptor, as a proxy sends it.
   *
   * @param key the key, such as {@code remote_address}
   * @param value the value, such as {@code 192.0.2.7}
   */
  public record DescriptorEntry(String key, String value) {

    @Override
    public String toString() {
      return SafeText.quote(key) + "=" + SafeText.quote(value);
    }
  }
}
