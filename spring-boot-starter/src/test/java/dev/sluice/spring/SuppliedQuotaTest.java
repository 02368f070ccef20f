// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.web.QuotaFailedException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.core.publisher.Mono;

/** {@code @RateLimited} with quotas of the application's plans. */
class SuppliedQuotaTest {

  private final ApplicationContextRunner application =
      new ApplicationContextRunner()
          .withConfiguration(SluiceAutoConfigurationTest.ALL)
          .withBean("plans", Plans.class)
          .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
          .withPropertyValues(
              "sluice.names[0].number=1001",
              "sluice.names[0].name=PerUser",
              "sluice.names[0].id=string",
              "sluice.names[1].number=1002",
              "sluice.names[1].name=WithoutDefault",
              "sluice.names[1].id=string",
              "sluice.limits.PerUser.burst=2",
              "sluice.limits.PerUser.count=2",
              "sluice.limits.PerUser.period=1h");

  /** The application's plans. */
  public static final class Plans {

    final CompletableFuture<@Nullable Quota> slow = new CompletableFuture<>();

    public @Nullable Object of(String user) {
      return switch (user) {
        case "large" -> Quota.per(100, Duration.ofHours(1));
        case "small" -> Quota.per(1, Duration.ofHours(1));
        case "broken" -> throw new IllegalStateException("the database is away");
        case "several" ->
            List.of(Quota.per(3, Duration.ofDays(1)), Quota.per(100, Duration.ofHours(1)));
        case "none" -> List.of();
        case "mixed" -> List.of(Quota.per(3, Duration.ofDays(1)), "10 per hour");
        case "wrong" -> "10 per hour";
        default -> null;
      };
    }

    public CompletionStage<@Nullable Object> later(String user) {
      try {
        return CompletableFuture.completedFuture(of(user));
      } catch (IllegalStateException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    public CompletionStage<@Nullable Quota> slow() {
      return slow;
    }
  }

  static class Service {

    @RateLimited(limit = "PerUser", id = "#user", quota = "@plans.of(#user)")
    String blocking(String user) {
      return user;
    }

    @RateLimited(limit = "PerUser", id = "#user", quota = "@plans.later(#user)")
    String waiting(String user) {
      return user;
    }

    @RateLimited(limit = "PerUser", id = "#user", quota = "@plans.later(#user)")
    CompletionStage<String> stage(String user) {
      return CompletableFuture.completedFuture(user);
    }

    @RateLimited(limit = "PerUser", id = "#user", quota = "@plans.later(#user)")
    Mono<String> mono(String user) {
      return Mono.just(user);
    }

    @RateLimited(limit = "PerUser", id = "#user", quota = "@plans.slow()")
    CompletionStage<String> slow(String user) {
      return CompletableFuture.completedFuture(user);
    }

    @RateLimited(limit = "WithoutDefault", id = "#user", quota = "@plans.of(#user)")
    String withoutDefault(String user) {
      return user;
    }
  }

  private enum Way {
    BLOCKING,
    WAITING,
    STAGE,
    MONO;

    String call(Service service, String user) {
      return switch (this) {
        case BLOCKING -> service.blocking(user);
        case WAITING -> service.waiting(user);
        case STAGE -> service.stage(user).toCompletableFuture().join();
        case MONO -> service.mono(user).block();
      };
    }
  }

  private interface Check {
    void run(Service service, Limiter limiter, Plans plans, MeterRegistry registry);
  }

  private void with(Check test) {
    application
        .withBean(Service.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              test.run(
                  context.getBean(Service.class),
                  context.getBean(Limiter.class),
                  context.getBean(Plans.class),
                  context.getBean(MeterRegistry.class));
            });
  }

  @Test
  void suppliedQuota_decides_andNullMeansTheLimitsOwn() {
    for (Way way : Way.values()) {
      with(
          (service, limiter, plans, registry) -> {
            for (int i = 0; i < 5; i++) {
              assertThat(way.call(service, "large")).isEqualTo("large");
            }
            assertThat(way.call(service, "small")).isEqualTo("small");
            assertThatThrownBy(() -> way.call(service, "small"))
                .satisfies(
                    e ->
                        assertThat(e instanceof RateLimitedException ? e : e.getCause())
                            .isInstanceOf(RateLimitedException.class));
            assertThat(way.call(service, "ann")).isEqualTo("ann");
            assertThat(limiter.check("PerUser", "ann", 0).remaining()).isEqualTo(1);
          });
    }
  }

  @Test
  void expressionThatFails_failsTheCall_andIsCounted_andSpendsNothing() {
    for (Way way : Way.values()) {
      with(
          (service, limiter, plans, registry) -> {
            assertThatThrownBy(() -> way.call(service, "broken"))
                .satisfies(
                    e ->
                        assertThat(e instanceof QuotaFailedException ? e : e.getCause())
                            .isInstanceOf(QuotaFailedException.class)
                            .hasMessageContaining("@RateLimited on Service.")
                            .hasMessageContaining("the database is away"));
            assertThat(registry.get("ratelimits.quota.failures").counter().count()).isEqualTo(1);
            assertThat(limiter.check("PerUser", "broken", 0).remaining()).isEqualTo(2);
          });
    }
  }

  @Test
  void severalSuppliedQuotas_decideTogether() {
    for (Way way : Way.values()) {
      with(
          (service, limiter, plans, registry) -> {
            for (int i = 0; i < 3; i++) {
              assertThat(way.call(service, "several")).isEqualTo("several");
            }
            assertThatThrownBy(() -> way.call(service, "several"))
                .hasStackTraceContaining("RateLimitedException: denied: at most 3 per 24h");
            assertThatThrownBy(() -> way.call(service, "none"))
                .hasStackTraceContaining("found 0 quotas, expected 1 to 4");
            assertThatThrownBy(() -> way.call(service, "mixed"))
                .hasStackTraceContaining("found java.lang.String, expected a Quota");
          });
    }
  }

  @Test
  void resultThatIsNoQuota_saysWhatIsExpected() {
    with(
        (service, limiter, plans, registry) ->
            assertThatThrownBy(() -> service.blocking("wrong"))
                .isInstanceOf(QuotaFailedException.class)
                .hasMessageContaining(
                    "found java.lang.String, expected a Quota, a list of Quotas, or a CompletionStage of either"));
  }

  @Test
  void quotaThatComesLater_holdsNoThread_andTheCallCanBeGivenUp() {
    with(
        (service, limiter, plans, registry) -> {
          CompletableFuture<String> first = service.slow("ann").toCompletableFuture();
          CompletableFuture<String> givenUp = service.slow("bob").toCompletableFuture();
          assertThat(first).isNotDone();
          givenUp.cancel(false);

          plans.slow.complete(Quota.per(100, Duration.ofHours(1)));

          assertThat(first.join()).isEqualTo("ann");
          assertThat(limiter.check("PerUser", "bob", 0).remaining()).isEqualTo(2);
        });
  }

  @Test
  void limitWithoutADefault_needsNone() {
    with(
        (service, limiter, plans, registry) -> {
          assertThat(service.withoutDefault("small")).isEqualTo("small");
          assertThatThrownBy(() -> service.withoutDefault("small"))
              .isInstanceOf(RateLimitedException.class);
        });
  }

  /** The limits cannot answer for the application, so it is the application that fails. */
  @Test
  void nullQuota_ofALimitWithoutADefault_failsTheCall_andIsCounted() {
    with(
        (service, limiter, plans, registry) -> {
          assertThatThrownBy(() -> service.withoutDefault("ann"))
              .isInstanceOf(QuotaFailedException.class)
              .hasMessageContaining("@RateLimited on Service.withoutDefault")
              .hasMessageContaining("found null, expected a quota");
          assertThat(registry.get("ratelimits.quota.failures").counter().count()).isEqualTo(1);
        });
  }

  static class Mistaken {
    @RateLimited(limit = "PerUser", id = "#user", quota = "@plan.of(#usr)")
    void call(String user) {}
  }

  @Test
  void mistakesInTheExpression_areReportedAtStart() {
    application
        .withBean(Mistaken.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageContaining(
                        "quota: found @plan in \"@plan.of(#usr)\", expected the name of a bean")
                    .hasMessageContaining(
                        "quota: found #usr in \"@plan.of(#usr)\", expected a parameter"));
  }
}
