// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Rule;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The objects of one test of a filter: a clock, limits, a store that can fail, and the server. */
final class FilterRun implements AutoCloseable {

  /** The IP address from which the tests send requests. */
  static final String LOCAL = "127.0.0.1";

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Starter starter;
  private final List<Decision> decisions = new CopyOnWriteArrayList<>();
  private final ManualTime time = new ManualTime();
  private final BreakableStore store = new BreakableStore(time);
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(limits()), store).observer(new Spends()).build();
  private @Nullable FilteredSite site;

  FilterRun(Starter starter) {
    this.starter = starter;
  }

  /** Starts the server with the filter under test. */
  interface Starter {
    FilteredSite start(FilterSetup setup) throws Exception;
  }

  private static Limits limits() {
    Catalogue names =
        Catalogue.of(
            LimitName.builder(1001, "PerAddress").id(IdFormat.ipAddress()).jitter(0).build(),
            LimitName.builder(1002, "PerRange").id(IdFormat.ipv6Range(48)).build(),
            LimitName.builder(1003, "PerKey").jitter(0).build(),
            LimitName.builder(1004, "PerAddressPerUser")
                .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.string()))
                .build(),
            LimitName.builder(1005, "FailedPerAddress").id(IdFormat.ipAddress()).jitter(0).build(),
            LimitName.builder(1006, "Disabled").build());
    return Limits.builder(names)
        .limit("PerAddress", Quota.per(3, Duration.ofSeconds(30)))
        .limit("PerRange", Quota.per(5, Duration.ofMinutes(1)))
        .limit("PerKey", Quota.per(2, Duration.ofMinutes(1)))
        .limit("PerAddressPerUser", Quota.per(2, Duration.ofMinutes(1)))
        .unlimited("Disabled")
        .limit("FailedPerAddress", Quota.per(30, Duration.ofHours(1)))
        .build();
  }

  ManualTime time() {
    return time;
  }

  BreakableStore store() {
    return store;
  }

  /** Returns the decisions on all spends since the start of the test, in order. */
  List<Decision> decisions() {
    return decisions;
  }

  void start(Rule... rules) throws Exception {
    start(ClientAddress.direct(), HeaderProfile.IETF, rules);
  }

  void start(ClientAddress clientAddress, HeaderProfile headers, Rule... rules) throws Exception {
    site = starter.start(new FilterSetup(limiter, List.of(rules), clientAddress, headers));
  }

  /**
   * Starts the server with failure rules. If the store fails, the limiter allows requests for
   * PerKey, denies requests for PerAddress, and decides on requests for PerAddressPerUser in this
   * process.
   */
  void startWithFailureRules(Rule... rules) throws Exception {
    Limiter careful =
        Limiter.builder(new CurrentLimits(limits()), store)
            .onFailure("PerKey", FailureRule.allow())
            .onFailure("PerAddress", FailureRule.deny())
            .onFailure("PerAddressPerUser", FailureRule.local(1))
            .build();
    site =
        starter.start(
            new FilterSetup(careful, List.of(rules), ClientAddress.direct(), HeaderProfile.IETF));
  }

  FilteredSite site() {
    FilteredSite started = site;
    if (started == null) {
      throw new IllegalStateException("the test started no server");
    }
    return started;
  }

  long remaining(String limit, String id) {
    return limiter.check(limit, id, 0).remaining();
  }

  /** Returns the remaining tokens in the bucket that rules in shadow mode charge for a limit. */
  long remainingInShadow(String limit, String id) {
    Transaction read = limiter.transaction(limit, id).inShadow().withCost(0);
    return limiter.check(List.of(read)).remaining();
  }

  HttpResponse<String> get(String path, String... headers) {
    return send("GET", path, "", headers);
  }

  HttpResponse<String> post(String path, String body, String... headers) {
    return send("POST", path, body, headers);
  }

  HttpResponse<String> send(String method, String path, String body, String... headers) {
    URI uri = URI.create("http://" + LOCAL + ":" + site().port() + site().prefix() + path);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .timeout(Duration.ofMinutes(1))
            .method(method, BodyPublishers.ofString(body));
    for (int i = 0; i < headers.length; i += 2) {
      request.header(headers[i], headers[i + 1]);
    }
    try {
      return client.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /**
   * Sends a GET request as raw bytes, since an HTTP library would refuse to send some requests.
   *
   * @param path the path, relative to {@link FilteredSite#prefix}
   * @return the whole response, including the status line
   */
  String raw(String path, String... headerLines) throws IOException {
    return rawTarget(site().prefix() + path, headerLines);
  }

  /** Sends a GET request as raw bytes, with {@code target} in the request line. */
  String rawTarget(String target, String... headerLines) throws IOException {
    return rawRequest("GET " + target + " HTTP/1.1", headerLines);
  }

  /** Sends a request as raw bytes, with {@code start} as the request line. */
  String rawRequest(String start, String... headerLines) throws IOException {
    StringBuilder request = new StringBuilder(start + "\r\nHost: x\r\nContent-Length: 0\r\n");
    for (String line : headerLines) {
      request.append(line).append("\r\n");
    }
    request.append("Connection: close\r\n\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), site().port())) {
      socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  String prefix() {
    return site().prefix();
  }

  @Override
  public void close() throws Exception {
    if (site != null) {
      site.close();
    }
  }

  private final class Spends implements LimiterObserver {
    @Override
    public void decided(Act act, Decision decision, long elapsedNanos) {
      if (act == Act.SPEND && decision.transaction() != null) {
        decisions.add(decision);
      }
    }
  }

  /** A group of tests of {@link FilterContract}. */
  interface FilterRules {

    /** Returns the running test with its clock, its limits and its server. */
    FilterRun run();
  }

  /**
   * A memory store that fails when a test wants it, but only in ways that the contract of stores
   * permits.
   */
  static final class BreakableStore implements BucketStore {

    private final BucketStore memory;
    private final AtomicInteger calls = new AtomicInteger();
    private volatile int breaksAfter = Integer.MAX_VALUE;

    BreakableStore(TimeSource time) {
      this.memory = BucketStore.inMemory(time);
    }

    void breakDown() {
      breakAfter(0);
    }

    /** Lets the next {@code more} calls of the store succeed, and makes all later calls fail. */
    void breakAfter(int more) {
      breaksAfter = calls.get() + more;
    }

    void repair() {
      breaksAfter = Integer.MAX_VALUE;
    }

    int calls() {
      return calls.get();
    }

    @Override
    public OptionalLong nowNanos() {
      return memory.nowNanos();
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (calls.incrementAndGet() > breaksAfter) {
        throw new StoreException("the store is broken, as the test wants");
      }
      return memory.charge(charges);
    }
  }
}
