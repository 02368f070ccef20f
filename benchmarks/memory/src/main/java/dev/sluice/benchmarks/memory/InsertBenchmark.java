// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Measures the first decision on a new key. Inserts a million new keys into an empty store, which
 * grows during this time. All figures are per key, so the bytes per key include the growth of the
 * table.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class InsertBenchmark {

  static final int KEYS = 1_000_000;

  /** The limiter to measure: a name of {@link Subjects}. */
  @Param({"SLUICE"})
  public String subject = "";

  private final Requests requests = new Requests(KEYS);
  private Spender decider = key -> false;

  /** Creates the keys. */
  @Setup
  public void setUp() {
    AtomicInteger number = new AtomicInteger();
    requests.replace(number::getAndIncrement, Subjects.valueOf(subject).takesBytes());
  }

  /** Creates an empty store for the next run. */
  @Setup(Level.Invocation)
  public void empty() {
    decider = Subjects.valueOf(subject).make(KEYS, 1_000, Duration.ofHours(1));
  }

  /**
   * Makes one decision on each key.
   *
   * @return the number of allowed requests
   */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public int decide() {
    return decider.trySpendEach(requests);
  }
}
