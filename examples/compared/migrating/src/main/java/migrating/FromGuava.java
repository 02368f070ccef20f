// SPDX-License-Identifier: Apache-2.0
package migrating;

import com.google.common.util.concurrent.RateLimiter;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import java.time.Duration;

/** Allows 5 mails per second. Denies a caller that would have to wait for more than 2 seconds. */
final class FromGuava {

  private FromGuava() {}

  static final class Before {
    private final RateLimiter mails = RateLimiter.create(5);

    boolean mayMail() {
      return mails.tryAcquire(Duration.ofSeconds(2)); // waits
    }

  }

  static final class After {
    // begin: guava-after
    private final Limit mails = Limit.of(Quota.burst(1).refill(5, Duration.ofSeconds(1)));

    boolean mayMail() throws InterruptedException {
      return mails.acquire("all", Duration.ofSeconds(2)).allowed(); // waits
    }

    // end: guava-after
  }
}
