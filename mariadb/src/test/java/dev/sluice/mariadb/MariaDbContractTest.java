// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.BucketStoreContract;
import dev.sluice.testkit.LiveBucketStoreContract;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contract of every store on a real MariaDB; each store has a prefix of its own. */
@Tag("slow")
final class MariaDbContractTest {

  private static final Duration PATIENT = Duration.ofMinutes(1);
  private static final AtomicInteger STORES = new AtomicInteger();
  private static final DataSource SOURCE = newSource();

  private static DataSource newSource() {
    try {
      return new TestDatabase().source();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static MariaDbStoreBuilder fresh() {
    return MariaDbStore.builder(SOURCE)
        .timeout(PATIENT)
        .prefix("store" + STORES.incrementAndGet() + ":");
  }

  @Nested
  final class Driven extends BucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return fresh().clock(time).open();
    }

    /** Each makes a store of its own; the law itself is tried in {@link BucketProceduresTest}. */
    @Override
    public int histories() {
      return 1;
    }
  }

  @Nested
  final class Live extends LiveBucketStoreContract {
    @Override
    protected BucketStore newStore() {
      return fresh().connections(4).open();
    }
  }
}
