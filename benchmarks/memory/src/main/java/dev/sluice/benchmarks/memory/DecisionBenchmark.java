// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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
 * Measures the time of a decision on one of many keys. The bucket of each key already exists.
 *
 * <p>Each id is a new string, created outside of the measured time. A string caches its hash after
 * the first use, but the id of a request from a network has no cached hash.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecisionBenchmark {

  /** The number of requests that each thread repeats, small enough for the processor's cache. */
  private static final int REQUESTS = 256;

  /** The limiter to measure: a name of {@link Subjects}. */
  @Param({"SLUICE"})
  public String subject = "";

  /** The number of keys. */
  @Param({"1000000"})
  public int keys;

  /** The distribution of requests over keys: {@code uniform} or {@code zipf}. */
  @Param({"uniform"})
  public String distribution = "";

  /**
   * The kind of decisions: {@code allow}, {@code deny}, {@code mixed} (both), or {@code reuse}
   * (every request is allowed, and the bucket of its key was full before the request).
   */
  @Param({"allow"})
  public String answers = "";

  private Spender decider = key -> false;

  /** Creates a bucket for each key. */
  @Setup
  public void setUp() {
    decider = decider();
    for (int key = 0; key < keys; key++) {
      decider.trySpend(Keys.text(key));
    }
  }

  private Spender decider() {
    Subjects subjects = Subjects.valueOf(subject);
    return switch (answers) {
      case "deny" -> subjects.make(keys, 1, Duration.ofHours(1));
      case "reuse" -> subjects.make(keys, 1, Duration.ofNanos(1_000));
      case "mixed" -> subjects.make(keys, 5, Duration.ofMillis(100));
      default -> // during the run, no bucket becomes full or empty
          keys == 1
              ? subjects.make(keys, 800_000_000, Duration.ofSeconds(10))
              : subjects.make(keys, 8_000_000, Duration.ofSeconds(1_000));
    };
  }

  /** The requests of one thread. */
  @State(Scope.Thread)
  public static class Client {
    private static final AtomicLong THREADS = new AtomicLong();

    final Requests requests = new Requests(REQUESTS);
    private Keys.Order order = () -> 0;
    private boolean asBytes;

    /**
     * Creates a different order of keys for each thread.
     *
     * @param all the benchmark
     */
    @Setup
    public void setUp(DecisionBenchmark all) {
      order = Keys.order(all.keys, all.distribution.equals("zipf"), THREADS.getAndIncrement());
      asBytes = Subjects.valueOf(all.subject).takesBytes();
    }

    /** Creates the next requests outside of the measured time. */
    @Setup(Level.Invocation)
    public void next() {
      requests.replace(order, asBytes);
    }
  }

  /**
   * Decides on the next requests.
   *
   * @param client the requests of this thread
   * @return the number of allowed requests
   */
  @Benchmark
  @OperationsPerInvocation(REQUESTS)
  public int decide(Client client) {
    return decider.trySpendEach(client.requests);
  }
}
