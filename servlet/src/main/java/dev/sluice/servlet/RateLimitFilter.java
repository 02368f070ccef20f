// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.web.Admission;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.Refusal;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.RuleBuilder;
import dev.sluice.web.WebRequest;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A servlet filter that admits requests within their limits, and answers all other requests with a
 * 429. If the store fails, the limiter's {@link dev.sluice.FailureRule} decides. If the failure
 * rule denies the request, or the limiter has no failure rule, the response is a 503.
 *
 * <p>A request spends from all limits of all rules that match the request, or from none. A request
 * is charged once, when it arrives: forwards, includes, error pages and asynchronous dispatches are
 * not charged. {@linkplain Rule.Builder#shadow Shadow rules} are charged only for admitted
 * requests.
 *
 * <p>If a rule {@linkplain Rule.Builder#estimate estimates} the cost, and the client sends {@code
 * TE: trailers}, the trailers contain the rate limit headers with the numbers after the settlement.
 *
 * <p>If a servlet behind this filter is asynchronous, register the filter for asynchronous requests
 * ({@code setAsyncSupported(true)}).
 *
 * <p>Thread-safe. Blocks until the limiter's store has decided.
 */
public final class RateLimitFilter implements Filter {

  /**
   * The request attribute with the {@link Decision} that admitted a request. If several filters
   * admitted the request, the attribute has the strictest decision. If no rule matched the request,
   * the attribute is absent.
   */
  public static final String DECISION = "dev.sluice.servlet.decision";

  private static final String ADMISSIONS = "dev.sluice.servlet.admissions";

  private static final AtomicInteger INSTANCES = new AtomicInteger();

  private final RequestLimiter limiter;
  private final String charged;

  private RateLimitFilter(RequestLimiter limiter) {
    this.limiter = limiter;
    this.charged = "dev.sluice.servlet.charged." + INSTANCES.incrementAndGet();
  }

  /**
   * Returns a builder.
   *
   * @param limiter the limiter that decides
   * @return a builder without rules
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

  /** Closes the filter, so that reloads can remove limits that its rules use. */
  @Override
  public void destroy() {
    limiter.close();
  }

  /**
   * Returns a view of a servlet request for rules, for example to find the client's address with
   * {@link ClientAddress#find}.
   *
   * @param request the request
   * @return a view of the request
   */
  public static WebRequest webRequest(HttpServletRequest request) {
    return new ServletWebRequest(request);
  }

  /**
   * Sets the true cost of a request, for the rules that {@linkplain Rule.Builder#estimate
   * estimated} the cost; does nothing if no rule estimated the cost. Any thread can call this
   * method until the request ends; after the end, a container can reject the call with an {@link
   * IllegalStateException}, or ignore the call. If the client can disconnect before the cost is
   * known, use {@link #cost(ServletRequest)}.
   *
   * @param request the request that the filter has passed on, or a wrapper of it
   * @param tokens the number of tokens to charge for the request
   * @throws IllegalArgumentException if the cost is below 1
   */
  public static void cost(ServletRequest request, long tokens) {
    cost(request).accept(tokens);
  }

  /**
   * Returns a function that sets the true cost of a request, as {@link #cost(ServletRequest, long)}
   * does. Call this method before the request ends. Any thread can call the function, even after
   * the end of the request. If the function sets several costs, the last cost before the end of the
   * response counts. If the function is first called after the end of the response, only the cost
   * of the first call counts.
   *
   * @param request the request that the filter has passed on, or a wrapper of it
   * @return a function that takes the number of tokens to charge for the request, and throws an
   *     {@link IllegalArgumentException} if the number is below 1
   */
  public static LongConsumer cost(ServletRequest request) {
    return request.getAttribute(ADMISSIONS) instanceof List<?> admissions
        ? tokens -> admissions.forEach(admission -> ((Admission) admission).cost(tokens))
        : tokens -> {};
  }

  private static void expectCost(HttpServletRequest request, Admission admission) {
    List<Object> admissions = new ArrayList<>();
    if (request.getAttribute(ADMISSIONS) instanceof List<?> before) {
      admissions.addAll(before); // admissions by other filters
    }
    admissions.add(admission);
    request.setAttribute(ADMISSIONS, admissions);
  }

  private void charge(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    Admission admission = limiter.admit(new ServletWebRequest(request));
    Refusal refusal = admission.refusal();
    if (refusal != null) {
      refuse(response, refusal);
      return;
    }
    Decision decision = admission.decision();
    if (decision != null) {
      allowed(request, response, decision);
    }
    pass(request, response, chain, admission);
  }

  /**
   * Rejects a request in the same way as the filter, for code that limits requests itself. Discards
   * what was written to the response before. If the response's writer was used, the body is sent in
   * the writer's charset.
   *
   * @param response the response, which is not committed
   * @param refusal the response to send
   * @throws IllegalStateException if the response is committed
   * @throws IOException if the response cannot be written
   */
  public static void refuse(HttpServletResponse response, Refusal refusal) throws IOException {
    // sendError would start a dispatch to an error page and lose the body.
    response.resetBuffer();
    byte[] body = refusal.body().getBytes(StandardCharsets.UTF_8);
    response.setStatus(refusal.status());
    refusal.headers().forEach(response::setHeader);
    ServletOutputStream stream;
    try {
      stream = response.getOutputStream();
    } catch (IllegalStateException e) { // the application has taken the writer
      String type = response.getContentType();
      boolean isJson = type != null && type.contains("json");
      response.setContentLengthLong(-1); // removes that of the application's body
      response.getWriter().write(isJson ? ascii(refusal.body()) : refusal.body());
      return;
    }
    response.setContentLength(body.length);
    stream.write(body);
  }

  /** Escapes the characters of a JSON text that the charset of a writer may lack. */
  private static String ascii(String json) {
    StringBuilder ascii = new StringBuilder(json.length());
    json.chars()
        .forEach(
            c ->
                ascii.append(
                    c < 0x80 ? Character.toString(c) : String.format(Locale.ROOT, "\\u%04x", c)));
    return ascii.toString();
  }

  private void allowed(
      HttpServletRequest request, HttpServletResponse response, Decision decision) {
    boolean stacked = request.getAttribute(DECISION) instanceof Decision;
    Decision strictest =
        stacked ? ((Decision) request.getAttribute(DECISION)).stricter(decision) : decision;
    request.setAttribute(DECISION, strictest);
    limiter.headers(strictest).forEach(response::setHeader);
  }

  private void pass(
      HttpServletRequest request,
      HttpServletResponse response,
      FilterChain chain,
      Admission admission)
      throws IOException, ServletException {
    if (!admission.isConditional()) {
      chain.doFilter(request, response);
      return;
    }
    Settlement settlement = new Settlement(admission, request, response);
    if (admission.isEstimated()) {
      expectCost(request, admission);
      if (acceptsTrailers(request)) {
        addTrailers(response, admission, settlement);
      }
    }
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
      settlement.interrupted(); // the request has ended, but its outcome is unknown
    }
  }

  private static boolean acceptsTrailers(HttpServletRequest request) {
    return Collections.list(request.getHeaders("TE")).stream()
        .flatMap(value -> Stream.of(value.split(",", -1)))
        .anyMatch(coding -> coding.strip().equalsIgnoreCase("trailers"));
  }

  /**
   * Adds the rate limit headers, with the numbers after the settlement, to the trailers; the
   * trailers of other filters stay.
   */
  private void addTrailers(
      HttpServletResponse response, Admission admission, Settlement settlement) {
    Supplier<Map<String, String>> before = response.getTrailerFields();
    try {
      response.setTrailerFields(
          () -> {
            // Settle now: an asynchronous request completes only after its trailers were written.
            settlement.ended();
            Map<String, String> trailers = new LinkedHashMap<>();
            Map<String, String> others = before == null ? null : before.get();
            if (others != null) {
              trailers.putAll(others);
            }
            trailers.putAll(limiter.trailers(admission));
            return trailers;
          });
    } catch (IllegalStateException e) {
      return; // HTTP/1.0, or a response that was committed before this filter
    }
    Decision decision = admission.decision();
    if (decision != null && response.getTrailerFields() != null) { // else no trailers
      Collection<String> announced = List.copyOf(response.getHeaders("Trailer"));
      limiter.headers(decision).keySet().stream()
          .filter(name -> !announced.contains(name))
          .forEach(name -> response.addHeader("Trailer", name));
    }
  }

  /** Makes a {@link RateLimitFilter}. Not thread-safe. */
  public static final class Builder extends RuleBuilder<Builder> {

    private Builder(Limiter limiter) {
      super(limiter);
    }

    @Override
    protected Builder self() {
      return this;
    }

    /**
     * Makes the filter.
     *
     * @return the filter; the container or the caller destroys it
     * @throws IllegalArgumentException if a rule does not fit the limits; the message lists every
     *     mistake: an unknown limit, a limit that is not configured, an id of another format, a
     *     cost above the burst
     * @throws IllegalStateException if the filter has no rule
     */
    public RateLimitFilter build() {
      return new RateLimitFilter(requestLimiter());
    }
  }
}
