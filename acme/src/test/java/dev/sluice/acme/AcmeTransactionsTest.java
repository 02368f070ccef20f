// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class AcmeTransactionsTest {

  private static final long ACCOUNT = 12345;
  private static final List<Identifier> ORDER =
      Identifier.parseAll(
          List.of("www.example.com", "*.example.com", "example.com", "example.co.uk", "10.0.0.1"));
  private static final String SET = AcmeFormats.FqdnSet.hash(ORDER);

  private final CurrentLimits limits = new CurrentLimits(all().build());
  private final AcmeTransactions acme = AcmeLimits.bundled().transactions(limits);
  private final Limiter limiter = Limiter.of(limits, BucketStore.inMemory(new ManualTime()));

  /** All limits but number 6, which has overrides only: 2 at once, 2 an hour. */
  private static Limits.Builder all() {
    Limits.Builder builder = Limits.builder(AcmeLimits.bundled().catalogue());
    for (AcmeLimit limit : AcmeLimit.values()) {
      builder.limit(limit.limitName(), Quota.per(2, Duration.ofHours(1)));
    }
    return builder;
  }

  @Test
  void newAccount_fromIpv4_isOneSpend() {
    assertThat(lines(acme.newAccount(ip("10.0.0.1"))))
        .containsExactly("CHECK_AND_SPEND 1:10.0.0.1");
  }

  @Test
  void newAccount_fromIpv6_isASpendFromItsRangeToo() {
    assertThat(lines(acme.newAccount(ip("2001:db8:1:2::3"))))
        .containsExactly("CHECK_AND_SPEND 1:2001:db8:1:2::3", "CHECK_AND_SPEND 2:2001:db8:1::/48");
  }

  @Test
  void newOrder_spendsFromTheAccount_andChecksTheRest() {
    assertThat(lines(acme.newOrder(ACCOUNT, ORDER, false)))
        .containsExactly(
            "CHECK_AND_SPEND 3:12345",
            "CHECK_ONLY 4:12345:example.co.uk",
            "CHECK_ONLY 4:12345:example.com",
            "CHECK_ONLY 4:12345:www.example.com",
            "CHECK_ONLY 4:12345:10.0.0.1",
            "CHECK_ONLY 5:10.0.0.1/32",
            "CHECK_ONLY 5:example.co.uk",
            "CHECK_ONLY 5:example.com",
            "CHECK_ONLY 7:" + SET);
  }

  @Test
  void newOrder_thatRenews_isNotHeldToOrdersAndDomains() {
    assertThat(lines(acme.newOrder(ACCOUNT, ORDER, true)))
        .containsExactly(
            "CHECK_ONLY 4:12345:example.co.uk",
            "CHECK_ONLY 4:12345:example.com",
            "CHECK_ONLY 4:12345:www.example.com",
            "CHECK_ONLY 4:12345:10.0.0.1",
            "CHECK_ONLY 7:" + SET);
  }

  @Test
  void newOrder_ofAnAccountWithAnOverride_isHeldToThatInsteadOfTheDomain() {
    overridePerAccount();
    assertThat(lines(acme.newOrder(ACCOUNT, ORDER, false)))
        .contains("CHECK_ONLY 6:12345:example.com", "CHECK_ONLY 6:12345:10.0.0.1/32")
        .noneMatch(line -> line.contains(" 5:"));
    assertThat(lines(acme.newOrder(ACCOUNT + 1, ORDER, false)))
        .contains("CHECK_ONLY 5:example.com")
        .noneMatch(line -> line.contains(" 6:"));
  }

  @Test
  void certificateIssued_spendsFromDomainsAndSet() {
    assertThat(lines(acme.certificateIssued(ACCOUNT, ORDER, false)))
        .containsExactly(
            "SPEND_ONLY 5:10.0.0.1/32",
            "SPEND_ONLY 5:example.co.uk",
            "SPEND_ONLY 5:example.com",
            "SPEND_ONLY 7:" + SET);
  }

  /** Renewals used up the certificates per domain that new certificates need. */
  @Test
  void certificateIssued_asARenewal_spendsFromTheSetAlone() {
    overridePerAccount();
    assertThat(lines(acme.certificateIssued(ACCOUNT, ORDER, true)))
        .containsExactly("SPEND_ONLY 7:" + SET);
  }

  @Test
  void wildcardDirectlyUnderASuffix_isItsOwnCoveringDomain() {
    List<Identifier> names =
        Identifier.parseAll(List.of("*.github.io", "*.co.uk", "*.example.com", "*.me.github.io"));
    assertThat(AcmeLimits.bundled().covering(names))
        .containsExactly("*.co.uk", "*.github.io", "example.com", "me.github.io");
    assertThat(lines(acme.certificateIssued(ACCOUNT, names, false)))
        .contains("SPEND_ONLY 5:*.github.io");
    assertThat(limiter.spend(acme.newOrder(ACCOUNT, names, false)).allowed()).isTrue();
  }

  @Test
  void certificateIssued_toAnAccountWithAnOverride_spendsFromBoth_evenWhenTheDomainIsEmpty() {
    overridePerAccount();
    List<Identifier> one = Identifier.parseAll(List.of("example.com"));
    assertThat(lines(acme.certificateIssued(ACCOUNT, one, false)))
        .containsExactly(
            "SPEND_ONLY 6:12345:example.com",
            "SPEND_ONLY 5:example.com",
            "SPEND_ONLY 7:" + AcmeFormats.FqdnSet.hash(one));
    for (int i = 0; i < 3; i++) {
      assertThat(limiter.spend(acme.certificateIssued(ACCOUNT, one, false)).allowed()).isTrue();
    }
    // The domain had 2 tokens, the account 50: the third certificate was paid by the account only.
    assertThat(limiter.check("CertificatesPerDomain", "example.com").denied()).isTrue();
    assertThat(limiter.check("CertificatesPerDomainPerAccount", "12345:example.com", 0).remaining())
        .isEqualTo(47);
  }

  @Test
  void failedAuthorization_spendsBestEffort_andVotesForAPause() {
    Identifier wildcard = Identifier.parse("*.example.com");
    assertThat(line(acme.failedAuthorization(ACCOUNT, wildcard)))
        .isEqualTo("SPEND_ONLY 4:12345:example.com");
    Transaction pausing = acme.failedAuthorizationForPausing(ACCOUNT, wildcard);
    assertThat(line(pausing)).isEqualTo("CHECK_AND_SPEND 8:12345:example.com");
    assertThat(limiter.spend(List.of(pausing)).allowed()).isTrue();
    assertThat(limiter.spend(List.of(pausing)).allowed()).isTrue();
    Decision pause = limiter.spend(List.of(pausing));
    assertThat(pause.denied()).isTrue();
    assertThat(pause.message())
        .startsWith("too many failed authorizations in a row (2) for \"example.com\": ");

    limiter.reset(List.of(acme.unpause(ACCOUNT, wildcard)));
    assertThat(limiter.spend(List.of(pausing)).allowed()).isTrue();
  }

  @Test
  void overrideRequest_isOneSpend() {
    assertThat(line(acme.overrideRequest(ip("10.0.0.1")))).isEqualTo("CHECK_AND_SPEND 9:10.0.0.1");
  }

  @Test
  void aDisabledLimit_allowsOnly_andStoresNothing() {
    limits.replace(Limits.builder(AcmeLimits.bundled().catalogue()).build());
    assertThat(acme.newOrder(ACCOUNT, ORDER, false))
        .allMatch(transaction -> transaction.kind() == Transaction.Kind.ALLOW_ONLY);
    Decision decision = limiter.spend(acme.newOrder(ACCOUNT, ORDER, false));
    assertThat(decision.allowed()).isTrue();
    assertThat(decision.remaining()).isEqualTo(Long.MAX_VALUE);
    assertThat(acme.failedAuthorization(ACCOUNT, ORDER.get(0)).kind())
        .isEqualTo(Transaction.Kind.ALLOW_ONLY);
  }

  @Test
  void anOverrideOfAnAccount_holdsForEachOfItsIdentifiers() {
    limits.replace(
        all()
            .override(
                "FailedAuthorizationsPerDomainPerAccount",
                "12345",
                Quota.per(9, Duration.ofHours(1)))
            .build());
    assertThat(acme.newOrder(ACCOUNT, ORDER, true).stream().filter(Transaction::overridden))
        .hasSize(4)
        .allMatch(t -> Objects.requireNonNull(t.quota()).burst() == 9);
  }

  @Test
  void anOrderTooLargeOrIncomplete_isRefused() {
    assertThat(acme.newOrder(ACCOUNT, names(100), false)).hasSize(1 + 100 + 1 + 1);
    List<Identifier> oneTwice =
        Stream.concat(names(100).stream(), names(1).stream()).toList(); // each counts once
    assertThat(acme.newOrder(ACCOUNT, oneTwice, false)).hasSize(1 + 100 + 1 + 1);
    assertThatThrownBy(() -> acme.newOrder(ACCOUNT, names(101), false))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("at most 100");
    assertThatThrownBy(() -> acme.certificateIssued(ACCOUNT, names(101), false))
        .hasMessageContaining("at most 100");
    assertThatThrownBy(() -> acme.newOrder(ACCOUNT, List.of(), false))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("missing identifiers");
    assertThatThrownBy(() -> acme.newOrder(0, ORDER, true)).hasMessageContaining("missing regId");
    assertThatThrownBy(
            () -> acme.newOrder(ACCOUNT, Identifier.parseAll(List.of("a.nosuchtld")), false))
        .hasMessageContaining("public suffix");
  }

  @Test
  void repetitions_inAnOrder_doNotCount() {
    List<Identifier> repeated = new ArrayList<>(names(100));
    repeated.add(repeated.get(0));
    assertThat(acme.newOrder(ACCOUNT, repeated, false)).hasSize(1 + 100 + 1 + 1);
    assertThat(acme.certificateIssued(ACCOUNT, repeated, false))
        .hasToString(acme.certificateIssued(ACCOUNT, names(100), false).toString());
  }

  @Test
  void limitWithoutADefault_isWarnedOf_whereTheBuilderIsMadeAndWhereAReloadTakesItAway() {
    List<String> warned = new CopyOnWriteArrayList<>();
    Logger log = Logger.getLogger(CurrentLimits.class.getName());
    log.setFilter(
        line -> {
          warned.add(line.getLevel() + " " + line.getMessage().split(",", 2)[0]);
          return false;
        });
    try {
      String lost = AcmeLimit.NEW_ORDERS_PER_ACCOUNT.limitName();
      CurrentLimits complete = new CurrentLimits(all().build());
      var unused = AcmeLimits.bundled().transactions(complete);
      assertThat(warned).isEmpty();
      complete.replace(allBut(lost));
      assertThat(warned).containsExactly("WARNING " + lost + " has no default");
      var another = AcmeLimits.bundled().transactions(new CurrentLimits(allBut(lost)));
      assertThat(warned).hasSize(2);
      assertThat(lines(another.newOrder(ACCOUNT, ORDER, false))).isNotEmpty();
    } finally {
      log.setFilter(null);
    }
  }

  @Test
  void limitWithoutADefault_isDisabled_byItsName() {
    Limits none = Limits.builder(AcmeLimits.bundled().catalogue()).build();
    Limiter limiter = Limiter.of(none, BucketStore.inMemory());
    for (LimitName name : none.catalogue().names()) {
      assertThat(none.coverage(name)).as(name.name()).isEqualTo(Coverage.DISABLED);
    }
    Decision decision = limiter.spend("NewOrdersPerAccount", "17");
    assertThat(decision.allowed()).isTrue();
    assertThat(decision.limited()).isFalse();
    AcmeTransactions disabled = AcmeLimits.bundled().transactions(limiter.limits());
    assertThat(limiter.spend(disabled.newOrder(ACCOUNT, ORDER, false)).allowed()).isTrue();
  }

  private static Limits allBut(String name) {
    Limits.Builder builder = Limits.builder(AcmeLimits.bundled().catalogue());
    for (AcmeLimit limit : AcmeLimit.values()) {
      if (!limit.limitName().equals(name)) {
        builder.limit(limit.limitName(), Quota.per(2, Duration.ofHours(1)));
      }
    }
    return builder.build();
  }

  private void overridePerAccount() {
    limits.replace(
        all()
            .override("CertificatesPerDomainPerAccount", "12345", Quota.per(50, Duration.ofDays(7)))
            .build());
  }

  private static List<Identifier> names(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> Identifier.parse("n" + i + ".example.com"))
        .toList();
  }

  private static IpAddress ip(String text) {
    return Objects.requireNonNull(IpAddress.parse(text));
  }

  private static List<String> lines(Collection<Transaction> batch) {
    return batch.stream().map(AcmeTransactionsTest::line).toList();
  }

  private static String line(Transaction transaction) {
    return transaction.kind() + " " + transaction.bucketKey();
  }
}
