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
 * The settings of everything that limits requests by rules: a filter, or a {@link RequestLimiter}
 * alone. Not thread-safe.
 *
 * @param <B> the builder that has these settings
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
   * @param limiter decides on the requests
   */
  protected RuleBuilder(Limiter limiter) {
    this.limiter = limiter;
  }

  /**
   * Returns this builder.
   *
   * @return this
   */
  protected abstract B self();

  /**
   * Adds a rule.
   *
   * @param rule the rule
   * @return this
   */
  @CanIgnoreReturnValue
  public B rule(Rule rule) {
    rules.add(rule);
    return self();
  }

  /**
   * Takes the rules that come with the limits, such as a rule book from a file, in place of {@link
   * #rule} for each. They were compared with the limits when they were read, and are replaced
   * together with them.
   *
   * @param all the rules
   * @return this
   */
  @CanIgnoreReturnValue
  public B rules(RequestRules all) {
    book = all;
    return self();
  }

  /**
   * Sets how the client's address is found; {@link ClientAddress#direct} if not called.
   *
   * @param how directly, or behind which proxies
   * @return this
   */
  @CanIgnoreReturnValue
  public B clientAddress(ClientAddress how) {
    this.clientAddress = how;
    return self();
  }

  /**
   * Sets which headers responses carry; {@link HeaderProfile#IETF} if not called.
   *
   * @param newProfile the family of headers
   * @return this
   */
  @CanIgnoreReturnValue
  public B headers(HeaderProfile newProfile) {
    this.profile = newProfile;
    return self();
  }

  /**
   * Sets the answer to denied requests, which have the status 429; the prepared answer if not
   * called.
   *
   * @param hook gets the decision, and the prepared answer with its headers
   * @return this
   */
  @CanIgnoreReturnValue
  public B onDenied(RefusalHook hook) {
    this.onDenied = Objects.requireNonNull(hook, "hook");
    return self();
  }

  /**
   * Sets the answer to requests that are refused with another status than 429: a 400 for a request
   * that cannot be charged, a 500 if the application supplied no quota, a 503 if the store failed.
   * If not called, clients get the prepared answers.
   *
   * @param hook gets the prepared answer with its headers
   * @return this
   */
  @CanIgnoreReturnValue
  public B onError(RefusalHook hook) {
    this.onError = Objects.requireNonNull(hook, "hook");
    return self();
  }

  /**
   * Makes the limiter of requests for a filter whose threads may block, as {@link
   * #requestLimiter(boolean)} does.
   *
   * @return a limiter of requests, to be closed
   */
  protected final RequestLimiter requestLimiter() {
    return requestLimiter(true);
  }

  /**
   * Checks the rules against the limits and makes the limiter of requests. From then on, limits
   * that lack the default of a rule's limit replace none, unless the limiter {@linkplain
   * Limiter.Builder#missingDefault allows} that.
   *
   * @param mayBlock whether a rule may have a function that returns a quota, and may have waited
   *     for it
   * @return a limiter of requests, to be closed
   * @throws IllegalArgumentException if a rule does not fit the limits or the filter. It names
   *     every mistake: an unknown limit, one without a default, an id of another form, a cost above
   *     the burst.
   * @throws IllegalStateException if there is no rule, or both a book and single rules
   */
  protected final RequestLimiter requestLimiter(boolean mayBlock) {
    Limits limits = limiter.limits().get();
    if (book != null && !rules.isEmpty()) {
      throw new IllegalStateException(
          "found rules of a book beside single rules, expected one or the other: in a book, only the first matching rule is charged; of single rules, all matching ones are");
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
                        "rule %s: found a limit whose function returns the quota, expected limitAsync, whose function returns a stage of it: the threads of this filter must not wait"
                            .formatted(rule.where()));
    List<String> faults =
        Stream.of(
                blocking,
                all.faults(limits).stream(),
                required.stream()
                    .filter(one -> onMissing == MissingDefault.REFUSE)
                    .filter(one -> limits.catalogue().find(one.limit()) != null)
                    .filter(one -> !one.isMetBy(limits))
                    .map(Requirement::message))
            .flatMap(mistakes -> mistakes)
            .toList();
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", faults));
    }
    if (all.isEmpty()) {
      throw new IllegalStateException("a rule is missing, expected at least one");
    }
    limiter.limits().require(required);
    return new RequestLimiter(limiter, all, required, profile, onDenied, onError);
  }
}
