// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.web.FilterRun.FilterRules;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of rules that count only some outcomes, such as at most 30 failed logins per hour and
 * unlimited successful logins.
 */
interface OutcomeRules extends FilterRules {

  private static Rule failedLogins() {
    return Rule.on("/**").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build();
  }

  @Test
  default void goodLogins_100ASecond_costNothing_andBadOnesAreLimitedTo30AnHour() throws Exception {
    run().start(failedLogins());
    for (int i = 0; i < 500; i++) {
      assertThat(run().post("/login", "").statusCode()).isEqualTo(200);
      run().time().advance(Duration.ofMillis(10));
    }
    // The response can reach the client before the filter has given back the last token.
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> run().remaining("FailedPerAddress", LOCAL) == 30);

    for (int i = 0; i < 30; i++) {
      assertThat(run().post("/login?status=401", "").statusCode()).isEqualTo(401);
    }
    HttpResponse<String> refused = run().post("/login", "");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("120");
    run().time().advance(Duration.ofMinutes(2));
    assertThat(run().post("/login", "").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/login", "/login?status=403"})
  default void statusThatDoesNotCount_givesTheTokenBack(String path) throws Exception {
    run().start(failedLogins());

    var unused = run().get(path);

    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> run().remaining("FailedPerAddress", LOCAL) == 30);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/login?status=401", "/other?status=401"})
  default void statusThatCounts_leavesTheTokenSpent(String path) throws Exception {
    run().start(failedLogins());
    for (int i = 0; i < 30; i++) {
      assertThat(run().get(path).statusCode()).isEqualTo(401);
    }

    assertThat(run().get(path).statusCode()).isEqualTo(429);
  }

  @Test
  default void exception_isA500() throws Exception {
    run()
        .start(
            Rule.on("/crash").limit("PerKey", VaryBy.constant("a")).countOnly(500).build(),
            Rule.on("/crash").limit("PerAddress", VaryBy.clientAddress()).countOnly(401).build());

    assertThat(run().get("/crash").statusCode()).isEqualTo(500);

    await().atMost(Duration.ofMinutes(1)).until(() -> run().remaining("PerAddress", LOCAL) == 3);
    assertThat(run().remaining("PerKey", "a")).isEqualTo(1);
  }

  @Test
  default void conditionalAndPlainLimits_areAllOrNothing_andOnlyTheFirstComeBack()
      throws Exception {
    run()
        .start(
            failedLogins(), Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).build());
    for (int i = 0; i < 3; i++) {
      assertThat(run().get("/login").statusCode()).isEqualTo(200);
    }

    assertThat(run().get("/login?status=401").statusCode()).isEqualTo(429);

    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> run().remaining("FailedPerAddress", LOCAL) == 30);
    assertThat(run().remaining("PerAddress", LOCAL)).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "200, true, true",
    "204, true, false",
    "302, false, false",
    "401, false, false",
    "429, false, false",
    "500, false, false",
    "418, false, false"
  })
  default void ruleThatCountsAllBut_givesBackOnlyForThose(
      int status, boolean success, boolean only200) throws Exception {
    run()
        .start(
            Rule.on("/login")
                .limit("FailedPerAddress", VaryBy.clientAddress())
                .countAllButSuccess()
                .build(),
            Rule.on("/login").limit("PerKey", VaryBy.constant("a")).countAllBut(200).build(),
            Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(599).build());

    assertThat(run().get("/login?status=" + status).statusCode()).isEqualTo(status);

    await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            // Waits until the filter has settled the charges.
            () -> {
              assertThat(run().remaining("PerAddress", LOCAL)).isEqualTo(3);
              assertThat(run().remaining("FailedPerAddress", LOCAL)).isEqualTo(success ? 30 : 29);
              assertThat(run().remaining("PerKey", "a")).isEqualTo(only200 ? 2 : 1);
            });
  }

  @Test
  default void bucketOfTwoRules_comesBackOnlyIfNeitherCounts() throws Exception {
    run()
        .start(
            Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(401).build(),
            Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(403).build());

    for (String status : new String[] {"200", "401", "403"}) {
      assertThat(run().get("/login?status=" + status).statusCode()).isNotEqualTo(429);
    }

    await().atMost(Duration.ofMinutes(1)).until(() -> run().remaining("PerAddress", LOCAL) == 1);
  }
}
