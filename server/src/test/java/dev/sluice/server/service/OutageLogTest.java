// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.internal.async.Fleet;
import dev.sluice.server.http.LogLines;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Observer.State;
import dev.sluice.store.StoreException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The lines at the start of a store's outage, during it, and at its end. */
class OutageLogTest {

  private final AtomicLong nanos = new AtomicLong();

  private static Storage storage(String store, Map<String, FailureRule> byLimit) {
    return new Storage(
        StoreAccess.of(store), null, TokenKey.random(), FailureRule.allow(), byLimit, true);
  }

  private OutageLog log(Map<String, FailureRule> byLimit) {
    return new OutageLog(
        storage("memory", byLimit), new Fleet(1), new BucketStore.Observer() {}, nanos::get);
  }

  @Test
  void outage_isLogged_withRules_counts_andASummary() {
    Map<String, FailureRule> rules =
        Map.of("LoginsPerIPAddress", FailureRule.deny(), "ApiCallsPerKey", FailureRule.local(4));
    BucketStore away =
        charges -> {
          throw new StoreException("away", null);
        };
    try (OutageLog outages = log(rules);
        LogLines lines = new LogLines()) {
      Limiter.Builder builder =
          Limiter.builder(SampleLimits.make(), away)
              .observer(outages)
              .onFailure(FailureRule.allow());
      rules.forEach(builder::onFailure);
      Limiter limiter = builder.build();
      var unused = limiter.spend("LoginsPerIPAddress", "192.0.2.1"); // before the outage
      outages.changed("redis:6379", State.DOWN, "connection refused");
      for (int i = 0; i < 3; i++) {
        unused = limiter.spend("LoginsPerIPAddress", "192.0.2.1");
        unused = limiter.spend("SignUpsPerIPAddress", "192.0.2.1");
      }
      unused = limiter.check("LoginsPerIPAddress", "192.0.2.1");
      nanos.addAndGet(TimeUnit.SECONDS.toNanos(60));
      outages.minute();
      unused = limiter.spend("ApiCallsPerKey", "k");
      nanos.addAndGet(TimeUnit.SECONDS.toNanos(30));
      outages.changed("redis:6379", State.UP, "it answered");
      outages.minute();
      assertThat(lines.text().lines())
          .satisfiesExactly(
              begin ->
                  assertThat(begin)
                      .endsWith(
                          "the store redis:6379 is marked down (connection refused); until it answers:"
                              + " ApiCallsPerKey: local:4 in the memory of this server;"
                              + " LoginsPerIPAddress: deny, requests are denied;"
                              + " all other limits: allow, requests pass"),
              minute ->
                  assertThat(minute)
                      .contains("the store redis:6379 is down for 1m")
                      .contains("allow: 3 allowed and 0 denied", "deny: 0 allowed and 3 denied")
                      .doesNotContain("local:"),
              end ->
                  assertThat(end)
                      .contains("the store redis:6379 answers again after 1m30s")
                      .contains("local: 1 allowed and 0 denied"));
    }
  }

  @Test
  void words_ofLocalAuto_nameTheServersSeen_andTheSettingThatIsLarger() {
    List<String> servers = new ArrayList<>(List.of("web-1 a", "web-2 b"));
    try (Fleet fleet = new Fleet(4, nanos::get);
        OutageLog outages =
            new OutageLog(
                storage("memory", Map.of()), fleet, new BucketStore.Observer() {}, nanos::get)) {
      fleet.enter((process, time) -> List.copyOf(servers), "web-1");
      FailureRule auto = FailureRule.localAuto();
      fleet.look();
      assertThat(outages.words(auto))
          .isEqualTo("deny (this server has not yet counted the servers)");
      lookAgain(fleet);
      assertThat(outages.words(auto)).isEqualTo("local:4 (--local-at-least; servers seen: 2)");
      servers.addAll(List.of("web-3 c", "web-4 d"));
      lookAgain(fleet);
      assertThat(outages.words(auto)).isEqualTo("local:4 (servers seen: 4)");
      servers.add("web-5 e");
      lookAgain(fleet);
      assertThat(outages.words(auto)).isEqualTo("local:5 (servers seen: 5)");
      assertThat(outages.words(FailureRule.allow())).isEqualTo("allow");
    }
  }

  private void lookAgain(Fleet fleet) {
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(10));
    fleet.look();
  }

  @Test
  void severalServers_areOneOutage_andASecondOutageCountsAnew() {
    try (OutageLog outages = log(Map.of());
        LogLines lines = new LogLines()) {
      outages.changed("a", State.DOWN, "timed out");
      outages.changed("b", State.DOWN, "timed out");
      outages.changed("a", State.UP, "it answered");
      outages.changed("b", State.UP, "it answered");
      outages.changed("b", State.UP, "it answered");
      outages.changed("a", State.DOWN, "timed out");
      assertThat(lines.text().lines().map(line -> line.replaceAll(".* - ", "")))
          .containsExactly(
              "the store a is marked down (timed out); until it answers: all limits: allow, requests pass",
              "the store b is marked down too (timed out)",
              "the store a answers again; still marked down: b",
              "the store b answers again after 0s; spends decided by failure rules: none; 0 calls to the store failed",
              "the store a is marked down (timed out); until it answers: all limits: allow, requests pass");
    }
  }

  @Test
  void serverWithoutItsRedis_saysWhichRulesDecide() throws Exception {
    try (LogLines lines = new LogLines()) {
      Service service = Service.start(Configs.of(storage("redis://127.0.0.1:1/0", Map.of())));
      try {
        HttpRequest spend =
            HttpRequest.newBuilder(
                    URI.create(
                        "http://" + HostPort.format(service.addresses().get(0)) + "/v1/spend"))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}"))
                .build();
        HttpClient client = HttpClient.newHttpClient();
        await()
            .untilAsserted(
                () -> {
                  assertThat(client.send(spend, BodyHandlers.ofString()).body())
                      .contains("\"decidedBy\":\"allow\"");
                  assertThat(lines.text())
                      .containsPattern(
                          "the store .* is marked down \\(.*\\); until it answers: all limits: allow");
                });
      } finally {
        Thread.currentThread().interrupt(); // so that nobody waits for load balancers
        service.close();
        var unused = Thread.interrupted();
      }
    }
  }

  @Test
  void eventsOfTheStore_reachTheNextObserverToo() {
    List<String> seen = new ArrayList<>();
    BucketStore.Observer next =
        new BucketStore.Observer() {
          @Override
          public void changed(String server, State state, String reason) {
            seen.add(server + state);
          }
        };
    try (OutageLog outages =
        new OutageLog(storage("memory", Map.of()), new Fleet(1), next, nanos::get)) {
      outages.changed("a", State.DOWN, "timed out");
    }
    assertThat(seen).containsExactly("aDOWN");
  }
}
