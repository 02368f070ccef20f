// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.acme;

import dev.sluice.Limiter;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.acme.Identifier;
import dev.sluice.examples.acme.FrontEnd.Answer;
import dev.sluice.limit.IpAddress;
import dev.sluice.store.BucketStore;
import dev.sluice.yaml.LimitFiles;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/** Exceeds one limit after the other, on a simulated clock. Run this program in its folder. */
public final class Tour {

  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final PrintStream out;
  private final AtomicLong nowNanos = new AtomicLong(START.getEpochSecond() * NANOS_PER_SECOND);
  private final FrontEnd ca;

  Tour(Path limits, PrintStream out) {
    this.out = out;
    this.ca =
        new FrontEnd(
            Limiter.of(
                LimitFiles.builder()
                    .catalogue(AcmeLimits.bundled().catalogue())
                    .defaults(limits)
                    .build()
                    .load(),
                BucketStore.inMemory(nowNanos::get)));
  }

  /**
   * Prints the tour.
   *
   * @param args none
   */
  public static void main(String[] args) {
    new Tour(Path.of("limits.yml"), new PrintStream(System.out, true, StandardCharsets.UTF_8))
        .run();
  }

  void run() {
    accounts();
    failures();
    sameSet();
    domain();
    orders();
    pausing();
  }

  private void accounts() {
    title("New accounts from one address");
    IpAddress home = address("192.0.2.1");
    untilDenied("accounts", n -> ca.newAccount(home));
    show("from its neighbour", ca.newAccount(address("192.0.2.2")));
  }

  private void failures() {
    title("Failed authorizations: an order of 3 names, one of which never validates");
    List<Identifier> names =
        Identifier.parseAll(List.of("example.com", "www.example.com", "broken.example.com"));
    show("order", ca.newOrder(1, names, false));
    for (int i = 1; i <= 5; i++) {
      show("failure " + i, ca.authorizationFailed(1, names.get(2)));
    }
    show("order", ca.newOrder(1, names, false));
    show("order without that name", ca.newOrder(1, names.subList(0, 2), false));
    pass(Duration.ofMinutes(12));
    show("order", ca.newOrder(1, names, false));
  }

  private void sameSet() {
    title("Certificates for exactly the same names");
    List<Identifier> names = Identifier.parseAll(List.of("example.org", "www.example.org"));
    untilDenied("certificates", n -> orderAndIssue(2, names, false));
    show("a renewal of them", ca.newOrder(2, names, true));
    show(
        "with another name",
        ca.newOrder(2, Identifier.parseAll(List.of("example.org", "a.example.org")), false));
  }

  private void domain() {
    title("Certificates under one registered domain, a new name each time");
    untilDenied(
        "certificates",
        n ->
            orderAndIssue(
                3 + n, Identifier.parseAll(List.of("site" + n + ".example.co.uk")), false));
    show(
        "a renewal of a certificate",
        orderAndIssue(4, Identifier.parseAll(List.of("site1.example.co.uk")), true));
    show(
        "a name under another domain",
        orderAndIssue(4, Identifier.parseAll(List.of("site1.example.net")), false));
  }

  private void orders() {
    title("Orders of one account, each under a domain of its own");
    untilDenied(
        "orders",
        n -> ca.newOrder(500, Identifier.parseAll(List.of("customer" + n + ".com")), false));
    show("a renewal", ca.newOrder(500, Identifier.parseAll(List.of("customer1.com")), true));
    pass(Duration.ofSeconds(36));
    show("an order", ca.newOrder(500, Identifier.parseAll(List.of("customer0.com")), false));
  }

  private void pausing() {
    title("The pausing limit: a forgotten client that fails 5 times an hour");
    Identifier forgotten = Identifier.parse("forgotten.example.net");
    int failures = 0;
    Instant start = now();
    Answer answer = ca.authorizationFailed(600, forgotten);
    while (answer.allowed()) {
      failures++;
      nowNanos.addAndGet(Duration.ofMinutes(12).toNanos());
      answer = ca.authorizationFailed(600, forgotten);
    }
    Duration took = Duration.between(start, now());
    out.printf(
        "  %s failures in %s days and %s hours, then%n",
        failures, took.toDays(), took.toHoursPart());
    show("failure", answer);
    show("order", ca.newOrder(600, List.of(forgotten), false));
    ca.unpause(600, forgotten);
    pass(Duration.ofMinutes(12));
    show("order, unpaused", ca.newOrder(600, List.of(forgotten), false));
    show("failure", ca.authorizationFailed(600, forgotten));
  }

  Answer orderAndIssue(long account, List<Identifier> names, boolean isRenewal) {
    Answer order = ca.newOrder(account, names, isRenewal);
    if (order.allowed()) {
      ca.issued(account, names, isRenewal);
    }
    return order;
  }

  private void untilDenied(String what, IntFunction<Answer> act) {
    int done = 0;
    Answer answer = act.apply(1);
    while (answer.allowed()) {
      done++;
      answer = act.apply(done + 1);
    }
    out.printf("  %s %s, then%n", done, what);
    show("another", answer);
  }

  private void pass(Duration time) {
    nowNanos.addAndGet(time.toNanos());
    out.printf("  (%s min %s s pass)%n", time.toMinutes(), time.toSecondsPart());
  }

  private void title(String text) {
    out.printf("%n%s%n", text);
  }

  private void show(String what, Answer answer) {
    out.printf("  %-28s %s  %s%n", what, answer.allowed() ? "yes" : "NO ", answer.text());
  }

  private Instant now() {
    return Instant.ofEpochSecond(
        nowNanos.get() / NANOS_PER_SECOND, nowNanos.get() % NANOS_PER_SECOND);
  }

  private static IpAddress address(String text) {
    return Objects.requireNonNull(IpAddress.parse(text));
  }
}
