// SPDX-License-Identifier: Apache-2.0
package plans;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/** The plan that each customer has paid for. */
@Component
class Plans {

  private final LoadingCache<Customer, Optional<Quota>> cache;
  private final JdbcClient database;

  Plans(JdbcClient database, @Value("${plans.refresh}") Duration refresh) {
    this.database = database;
    this.cache =
        Caffeine.newBuilder()
            .maximumSize(100_000)
            .refreshAfterWrite(refresh) // in the background, so that no request waits
            .build(this::load); // if the database is away, the old plan stays in force
  }

  Optional<Quota> of(Customer customer) {
    return cache.get(customer);
  }

  private Optional<Quota> load(Customer customer) {
    return database
        .sql("select burst, per_minute from plans where tenant = ? and customer = ?")
        .params(customer.tenant(), customer.name())
        .query(
            (row, number) ->
                Quota.burst(row.getLong("burst"))
                    .refill(row.getLong("per_minute"), Duration.ofMinutes(1)))
        .optional();
  }


  /**
   * Reloads the plan that a customer has just changed; other processes see the new plan after their
   * next refresh.
   */
  void changed(Customer customer) {
    cache.refresh(customer);
  }
}
