// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Admission;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.web.WebRequest;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A rule book in a filter: what the servlet and the WebFlux filter share. */
final class BookOfAFilterTest {

  private static final String BOOK =
      """
      rules:
        - {path: /health, unlimited: true}
        - {path: /internal/**, deny: true}
        - path: /keys/{key}
          limits:
            - {limit: PerKey, id: "{path:key}", cost: 40}
            - {limit: PerIp, id: "{ip}", shadow: true}
        - {path: "/users/{user}", limit: PerRange, id: "{path:user}"}
      """;

  @TempDir private Path folder;

  private final BucketStore store = BucketStore.inMemory(new ManualTime());

  @AfterEach
  void close() {
    store.close();
  }

  private static Admission ask(RequestLimiter filter, String path) {
    return filter.admit(WebRequest.builder("GET", path).peer("192.0.2.7").build());
  }

  private static int status(Admission admission) {
    return admission.refusal() == null ? 200 : admission.refusal().status();
  }

  @Test
  void firstRuleThatMatches_decides() {
    Limits limits = RuleBookFixture.limits(folder, BOOK);
    Limiter limiter = Limiter.of(limits, store);
    try (RequestLimiter filter =
        RequestLimiter.builder(limiter).rules(RuleBook.of(limits)).build()) {
      assertThat(status(ask(filter, "/health"))).isEqualTo(200);
      assertThat(status(ask(filter, "/elsewhere"))).isEqualTo(200);
      assertThat(ask(filter, "/internal/x").refusal().body())
          .contains("a rule denies this request");
      assertThat(status(ask(filter, "/internal/x"))).isEqualTo(429);
      assertThat(ask(filter, "/keys/a").decision().remaining()).isEqualTo(60);
      assertThat(List.of(status(ask(filter, "/keys/a")), status(ask(filter, "/keys/a"))))
          .containsExactly(200, 429);
      assertThat(limiter.check("PerIp", "192.0.2.7", 0).remaining())
          .as("a trial takes nothing")
          .isEqualTo(10);
      assertThat(status(ask(filter, "/users/ann"))).as("not an IPv6 range").isEqualTo(400);
      assertThat(ask(filter, "/users/ann").refusal().body()).doesNotContain("ann");
    }
  }

  @Test
  void request_isDecidedWithoutBlocking_too() {
    Limits limits = RuleBookFixture.limits(folder, BOOK);
    try (RequestLimiter filter =
        RequestLimiter.builder(Limiter.of(limits, store)).rules(RuleBook.of(limits)).build()) {
      Admission denied =
          filter
              .admitAsync(WebRequest.builder("GET", "/internal/x").peer("192.0.2.7").build())
              .toCompletableFuture()
              .join();
      assertThat(status(denied)).isEqualTo(429);
    }
  }

  @Test
  void reload_replacesRulesAndLimitsTogether() throws IOException {
    LimitFiles files = RuleBookFixture.files(folder, BOOK);
    CurrentLimits current = new CurrentLimits(files.load());
    Limiter limiter = Limiter.of(current, store);
    try (RequestLimiter filter =
        RequestLimiter.builder(limiter).rules(RuleBook.of(current.get())).build()) {
      assertThat(status(ask(filter, "/internal/x"))).isEqualTo(429);
      Files.writeString(folder.resolve("rules.yml"), "rules:\n  - {path: /health, deny: true}\n");
      current.replace(files.load());
      assertThat(status(ask(filter, "/internal/x"))).isEqualTo(200);
      assertThat(status(ask(filter, "/health"))).isEqualTo(429);
    }
  }

  @Test
  void rulesForDescriptors_areIgnored_withAWarning() throws IOException {
    var unused =
        RuleBookFixture.files(
            folder,
            BOOK + "  - {entries: [a], unlimited: true}\n  - {entries: [b], unlimited: true}\n");
    List<Problem> problems =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .companion(
                folder.resolve("rules.yml"), RuleBook.readerForRequests(MissingDefault.REFUSE))
            .build()
            .lint();
    assertThat(problems)
        .singleElement()
        .satisfies(
            one -> {
              assertThat(one.severity()).isEqualTo(Severity.WARNING);
              assertThat(one.message())
                  .isEqualTo(
                      "found 2 rules for descriptors, expected rules for requests: this program"
                          + " receives no descriptors, so they are ignored");
            });
  }

  @Test
  void bookBesideSingleRules_isRefused_andABookWithoutRulesForRequests() {
    Limits limits = RuleBookFixture.limits(folder, BOOK);
    Limiter limiter = Limiter.of(limits, store);
    RequestLimiter.Builder both =
        RequestLimiter.builder(limiter)
            .rules(RuleBook.of(limits))
            .rule(Rule.on("/x").limit("PerIp", VaryBy.clientAddress()).build());
    assertThatThrownBy(both::build)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("found a rule book and single rules, expected only one of them");

    Limits descriptors = RuleBookFixture.limits(folder, "rules: [{entries: [a], deny: true}]\n");
    RequestLimiter.Builder none = RequestLimiter.builder(limiter).rules(RuleBook.of(descriptors));
    assertThatThrownBy(none::build).isInstanceOf(IllegalStateException.class);
  }
}
