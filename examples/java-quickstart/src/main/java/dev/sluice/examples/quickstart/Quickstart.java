// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.quickstart;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Estimate;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The code of docs/java-api.md, as a program; run it in this folder. */
public final class Quickstart {

  private final Limiter limiter;

  Quickstart(Limiter limiter) {
    this.limiter = limiter;
  }

  /**
   * Logs in 12 times from one address, under a limit of 10 at once.
   *
   * @param args none
   */
  public static void main(String[] args) {
    // begin: files
    Limiter limiter =
        Limiter.of(LimitFiles.of(Path.of("limits.yml")).load(), BucketStore.inMemory());
    // end: files
    Quickstart quickstart = new Quickstart(limiter);
    for (int i = 1; i <= 12; i++) {
      System.out.println(i + ": " + quickstart.login());
    }
  }

  static Decision limitInOneLine() {
    // begin: limit
    Limit logins = Limit.of(Quota.per(10, Duration.ofMinutes(1)));

    Decision login = logins.spend("192.0.2.7");
    // end: limit
    return login;
  }

  static String acquireInOneLine() throws InterruptedException {
    // begin: acquire
    Limit calls = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1))); // one at a time

    Decision call = calls.acquire("api.example.com", Duration.ofSeconds(5));
    if (call.denied()) {
      return "too busy: the wait would have been " + call.retryIn();
    }
    // end: acquire
    return "200";
  }

  static LimitName nameThatWaits() {
    // begin: waits
    LimitName outbound =
        LimitName.builder("CallsPerPartner").longestWait(Duration.ofSeconds(30)).build();
    // end: waits
    return outbound;
  }

  static CompletableFuture<Decision> acquireWithoutBlocking(Limiter limiter, Transaction call) {
    // begin: acquireAsync
    CompletableFuture<Decision> turn =
        limiter.async().acquire(call, Duration.ofSeconds(5)).toCompletableFuture();
    turn.orTimeout(2, TimeUnit.SECONDS); // or turn.cancel(false): the tokens are given back
    // end: acquireAsync
    return turn;
  }

  Decision suppliedQuota() {
    // begin: supplied
    LimitName calls = LimitName.builder("CallsPerCustomer").build(); // a constant
    Quota plan = Quota.burst(100).refill(50, Duration.ofSeconds(1)); // from the customer's plan
    Decision call = limiter.spend(Transaction.of(calls, plan, "customer-17").withCost(2));
    // end: supplied
    return call;
  }

  static Limiter limiterInCode() {
    // begin: code
    Catalogue names =
        Catalogue.of(
            LimitName.builder("ExportsPerTenantPerUser")
                .id(IdFormat.joined(IdFormat.uuid(), IdFormat.string()))
                .message("too many exports ({burst}) by {id.2} in the last {period}")
                .helpLink("https://example.com/limits#exports")
                .build());
    Limits limits =
        Limits.builder(names)
            .limit("ExportsPerTenantPerUser", Quota.burst(10).refill(5, Duration.ofMinutes(1)))
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory());
    // end: code
    return limiter;
  }

  String login() {
    // begin: spend
    Decision login = limiter.spend("LoginsPerIPAddress", "192.0.2.7");
    if (login.denied()) {
      return "429, retry in " + login.retryAfterSeconds() + " s: " + login.message();
    }
    // end: spend
    return "200, " + login.remaining() + " left";
  }

  Decision signUp() {
    // begin: batch
    Decision signUp =
        limiter.spend(
            List.of(
                limiter.transaction("SignUpsPerIPAddress", "2001:db8::7"),
                limiter.transaction("SignUpsPerIPv6Range", "2001:db8::/64")));
    // end: batch
    return signUp;
  }

  String loginWithPassword(String ip, String user, String password) {
    // begin: reserve
    try (Reservation attempt = limiter.reserve("FailedLoginsPerIPAddress", ip)) {
      if (attempt.denied()) {
        return "429, retry in " + attempt.decision().retryAfterSeconds() + " s";
      }
      if (authenticate(user, password)) {
        attempt.cancel(); // a good login costs nothing
        return "200";
      }
      return "401";
    }
    // end: reserve
  }

  String costKnownAfterwards(Estimate estimate, String key, String model, String prompt) {
    // begin: settle
    Transaction tokens =
        limiter.transaction("ApiCallsPerKey", key).withCost(estimate.of(model, prompt.length()));
    try (Reservation call = limiter.reserve(tokens)) {
      if (call.denied()) {
        return "429, retry in " + call.decision().retryAfterSeconds() + " s";
      }
      long used = answer(model, prompt); // may take long
      call.settle(Map.of("ApiCallsPerKey", used));
      return "200";
    } // not settled: the estimate stays spent
    // end: settle
  }

  private static long answer(String model, String prompt) {
    return (long) model.length() + prompt.length();
  }

  private static boolean authenticate(String user, String password) {
    return password.equals("the password of " + user);
  }

  String joinedId() {
    IdFormat format = limiter.limits().get().catalogue().get("LoginsPerUserPerIPAddress").id();
    String id = format.join(List.of("2001:db8::1", "alice"), Strictness.LENIENT);
    return id;
  }

  static Decision replaced(Limits limits, Limits newLimits) {
    // begin: replace
    CurrentLimits current = new CurrentLimits(limits);
    Limiter limiter = Limiter.of(current, BucketStore.inMemory());
    current.replace(newLimits); // apply to the next request, on the same buckets
    // end: replace
    return limiter.spend("LoginsPerIPAddress", "192.0.2.7");
  }
}
