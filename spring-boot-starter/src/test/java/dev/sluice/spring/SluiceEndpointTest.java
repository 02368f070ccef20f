// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** The actuator's endpoint, with limits whose quotas only the application knows. */
class SluiceEndpointTest {

  private static final LimitName CALLS = LimitName.builder(2001, "CallsPerCustomer").build();
  private static final Quota PLAN = Quota.per(5, Duration.ofHours(1));
  private static final List<Quota> DAY_AND_HOUR =
      List.of(Quota.per(5, Duration.ofDays(1)), Quota.per(2, Duration.ofHours(1)));

  private final SuppliedQuotas quotas = new SuppliedQuotas();
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(limits()), BucketStore.inMemory(() -> 0))
          .observer(quotas)
          .build();
  private final SluiceEndpoint.Resetting endpoint =
      new SluiceEndpoint.Resetting(limiter, quotas, 64);

  private static Limits limits() {
    return Limits.builder(
            Catalogue.of(
                LimitName.builder(1001, "PerKey").build(),
                LimitName.builder("Planned").build(),
                LimitName.builder("Several").build()))
        .limit("PerKey", Quota.per(2, Duration.ofHours(1)))
        .limit("Several", DAY_AND_HOUR)
        .build();
  }

  private void spend(LimitName limit, String id) {
    assertThat(limiter.spend(Transaction.of(limit, PLAN, id)).allowed()).isTrue();
  }

  private Map<String, Object> bucket(String limit, String id) {
    WebEndpointResponse<Map<String, Object>> response = endpoint.bucket(new String[] {limit, id});
    assertThat(response.getStatus()).isEqualTo(200);
    return response.getBody();
  }

  private String unknown(String... path) {
    WebEndpointResponse<Map<String, Object>> response = endpoint.bucket(path);
    assertThat(response.getStatus()).isEqualTo(404);
    return (String) response.getBody().get("error");
  }

  @Test
  void limitOfCode_isShown_withTheQuotaOfTheLatestRequest() {
    spend(CALLS, "acme");

    assertThat((Map<?, ?>) endpoint.limits().get("limits"))
        .extracting("CallsPerCustomer")
        .isEqualTo(Map.of("id", "string", "quota", "supplied by the application"));
    assertThat(bucket("CallsPerCustomer", "acme"))
        .containsEntry("burst", 5L)
        .containsEntry("remaining", 4L)
        .containsEntry("quota", "supplied by the application");
  }

  @Test
  void configuredLimit_isShownWithItsDefault_andIdsWithASuppliedQuotaWithThat() {
    LimitName perKey = limiter.limits().get().catalogue().get("PerKey");
    spend(perKey, "acme");

    assertThat(bucket("PerKey", "acme")).containsEntry("burst", 5L);
    assertThat(bucket("PerKey", "other")).containsEntry("burst", 2L).doesNotContainKey("quota");
    assertThat((Map<?, ?>) ((Map<?, ?>) endpoint.limits().get("limits")).get("PerKey"))
        .hasFieldOrPropertyWithValue("burst", 2L)
        .hasFieldOrPropertyWithValue("quota", "supplied by the application");
  }

  @Test
  void idThatThisProcessHasNotSeen_isNotFound() {
    spend(CALLS, "acme");

    assertThat(unknown("CallsPerCustomer", "bob"))
        .isEqualTo(
            "this process has not seen the id bob of CallsPerCustomer, whose quotas the"
                + " application supplies");
  }

  @Test
  void typo_isAnsweredWithTheNamesThatThereAre() {
    spend(CALLS, "acme");

    assertThat(unknown("CallPerCustomer", "acme"))
        .isEqualTo(
            "no limit has the name \"CallPerCustomer\", expected one of CallsPerCustomer, PerKey,"
                + " Several; did you mean \"CallsPerCustomer\"?");
    assertThat(unknown("PerKey"))
        .isEqualTo("found no id after PerKey, expected one of the form string");
  }

  @Test
  void ipv6Address_thatTheFilterCountsInAnotherBucket_isAnsweredWithThatBucket() {
    LimitName perAddress = LimitName.builder("PerAddress").id(IdFormat.ipAddress()).build();
    Limits limits = Limits.builder(Catalogue.of(perAddress)).limit("PerAddress", PLAN).build();
    Limiter ofAddresses = Limiter.of(limits, BucketStore.inMemory(() -> 0));
    SluiceEndpoint.Resetting shown = new SluiceEndpoint.Resetting(ofAddresses, quotas, 64);
    String[] path = {"PerAddress", "2001:db8:5:6::9"};
    String note =
        "this is not the bucket of \"id: ip\", which counts 2001:db8:5:6::9 as 2001:db8:5:6::";

    assertThat(shown.bucket(path).getBody()).containsEntry("note", note);
    assertThat(shown.reset(path).getStatus()).isEqualTo(200);
    assertThat(shown.reset(path).getBody()).containsEntry("note", note);
    for (String id : List.of("2001:db8:5:6::", "192.0.2.9")) {
      assertThat(shown.bucket(new String[] {"PerAddress", id}).getBody()).doesNotContainKey("note");
      assertThat(shown.reset(new String[] {"PerAddress", id}).getStatus()).isEqualTo(204);
    }
  }

  @Test
  void bucketOfCode_canBeReset() {
    spend(CALLS, "acme");

    assertThat(endpoint.reset(new String[] {"CallsPerCustomer", "acme"}).getStatus())
        .isEqualTo(204);

    assertThat(bucket("CallsPerCustomer", "acme")).containsEntry("remaining", 5L);
  }

  @Test
  void reset_fillsTheBucketOfEachQuota() {
    assertThat(limiter.spend("Several", "acme", 2).allowed()).isTrue();
    assertThat(limiter.spend(Transaction.of(CALLS, DAY_AND_HOUR, "acme").withCost(2)).allowed())
        .isTrue();

    for (String limit : List.of("Several", "CallsPerCustomer")) {
      assertThat(bucket(limit, "acme")).as(limit).containsEntry("remaining", 0L);
      assertThat(endpoint.reset(new String[] {limit, "acme"}).getStatus()).isEqualTo(204);
      assertThat((List<?>) bucket(limit, "acme").get("quotas"))
          .as(limit)
          .extracting("remaining")
          .containsExactlyInAnyOrder(5L, 2L);
    }
  }

  @Test
  void idsThatAreRemembered_areBounded() {
    for (int i = 0; i <= SuppliedQuotas.MOST_IDS; i++) {
      spend(CALLS, "customer-" + i);
    }

    assertThat(unknown("CallsPerCustomer", "customer-0")).startsWith("this process has not seen");
    assertThat(bucket("CallsPerCustomer", "customer-1")).containsEntry("remaining", 4L);
  }

  @Test
  void declaredLimitWithoutADefault_isShownAndReset() {
    LimitName planned = limiter.limits().get().catalogue().get("Planned");
    String[] acme = {"Planned", "acme"};
    assertThat(endpoint.reset(acme).getStatus()).as("before this process used it").isEqualTo(204);
    spend(planned, "acme");

    assertThat(bucket("Planned", "acme"))
        .containsEntry("burst", 5L)
        .containsEntry("remaining", 4L)
        .containsEntry("quota", "supplied by the application");
    assertThat(unknown("Planned", "bob")).startsWith("this process has not seen the id bob");
    assertThat(endpoint.reset(acme).getStatus()).isEqualTo(204);
    assertThat(bucket("Planned", "acme")).containsEntry("remaining", 5L);
  }

  @Test
  void idThatSpendsFromTheLimitsOwnQuotaAgain_isShownWithThat() {
    LimitName perKey = limiter.limits().get().catalogue().get("PerKey");
    spend(perKey, "acme");
    assertThat(limiter.spend("PerKey", "acme").allowed()).isTrue();

    assertThat(bucket("PerKey", "acme")).containsEntry("burst", 2L).doesNotContainKey("quota");
  }

  @Test
  void quotaOfAFailureRule_isNotTakenForTheApplications() {
    AtomicBoolean isAway = new AtomicBoolean();
    BucketStore memory = BucketStore.inMemory(() -> 0);
    BucketStore store =
        charges -> {
          if (isAway.get()) {
            throw new StoreException("away");
          }
          return memory.charge(charges);
        };
    Limiter limiter =
        Limiter.builder(new CurrentLimits(limits()), store)
            .observer(quotas)
            .onFailure(FailureRule.local(5))
            .build();
    assertThat(limiter.spend(Transaction.of(CALLS, PLAN, "acme")).allowed()).isTrue();
    isAway.set(true);
    assertThat(limiter.spend(Transaction.of(CALLS, PLAN, "acme")).degraded()).isTrue();

    assertThat(bucket("CallsPerCustomer", "acme")).containsEntry("burst", 5L);
  }

  @Test
  void answerOfAFailureRule_saysSo_andShowsNoTokensThatNobodyKnows() {
    BucketStore away =
        charges -> {
          throw new StoreException("away");
        };
    for (FailureRule rule : List.of(FailureRule.allow(), FailureRule.deny())) {
      Limiter limiter = Limiter.builder(new CurrentLimits(limits()), away).onFailure(rule).build();

      assertThat(new SluiceEndpoint(limiter, quotas, 64).bucket(new String[] {"PerKey", "acme"}))
          .extracting(WebEndpointResponse::getBody, InstanceOfAssertFactories.MAP)
          .containsKey("decidedBy")
          .doesNotContainKeys("remaining", "resetIn");
    }
  }
}
