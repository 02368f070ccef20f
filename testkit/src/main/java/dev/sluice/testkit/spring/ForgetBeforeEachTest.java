// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.TimeSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;

/**
 * A Spring test listener that fills all buckets before each test method. The file {@code
 * spring.factories} registers this class.
 */
final class ForgetBeforeEachTest implements TestExecutionListener, Ordered {

  /**
   * Returns the highest precedence, so that this listener runs before all listeners that prepare a
   * test, for example with SQL scripts.
   */
  @Override
  public int getOrder() {
    return Ordered.HIGHEST_PRECEDENCE;
  }

  @Override
  public void beforeTestMethod(TestContext test) {
    if (test.hasApplicationContext()) {
      test.getApplicationContext()
          .getBeanProvider(ForgetfulStore.class)
          .ifAvailable(ForgetfulStore::forget);
    }
  }

  /** A memory store that can delete all of its buckets. Thread-safe. */
  static final class ForgetfulStore implements BucketStore {

    private final TimeSource time;
    private volatile BucketStore memory;

    ForgetfulStore(TimeSource time) {
      this.time = time;
      this.memory = BucketStore.inMemory(time);
    }

    void forget() {
      memory = BucketStore.inMemory(time);
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public OptionalLong nowNanos() {
      return memory.nowNanos();
    }

    @Override
    public OptionalLong liveBuckets() {
      return memory.liveBuckets();
    }

    @Override
    public OptionalLong maxLiveBuckets() {
      return memory.maxLiveBuckets();
    }

    /** Only this process uses the store. */
    @Override
    public Optional<Presence> presence() {
      return Optional.of((process, time) -> time.isZero() ? List.of() : List.of(process));
    }
  }
}
