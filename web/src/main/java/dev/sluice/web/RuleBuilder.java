// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a filter, or of a {@link RequestLimiter} without a filter. Not thread-safe.
 *
 * @param <B> the type of the builder
 */
public abstract class RuleBuilder<B extends RuleBuilder<B>> {

  private final Limiter limiter;
  private final List<Rule> rules = new ArrayList<>();
  private @Nullable RequestRules book;
  private ClientAddress clientAddress = ClientAddress.direct();
  private HeaderProfile profile = HeaderProfile.IETF;
  private RefusalHook onDenied = (request, decision, prepared) -> prepared;
  private RefusalHook onError = onDenied;

  /**
   * Makes a builder without rules.
   *
   * @param limiter the limiter that decides on the requests
   */
  protected RuleBuilder(Limiter limiter) {
    this.limiter = Objects.requireNonNull(limiter, "limiter");
  }

  /**
   * Returns this builder.
   *
   * @return this builder
   */
  protected abstract B self();

  /**
   * Adds a rule.
   *
   * @param rule the rule
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B rule(Rule rule) {
    rules.add(Objects.requireNonNull(rule, "rule"));
    return self();
  }

  /**
   * Sets the rules that are a part of the limits, such as a rule book from a file, instead of
   * single rules added with {@link #rule}. Rules that are a part of the limits were checked when
   * the limits were loaded, and are replaced together with the limits.
   *
   * @param all the rules
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B rules(RequestRules all) {
    book = Objects.requireNonNull(all, "all");
    return self();
  }

  /**
   * Sets how to find the client's address; the default is {@link ClientAddress#direct}.
   *
   * @param how the resolver, which uses the connection's address or the address that trusted
   *     proxies send
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B clientAddress(ClientAddress how) {
    this.clientAddress = Objects.requireNonNull(how, "how");
    return self();
  }

  /**
   * Sets the family of headers of the responses; the default is {@link HeaderProfile#IETF}.
   *
   * @param newProfile the family of headers
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B headers(HeaderProfile newProfile) {
    this.profile = Objects.requireNonNull(newProfile, "newProfile");
    return self();
  }

  /**
   * Sets a hook for the responses to denied requests, which have the status 429. Without a hook,
   * Sluice sends the response that it prepared.
   *
   * @param hook receives the decision, and the prepared response with its headers
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B onDenied(RefusalHook hook) {
    this.onDenied = Objects.requireNonNull(hook, "hook");
    return self();
  }

  /**
   * Sets a hook for the responses to requests that are refused with another status than 429: a 400
   * for a request that cannot be charged, a 500 if the application supplied no quota, a 503 if the
   * store failed. Without a hook, Sluice sends the response that it prepared.
   *
   * @param hook receives the prepared response with its headers
   * @return this builder
   */
  @CanIgnoreReturnValue
  public B onError(RefusalHook hook) {
    this.onError = Objects.requireNonNull(hook, "hook");
    return self();
  }

  /**
   * Makes the request limiter for a filter whose threads are allowed to block; see {@link
   * #requestLimiter(boolean)}.
   *
   * @return the request limiter, which must be closed
   */
  protected final RequestLimiter requestLimiter() {
    return requestLimiter(true);
  }

  /**
   * Checks the rules against the limits, and makes the request limiter. Until the request limiter
   * is closed, a reload fails if a rule does not fit the new limits, or a limit of a rule has no
   * default, unless the limiter {@linkplain Limiter.Builder#missingDefault allows} missing
   * defaults.
   *
   * @param mayBlock whether the filter's threads are allowed to block, so that rules can have
   *     functions that return a quota and not a stage
   * @return the request limiter, which must be closed
   * @throws IllegalArgumentException if a rule does not fit the limits or the filter; the message
   *     contains every mistake, such as an unknown limit, a limit without a default, an id that
   *     does not have the limit's format, or a cost above the burst
   * @throws IllegalStateException if there is no rule, or both a rule book and single rules
   */
  protected final RequestLimiter requestLimiter(boolean mayBlock) {
    Limits limits = limiter.limits().get();
    if (book != null && !rules.isEmpty()) {
      throw new IllegalStateException(
          "found a rule book and single rules, expected only one of them: in a rule book, only the first matching rule is charged; with single rules, all matching rules are charged");
    }
    Rules all = book == null ? Rules.of(rules, clientAddress) : Rules.of(book, clientAddress);
    MissingDefault onMissing = limiter.missingDefault();
    List<Requirement> required = all.requirements(limits, onMissing);
    Stream<String> blocking =
        mayBlock
            ? Stream.of()
            : rules.stream()
                .filter(Rule::mayBlock)
                .map(
                    rule ->
                        "rule %s: found a limit whose function returns a quota; use limitAsync, whose function returns a stage, since the threads of this filter must not wait"
                            .formatted(rule.where()));
    List<String> faults =
        Stream.of(
                blocking,
                all.faults(limits).stream(),
                required.stream()
                    .filter(one -> onMissing == MissingDefault.REFUSE)
                    .filter(one -> limits.catalogue().find(one.limit()) != null)
                    .filter(one -> !one.isMetBy(limits))
                    .map(one -> one.message(limits)))
            .flatMap(mistakes -> mistakes)
            .toList();
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", faults));
    }
    if (all.isEmpty()) {
      throw new IllegalStateException("a rule is missing, expected at least one");
    }
    return new RequestLimiter(limiter, all, required, profile, onDenied, onError);
  }
}
