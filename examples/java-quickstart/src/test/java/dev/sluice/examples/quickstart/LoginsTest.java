// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.quickstart;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.LimiterExtension;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What docs/testing.md shows: tests of an application's own limits. */
class LoginsTest {

  // begin: register
  @RegisterExtension
  static final LimiterExtension LIMITS =
      LimiterExtension.of(LimitFiles.of(Path.of("limits.yml")).load());

  // end: register

  // begin: test
  @Test
  void login_eleventhInAMinute_isDeniedUntilAToken(Limiter limiter, ManualTime time) {
    for (int i = 0; i < 10; i++) {
      assertThat(limiter.spend("LoginsPerIPAddress", "192.0.2.7")).isAllowed();
    }
    assertThat(limiter.spend("LoginsPerIPAddress", "192.0.2.7"))
        .isDenied()
        .hasRemaining(0)
        .retriesIn(Duration.ofSeconds(6));

    time.advance(Duration.ofSeconds(6));
    assertThat(limiter.spend("LoginsPerIPAddress", "192.0.2.7")).isAllowed();
  }

  // end: test

  @Test
  void call_whileAnotherWaits_comesBehindIt(AsyncLimiter limiter, ManualTime time) {
    Transaction call =
        Transaction.of(Quickstart.nameThatWaits(), Quota.per(1, Duration.ofSeconds(1)), "partner");
    Duration maxWait = Duration.ofSeconds(30);
    assertThat(limiter.acquire(call, maxWait).toCompletableFuture().join()).isAllowed();

    CompletableFuture<Decision> second = limiter.acquire(call, maxWait).toCompletableFuture();
    CompletableFuture<Decision> third = limiter.acquire(call, maxWait).toCompletableFuture();
    time.advance(Duration.ofSeconds(1));
    assertThat(second).isDone();
    assertThat(third).isNotDone();
  }
}
