// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.FailureLog;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.Answers.DecisionFields;
import dev.sluice.server.http.ForwardAuthQuery.By;
import dev.sluice.server.http.ForwardAuthQuery.Cost;
import dev.sluice.server.http.ForwardAuthQuery.Wanted;
import dev.sluice.server.net.AnyMethod.AskedByProxies;
import dev.sluice.server.net.WholeResponse;
import dev.sluice.server.net.WholeResponse.WholeAnswer;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.store.StoreException;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProblemDetails;
import dev.sluice.web.Refusal;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.VaryBy;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireRequest;
import dev.sluice.wire.WireTransaction;
import io.micrometer.core.instrument.Counter;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/*
 * The first of these sources that names limits is used: the query, which the proxy's configuration
 * sets; the rules; a header. The header is used only if there are no rules: most proxies forward
 * their clients' headers, and a client must not choose its limit.
 */
/**
 * {@code ANY /v1/forward-auth}: decides whether a proxy may pass on a client's request.
 * Thread-safe; runs on event loops, so it must not block.
 */
final class ForwardAuthResource implements HttpService, AskedByProxies {

  private static final String DOOR = "forward-auth";
  private static final String KEY_HEADER = "RateLimit-Key";
  private static final String ID_HEADER = "RateLimit-Id";
  private static final String STATUS_HEADER = "X-RateLimit-Status";

  /** A denial without {@code Retry-After}, since the rule also denies a retry. */
  private static final Refusal DENIED_BY_RULE =
      new Refusal(
          429,
          Map.of(HttpHeaderNames.CONTENT_TYPE.toString(), ProblemDetails.MEDIA_TYPE),
          ProblemDetails.quotaExceeded(List.of(), "a rule denies this request"));

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final ClientAddress clientAddress;
  private final Counter unmatched;
  private final Denials denials;

  ForwardAuthResource(
      Limiter limiter, ClientAddress clientAddress, Counter unmatched, Denials denials) {
    this.limiter = limiter;
    this.async = limiter.async();
    this.clientAddress = clientAddress;
    this.unmatched = unmatched;
    this.denials = denials;
  }

  /**
   * The charges of a request: transactions that are decided together, and trial transactions, whose
   * limits never deny.
   *
   * @param file the file of the matching rule, empty for none
   * @param line the first line of the matching rule in the file
   */
  private record Charges(
      List<Transaction> together, List<Transaction> trials, boolean denied, String file, int line) {
    static final Charges NONE = of(List.of());

    static Charges of(List<Transaction> together) {
      return new Charges(together, List.of(), false, "", 0);
    }

    @Nullable String rule() {
      return file.isEmpty() ? null : file + ":" + line;
    }
  }

  @Override
  public boolean isFromProxy(ServiceRequestContext context) {
    return clientAddress.trusts(AskedRequest.peerOf(context));
  }

  /** Declares that the body is never read, and that the response is sent as a whole. */
  @Override
  public ExchangeType exchangeType(RoutingContext context) {
    return ExchangeType.REQUEST_STREAMING;
  }

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    AskedRequest asked = AskedRequest.of(context, request, clientAddress);
    if (!asked.isTrusted()) {
      CrossSite.refuse(request.headers());
    }
    ForwardAuthQuery query;
    try {
      query =
          asked.isPathBehind() ? ForwardAuthQuery.NONE : ForwardAuthQuery.parse(asked.ownQuery());
    } catch (WireException e) {
      return inTheFormOf(queryOf(asked), HttpFailures.answer(e)).toHttpResponse();
    }
    return WholeResponse.of(
        decided(asked, query, AccessPart.caller(context))
            .handle((answer, failure) -> failure == null ? answer : failed(failure, query)),
        context);
  }

  private CompletionStage<AggregatedHttpResponse> decided(
      AskedRequest asked, ForwardAuthQuery query, Caller caller) {
    try {
      Limits limits = limiter.limits().get();
      Charges charges = caller.lookUp(List.of(), () -> charges(asked, query, limits, caller));
      caller.require(Act.SPEND, charges.together);
      caller.require(Act.SPEND, charges.trials);
      if (charges.denied) {
        if (!denials.isOff()) {
          denials.reportWithoutLimit(true, requestOf(asked, charges));
        }
        return CompletableFuture.completedFuture(refused(DENIED_BY_RULE, query));
      }
      return spend(charges.together, query.dry())
          .thenCompose(
              decision -> {
                decision.ifPresent(made -> denials.report(made, () -> requestOf(asked, charges)));
                return answered(decision, charges.trials, query);
              });
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private Charges charges(
      AskedRequest asked, ForwardAuthQuery query, Limits limits, Caller caller) {
    if (!query.limits().isEmpty()) {
      return named(asked, query.limits(), limits, caller);
    }
    RuleBook book = RuleBook.of(limits);
    By by = query.by();
    boolean rules = by == null ? book.hasRequestRules() : by == By.RULES;
    if (!rules && !asked.isPathBehind()) {
      return ofHeader(asked, query, limits, caller);
    }
    if (query.cost() != null) {
      throw new WireException(
          "cost",
          "found a cost, but the rule book decides; write the cost into the rule, or name the limit in the query");
    }
    if (!book.hasRequestRules()) {
      throw new WireException(
          "limit", "the query names no limit, and the rule book has no rules for requests");
    }
    Optional<RuleMatch> match = book.match(asked, clientAddress);
    if (match.isEmpty()) {
      unmatched.increment();
      return Charges.NONE;
    }
    RuleMatch found = match.get();
    boolean denied = found.verdict() == Verdict.DENIES;
    try {
      return new Charges(
          denied ? List.of() : found.enforced(limits, 1),
          denied ? List.of() : found.trials(limits, 1),
          denied,
          book.file(),
          found.line());
    } catch (InvalidIdException e) {
      throw found.unusableId();
    }
  }

  /** Returns the client's request; without method and path if these are missing or unusable. */
  private static DeniedRequest requestOf(AskedRequest asked, Charges charges) {
    try {
      return new DeniedRequest(DOOR, asked.method(), asked.path(), charges.rule());
    } catch (WireException | UnusableRequestException e) {
      return new DeniedRequest(DOOR, null, null, charges.rule());
    }
  }

  /**
   * Returns the charges that the query names, for ids from the request. Several charges of one
   * bucket become one charge with the highest of their costs.
   */
  private Charges named(AskedRequest asked, List<Wanted> wanted, Limits limits, Caller caller) {
    List<Transaction> all = new ArrayList<>(wanted.size());
    Set<String> written = new HashSet<>();
    RequestFacts facts = new RequestFacts(asked, clientAddress);
    for (Wanted one : wanted) {
      String given = one.id();
      // Also if the request has no id, so that a wrong name is an error for all clients.
      LimitName name =
          caller.lookUp(List.of(one.limit()), () -> limits.catalogue().get(one.limit()));
      VaryBy key = one.key() == null ? null : one.key().in(name.id());
      List<String> ids =
          key == null
              ? List.of(given == null ? idOfHeader(asked) : given)
              : facts
                  .inEachReading(reading -> Optional.ofNullable(key.value(reading, Map.of())))
                  .stream()
                  .flatMap(Optional::stream) // no transaction if the limit is skipped
                  .toList();
      for (String id : ids) {
        Transaction transaction =
            looked(
                new WireTransaction(one.limit(), id, cost(facts, one.cost()), null), limits, key);
        if (given != null && !written.add(transaction.bucketKey())) {
          throw new WireException(
              "id",
              "found the bucket %s again, expected each bucket once"
                  .formatted(transaction.bucketKey()));
        }
        all.add(transaction);
      }
    }
    return Charges.of(RuleMatch.onePerBucket(all));
  }

  /** Looks up the charge of a limit that exists and that the caller may use. */
  private Transaction looked(WireTransaction wire, Limits limits, @Nullable VaryBy key) {
    try {
      return WireRequest.of(wire).toTransactions(limits, limiter).get(0);
    } catch (WireException e) {
      if (key != null && "id".equals(e.field())) { // the message has the value, as in RuleMatch
        throw new UnusableRequestException("the request has an unusable value for a limit's key");
      }
      throw e;
    }
  }

  /** Returns the charges of {@code RateLimit-Key} headers, such as {@code PerIp:192.0.2.7}. */
  private Charges ofHeader(
      AskedRequest asked, ForwardAuthQuery query, Limits limits, Caller caller) {
    List<String> keys = asked.headers(KEY_HEADER);
    if (keys.isEmpty()) {
      String said =
          query.by() == By.HEADER
              ? "the query says by=header, and the header %s is missing"
              : "the query names no limit, there are no rules for requests, and the header %s is missing";
      throw new WireException("limit", said.formatted(KEY_HEADER));
    }
    List<WireTransaction> wires = new ArrayList<>(keys.size());
    Long cost = cost(new RequestFacts(asked, clientAddress), query.cost());
    for (String key : keys) {
      int colon = key.indexOf(':');
      if (colon < 1) {
        throw new WireException(
            null,
            "found the header %s without a limit's name and a \":\", expected LIMIT:ID"
                .formatted(KEY_HEADER));
      }
      if (isJoined(key, limits, caller)) {
        throw new WireException(
            null,
            "found several limits in one header %s, expected a header for each: the proxy must not join them"
                .formatted(KEY_HEADER));
      }
      wires.add(new WireTransaction(key.substring(0, colon), key.substring(colon + 1), cost, null));
    }
    return looked(wires, limits, caller);
  }

  /**
   * Whether a proxy has joined several headers with commas. Other limits than the caller's do not
   * count, since the answer would tell the caller that they exist.
   */
  private static boolean isJoined(String key, Limits limits, Caller caller) {
    return Arrays.stream(key.split(","))
        .skip(1)
        .filter(piece -> piece.indexOf(':') > 0)
        .map(piece -> piece.substring(0, piece.indexOf(':')).strip())
        .anyMatch(name -> limits.catalogue().find(name) != null && caller.mayUse(name));
  }

  private Charges looked(List<WireTransaction> wires, Limits limits, Caller caller) {
    WireRequest request =
        wires.size() == 1 ? WireRequest.of(wires.get(0)) : WireRequest.ofBatch(wires);
    List<Transaction> together =
        caller.lookUp(request.limits(), () -> request.toTransactions(limits, limiter));
    return Charges.of(together);
  }

  private static @Nullable Long cost(RequestFacts facts, @Nullable Cost cost) {
    if (cost == null) {
      return null;
    }
    String header = cost.header();
    return header == null ? Long.valueOf(cost.tokens()) : Long.valueOf(facts.cost(header, 1));
  }

  private static String idOfHeader(AskedRequest asked) {
    List<String> values = asked.headers(ID_HEADER);
    if (values.size() != 1) {
      throw new WireException(
          "id",
          "the query has neither id nor key; found the header %s %s times, expected it once"
              .formatted(ID_HEADER, values.size()));
    }
    return values.get(0);
  }

  private CompletionStage<Optional<Decision>> spend(List<Transaction> transactions, boolean dry) {
    if (transactions.isEmpty()) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return (dry ? async.check(transactions) : async.spend(transactions)).thenApply(Optional::of);
  }

  private CompletionStage<AggregatedHttpResponse> answered(
      Optional<Decision> decision, List<Transaction> trials, ForwardAuthQuery query) {
    if (decision.isPresent() && decision.get().denied()) {
      Refusal refusal = Refusal.denied(decision.get(), query.headers());
      return CompletableFuture.completedFuture(refused(refusal, query));
    }
    AggregatedHttpResponse answer = allowed(decision, query.headers());
    CompletableFuture<?>[] asked =
        trials.stream()
            .map(trial -> tried(trial, query.dry()))
            .toArray(CompletableFuture<?>[]::new);
    return CompletableFuture.allOf(asked).thenApply(done -> answer);
  }

  /** Charges a trial transaction; logs a failure of the trial, which does not fail the request. */
  private CompletableFuture<?> tried(Transaction trial, boolean dry) {
    return spend(List.of(trial), dry)
        .toCompletableFuture()
        .exceptionally(
            failure -> {
              Throwable cause = Exceptions.peel(failure);
              if (cause instanceof StoreException store) {
                FailureLog.undecided(store);
              } else {
                FailureLog.internal(cause);
              }
              return Optional.empty();
            });
  }

  private static AggregatedHttpResponse allowed(
      Optional<Decision> decision, HeaderProfile profile) {
    ResponseHeadersBuilder headers = headers(HttpStatus.OK);
    decision.ifPresent(made -> DecisionFields.set(profile.headers(made), headers));
    return WholeAnswer.of(headers, HttpData.empty());
  }

  private static AggregatedHttpResponse refused(Refusal refusal, ForwardAuthQuery query) {
    ResponseHeadersBuilder headers = headers(HttpStatus.valueOf(refusal.status()));
    DecisionFields.set(refusal.headers(), headers);
    return inTheFormOf(query, WholeAnswer.of(headers, HttpData.ofUtf8(refusal.body())));
  }

  private static ResponseHeadersBuilder headers(HttpStatus status) {
    return ResponseHeaders.builder(status)
        .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
        .set(HttpHeaderNames.X_CONTENT_TYPE_OPTIONS, "nosniff");
  }

  private static AggregatedHttpResponse failed(Throwable failure, ForwardAuthQuery query) {
    Throwable cause = Exceptions.peel(failure);
    return cause instanceof UnusableRequestException unusable
        ? refused(Refusal.unusable(unusable), query)
        : inTheFormOf(query, Answers.fault(HttpFailures.fault(cause, query.dry())));
  }

  /** Converts an earlier handler's refusal to the form that the query asks for. */
  static AggregatedHttpResponse inTheFormAskedFor(
      ServiceRequestContext context, AggregatedHttpResponse answer) {
    return inTheFormOf(queryOf(context), answer);
  }

  /** Whether a request only checks the limits. */
  static boolean isDry(ServiceRequestContext context) {
    return queryOf(context).dry();
  }

  private static ForwardAuthQuery queryOf(ServiceRequestContext context) {
    ForwardAuthResource resource = context.config().service().as(ForwardAuthResource.class);
    HttpRequest request = context.request();
    return resource == null || request == null
        ? ForwardAuthQuery.NONE
        : queryOf(AskedRequest.of(context, request, resource.clientAddress));
  }

  /** Returns the query as it was written; an empty query if it has a mistake. */
  private static ForwardAuthQuery queryOf(AskedRequest asked) {
    try {
      return asked.isPathBehind()
          ? ForwardAuthQuery.NONE
          : ForwardAuthQuery.parse(asked.writtenQuery());
    } catch (WireException e) {
      return ForwardAuthQuery.NONE;
    }
  }

  /** Changes a refusal's status to 403, for nginx, unless only an operator can mend the cause. */
  private static AggregatedHttpResponse inTheFormOf(
      ForwardAuthQuery query, AggregatedHttpResponse answer) {
    HttpStatus status = answer.status();
    boolean isClients =
        status.equals(HttpStatus.TOO_MANY_REQUESTS)
            || status.equals(HttpStatus.BAD_REQUEST)
            || status.equals(HttpStatus.SERVICE_UNAVAILABLE);
    if (!query.deny403() || !isClients) {
      return answer;
    }
    ResponseHeaders headers =
        answer.headers().toBuilder()
            .status(HttpStatus.FORBIDDEN)
            .set(STATUS_HEADER, status.codeAsText())
            .build();
    return AggregatedHttpResponse.of(headers, answer.content());
  }

  /*
   * A web page of another site can make a browser send a GET without a preflight request and
   * without an Origin header, for example to load an image. The browser then sends the header
   * Sec-Fetch-Site. A proxy that asks for a decision forwards its client's Sec-Fetch-Site, but also
   * adds headers of its own. A web page cannot send the headers that a proxy adds: the browser
   * first sends a preflight request, and this server refuses the preflight because of its Origin.
   */

  /** Refuses requests that web pages of other sites sent through a browser. */
  private static final class CrossSite {

    private static final String SITE = "sec-fetch-site";
    private static final List<String> OTHERS = List.of("cross-site", "same-site");
    private static final List<String> OF_PROXIES =
        List.of(
            "x-forwarded-",
            "x-original-",
            "x-real-ip",
            "forwarded",
            "via",
            "sluice-",
            "ratelimit-");

    private CrossSite() {}

    static void refuse(RequestHeaders headers) {
      String site = headers.get(SITE, "none");
      if (OTHERS.contains(site) && !isOfProxy(headers)) {
        throw RefusedException.crossSite(site);
      }
    }

    private static boolean isOfProxy(RequestHeaders headers) {
      for (AsciiString name : headers.names()) {
        for (String start : OF_PROXIES) {
          if (name.toString().startsWith(start)) {
            return true;
          }
        }
      }
      return false;
    }
  }
}
