// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.spring.SluiceTest;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.stereotype.Component;

/** The slice of the testkit, on the properties of an application that keeps buckets in Redis. */
@SluiceTest(
    value = SluiceTestTest.Orders.class,
    properties = {
      "sluice.store=redis://redis.invalid:6379",
      "sluice.on-failure.default=local:auto",
      "sluice.names[0].number=1001",
      "sluice.names[0].name=Orders",
      "sluice.names[0].id=string",
      "sluice.names[0].longestWait=1h",
      "sluice.limits.Orders.burst=2",
      "sluice.limits.Orders.count=2",
      "sluice.limits.Orders.period=1m"
    })
class SluiceTestTest {

  @SpringBootApplication(proxyBeanMethods = false)
  static class Application {
    /** An application's own clock, which must not move the limiter in a test. */
    @Bean
    TimeSource wallClock() {
      return TimeSource.system();
    }
  }

  @Component
  static class Orders {
    @RateLimited(limit = "Orders", id = "#account")
    public String order(String account) {
      return account + " ordered";
    }
  }

  @Component
  static class Database {
    Database() {
      throw new IllegalStateException("no part of the slice");
    }
  }

  @Autowired private Orders orders;
  @Autowired private Limiter limiter;
  @Autowired private AsyncLimiter async;
  @Autowired private ManualTime time;
  @Autowired private ApplicationContext context;

  /** Twice, so that the second one finds what the first has left. */
  @RepeatedTest(2)
  void order_overTheLimit_isRefusedUntilTheClockIsMoved() {
    assertThat(orders.order("ann")).isEqualTo("ann ordered");
    assertThat(orders.order("ann")).isEqualTo("ann ordered");
    assertThatThrownBy(() -> orders.order("ann")).isInstanceOf(RateLimitedException.class);
    assertThat(limiter.check("Orders", "ann", 1)).isDenied().retriesIn(Duration.ofSeconds(30));

    time.advance(Duration.ofSeconds(30));

    assertThat(orders.order("ann")).isEqualTo("ann ordered");
  }

  @Test
  void acquire_waitsByTheManualClock() {
    assertThat(limiter.spend("Orders", "ann")).isAllowed();
    assertThat(limiter.spend("Orders", "ann")).isAllowed();
    CompletionStage<Decision> waits = async.acquire("Orders", "ann", 1, Duration.ofMinutes(1));
    assertThat(waits.toCompletableFuture()).isNotDone();

    time.advance(Duration.ofSeconds(30));

    assertThat(waits.toCompletableFuture().join()).isAllowed();
  }

  @Test
  void slice_hasNoOtherComponent() {
    assertThat(context.getBeanNamesForType(Database.class)).isEmpty();
    assertThat(context.getBeanNamesForType(Orders.class)).hasSize(1);
  }
}
