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

/** Tests of requests while the store fails. */
interface StoreFailureRules extends FilterRules {

  private void start() throws Exception {
    run()
        .startWithFailureRules(
            Rule.on("/login/**").limit("PerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/local")
                .limit("PerAddressPerUser", VaryBy.clientAddress(), VaryBy.constant("a"))
                .build(),
            Rule.on("/no-rule").limit("FailedPerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/**").limit("PerKey", VaryBy.constant("all")).build(),
            Rule.on("/trial")
                .limit("FailedPerAddress", VaryBy.clientAddress())
                .countOnly(401)
                .shadow()
                .build());
  }

  private static void isReducedCapacity(HttpResponse<String> refused) {
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(refused.headers().firstValue("Cache-Control")).hasValue("no-store");
    assertThat(refused.headers().firstValue("RateLimit")).isEmpty();
    assertThat(refused.body()).contains("#temporary-reduced-capacity").doesNotContain("broken");
  }

  @Test
  default void ruleThatAllows_letsRequestsThrough_withoutHeaders() throws Exception {
    start();
    run().store().breakDown();

    for (int i = 0; i < 5; i++) {
      HttpResponse<String> response = run().get("/page");
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.headers().map()).doesNotContainKey("RateLimit");
    }
  }

  @Test
  default void ruleThatDenies_isA503_andEnoughToRefuse() throws Exception {
    start();
    run().store().breakDown();

    HttpResponse<String> refused = run().get("/login");

    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("1");
    isReducedCapacity(refused);
  }

  @Test
  default void ruleThatDecidesLocally_allowsItsShare_thenIsA429() throws Exception {
    start();
    run().store().breakDown();
    assertThat(run().get("/local").statusCode()).isEqualTo(200);
    assertThat(run().get("/local").statusCode()).isEqualTo(200);

    HttpResponse<String> refused = run().get("/local");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).isPresent();
    assertThat(refused.headers().firstValue("RateLimit-Degraded")).hasValue("local");
  }

  @Test
  default void limitWithoutRule_isA503() throws Exception {
    start();
    run().store().breakDown();

    isReducedCapacity(run().get("/no-rule"));
  }

  @Test
  default void trial_refusesNothing_whateverItsRule() throws Exception {
    start();
    run().store().breakDown();

    assertThat(run().get("/trial").statusCode()).isEqualTo(200);
  }

  @Test
  default void store_thatIsBack_decidesAgain() throws Exception {
    start();
    run().store().breakDown();
    assertThat(run().get("/login").statusCode()).isEqualTo(503);
    run().store().repair();

    assertThat(run().get("/login").statusCode()).isEqualTo(200);
  }

  @Test
  default void trial_whoseTokensCanNotBeGivenBack_leavesThemSpent() throws Exception {
    start();
    run().store().breakAfter(2); // the spends of both rules succeed, and the refund fails

    assertThat(run().get("/trial").statusCode()).isEqualTo(200);

    await().atMost(Duration.ofMinutes(1)).until(() -> run().store().calls() == 3);
    run().store().repair();
    assertThat(run().remainingInShadow("FailedPerAddress", LOCAL)).isEqualTo(29);
  }
}
