package dev.sluice.servlet;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.http.HeaderProfile;
import dev.sluice.limit.Limits;
import dev.sluice.limit.MissingDefault;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.store.StoreException;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * Lets requests through as far as their limits do, and answers the others with a 429. What a
 * failing store means for a request is the limiter's {@link dev.sluice.FailureRule}: where that
 * denies, or there is none, the answer is a 503.
 *
 * <p>A request spends from all limits of all rules that are for it, or from none. It is charged
 * once, when it arrives: forwards, includes, error pages and asynchronous dispatches cost nothing
 * more. {@linkplain Rule.Builder#shadow Shadow rules} are charged afterwards, with what was let
 * through.
 *
 * <p>Register it for asynchronous requests ({@code setAsyncSupported(true)}) if a servlet behind it
 * is asynchronous.
 *
 * <p>Thread-safe. Blocks as long as the limiter's store does.
 */
public final class RateLimitFilter implements Filter {

  /**
   * The request attribute with the {@link Decision} that let a request through, the strictest where
   * filters stack. Absent where no rule was for it.
   */
  public static final String DECISION = "dev.sluice.servlet.decision";

  private static final AtomicInteger INSTANCES = new AtomicInteger();

  private final List<Requirement> asked;
  private final Limiter limiter;
  private final List<Rule> rules;
  private final ClientAddress clientAddress;
  private final HeaderProfile headers;
  private final QuietLog log;
  private final String charged;

  private RateLimitFilter(Builder builder, List<Requirement> asked) {
    this.asked = asked;
    this.limiter = builder.limiter;
    this.rules = List.copyOf(builder.rules);
    this.clientAddress = builder.clientAddress;
    this.headers = builder.headers;
    this.log = new QuietLog(System.getLogger(RateLimitFilter.class.getName()), System::nanoTime);
    this.charged = "dev.sluice.servlet.charged." + INSTANCES.incrementAndGet();
  }

  /**
   * Starts a filter.
   *
   * @param limiter decides
   * @return a builder
   */
  public static Builder builder(Limiter limiter) {
    return new Builder(limiter);
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (request instanceof HttpServletRequest http
        && response instanceof HttpServletResponse httpResponse
        && http.getDispatcherType() == DispatcherType.REQUEST
        && http.getAttribute(charged) == null) {
      http.setAttribute(charged, true);
      charge(http, httpResponse, chain);
    } else {
      chain.doFilter(request, response);
    }
  }

  /** No longer asks for limits. */
  @Override
  public void destroy() {
    limiter.limits().release(asked);
  }

  private void charge(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    Visit visit = new Visit(request, clientAddress);
    Admission admission = new Admission(limiter, log, visit);
    try {
      Decision decision = admission.spend(rules);
      if (decision != null && decision.denied()) {
        Refusal.denied(response, decision, headers);
        return;
      }
      if (decision != null) {
        allowed(request, response, decision);
      }
      admission.spendInShadow();
    } catch (UnusableRequestException e) {
      Refusal.unusable(response, e);
      return;
    } catch (StoreException | UnknownLimitException e) {
      log.failed("could not decide", e);
      Refusal.storeFailed(response);
      return;
    }
    pass(request, response, chain, admission.open());
  }

  private void allowed(
      HttpServletRequest request, HttpServletResponse response, Decision decision) {
    boolean stacked = request.getAttribute(DECISION) instanceof Decision;
    Decision strictest =
        stacked ? ((Decision) request.getAttribute(DECISION)).stricter(decision) : decision;
    request.setAttribute(DECISION, strictest);
    if (!strictest.degraded()) { // what a failing store would have left is not known
      headers.headers(strictest).forEach(response::setHeader);
    }
  }

  private void pass(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain, List<Batch> open)
      throws IOException, ServletException {
    if (open.isEmpty()) {
      chain.doFilter(request, response);
      return;
    }
    Settlement settlement = new Settlement(open, request, response, log);
    try {
      chain.doFilter(request, response);
    } catch (Throwable e) {
      settlement.failed(e);
      throw e;
    }
    if (!request.isAsyncStarted()) {
      settlement.ended();
      return;
    }
    try {
      request.getAsyncContext().addListener(settlement);
    } catch (IllegalStateException e) {
      settlement.interrupted(); // it has ended, and the container does not say how
    }
  }

  /** Makes a {@link RateLimitFilter}. Not thread-safe. */
  public static final class Builder {
    private final Limiter limiter;
    private final List<Rule> rules = new ArrayList<>();
    private ClientAddress clientAddress = ClientAddress.direct();
    private HeaderProfile headers = HeaderProfile.IETF;
    private MissingDefault onMissing = MissingDefault.REFUSE;

    private Builder(Limiter limiter) {
      this.limiter = limiter;
    }

    /**
     * Adds a rule.
     *
     * @param rule the rule
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder rule(Rule rule) {
      rules.add(rule);
      return this;
    }

    /**
     * Sets how the client's address is found; {@link ClientAddress#direct} if not called.
     *
     * @param how directly, or behind which proxies
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder clientAddress(ClientAddress how) {
      this.clientAddress = how;
      return this;
    }

    /**
     * Sets which headers responses carry; {@link HeaderProfile#IETF} if not called.
     *
     * @param profile the family of headers
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder headers(HeaderProfile profile) {
      this.headers = profile;
      return this;
    }

    /**
     * Sets what happens where a rule names a limit that is {@linkplain Limits#isConfigured not
     * configured}, now and whenever the limits are replaced; {@link MissingDefault#REFUSE} if not
     * called.
     *
     * @param policy refuse the start and the replacement, warn in the log, or allow
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder missingDefaults(MissingDefault policy) {
      this.onMissing = policy;
      return this;
    }

    /**
     * Makes the filter.
     *
     * @return the filter
     * @throws IllegalArgumentException if a rule does not fit the limits, with all that is wrong:
     *     an unknown limit, one that is not configured, an id of another form, a cost above the
     *     burst
     * @throws IllegalStateException if there is no rule
     */
    public RateLimitFilter build() {
      Limits limits = limiter.limits().get();
      List<Requirement> asked =
          rules.stream().flatMap(rule -> rule.requirements(onMissing).stream()).distinct().toList();
      List<String> faults =
          Stream.concat(
                  rules.stream().flatMap(rule -> rule.faults(limits).stream()),
                  asked.stream()
                      .filter(one -> onMissing == MissingDefault.REFUSE)
                      .filter(one -> limits.catalogue().find(one.limit()) != null)
                      .filter(one -> !one.isMetBy(limits))
                      .map(Requirement::message))
              .toList();
      if (!faults.isEmpty()) {
        throw new IllegalArgumentException(String.join("\n", faults));
      }
      if (rules.isEmpty()) {
        throw new IllegalStateException("found no rule, expected at least one");
      }
      limiter.limits().require(asked);
      return new RateLimitFilter(this, asked);
    }
  }
}
