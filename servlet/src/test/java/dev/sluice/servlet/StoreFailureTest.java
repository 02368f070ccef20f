package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** What requests get while the store does not answer. */
@ParameterizedClass
@EnumSource(Container.class)
class StoreFailureTest {

  private final BreakableStore store = new BreakableStore();
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(Limiters.limits()), store)
          .onFailure("PerKey", FailureRule.allow())
          .onFailure("PerAddress", FailureRule.deny())
          .onFailure("PerAddressPerUser", FailureRule.local(1))
          .build();
  private final WebServer web;

  StoreFailureTest(Container container) {
    this.web = container.server().servlet("/", Pages.status());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void start() throws Exception {
    RateLimitFilter filter =
        RateLimitFilter.builder(limiter)
            .rule(Rule.on("/login/**").limit("PerAddress", VaryBy.clientAddress()).build())
            .rule(
                Rule.on("/local")
                    .limit("PerAddressPerUser", VaryBy.clientAddress(), VaryBy.constant("a"))
                    .build())
            .rule(Rule.on("/no-rule").limit("FailedPerAddress", VaryBy.clientAddress()).build())
            .rule(Rule.on("/**").limit("PerKey", VaryBy.constant("all")).build())
            .rule(
                Rule.on("/trial")
                    .limit("FailedPerAddress", VaryBy.clientAddress())
                    .countOnly(401)
                    .shadow()
                    .build())
            .build();
    web.filter(filter).start();
  }

  @Test
  void ruleThatAllows_letsRequestsThrough_withoutHeaders() throws Exception {
    start();
    store.broken = true;

    for (int i = 0; i < 5; i++) {
      HttpResponse<String> response = web.get("/page");
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.headers().map()).doesNotContainKey("RateLimit");
    }
  }

  @Test
  void ruleThatDenies_isA503_andEnoughToRefuse() throws Exception {
    start();
    store.broken = true;

    HttpResponse<String> refused = web.get("/login");

    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("1");
    isReducedCapacity(refused);
  }

  @Test
  void ruleThatDecidesLocally_allowsItsShare_thenIsA503() throws Exception {
    start();
    store.broken = true;
    assertThat(web.get("/local").statusCode()).isEqualTo(200);
    assertThat(web.get("/local").statusCode()).isEqualTo(200);

    HttpResponse<String> refused = web.get("/local");

    assertThat(refused.headers().firstValue("Retry-After")).isPresent();
    isReducedCapacity(refused);
  }

  @Test
  void limitWithoutRule_isA503() throws Exception {
    start();
    store.broken = true;

    isReducedCapacity(web.get("/no-rule"));
  }

  private static void isReducedCapacity(HttpResponse<String> refused) {
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(refused.headers().firstValue("Cache-Control")).hasValue("no-store");
    assertThat(refused.headers().firstValue("RateLimit")).isEmpty();
    assertThat(refused.body()).contains("#temporary-reduced-capacity").doesNotContain("broken");
  }

  @Test
  void trial_refusesNothing_whateverItsRule() throws Exception {
    start();
    store.broken = true;

    assertThat(web.get("/trial").statusCode()).isEqualTo(200);
  }

  @Test
  void store_thatIsBack_decidesAgain() throws Exception {
    start();
    store.broken = true;
    assertThat(web.get("/login").statusCode()).isEqualTo(503);
    store.broken = false;

    assertThat(web.get("/login").statusCode()).isEqualTo(200);
  }

  @Test
  void trial_whoseTokensCanNotBeGivenBack_leavesThemSpent() throws Exception {
    start();
    store.breaksAfter = 2; // the spend, the trial's spend; then the giving back fails

    assertThat(web.get("/trial").statusCode()).isEqualTo(200);

    await().until(() -> store.calls.get() == 3);
    store.breaksAfter = Integer.MAX_VALUE;
    assertThat(Limiters.remainingInShadow(limiter, "FailedPerAddress", "127.0.0.1")).isEqualTo(29);
  }

  /** The store in memory, which can be told to fail as a store is allowed to. */
  private static final class BreakableStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory(new ManualTime());
    private final AtomicInteger calls = new AtomicInteger();
    private volatile boolean broken;
    private volatile int breaksAfter = Integer.MAX_VALUE;

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (calls.incrementAndGet() > breaksAfter || broken) {
        throw new StoreException("the store is broken, as the test wants");
      }
      return memory.charge(charges);
    }
  }
}
