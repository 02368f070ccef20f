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
 * Measures decisions on many keys whose buckets exist; the figure is per decision.
 *
 * <p>Each id is a new text, made outside of the measured time: a used text caches its hash, which a
 * request from a network never has.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecisionBenchmark {

  /** The number of requests of a thread, small enough to stay in the processor's cache. */
  private static final int REQUESTS = 256;

  /** The subject that decides, a name of {@link Subjects}. */
  @Param({"SLUICE"})
  public String subject = "";

  /** The number of keys. */
  @Param({"1000000"})
  public int keys;

  /** The distribution of requests over keys: {@code uniform} or {@code zipf}. */
  @Param({"uniform"})
  public String distribution = "";

  /**
   * The kind of answers: {@code allow}, {@code deny}, {@code mixed}, or {@code reuse} (allow, where
   * the key's previous bucket became full long ago).
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
      default -> // no bucket fills up during the run, and none is empty at its end
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
     * Gives each thread its own order of keys.
     *
     * @param all the benchmark
     */
    @Setup
    public void setUp(DecisionBenchmark all) {
      order = Keys.order(all.keys, all.distribution.equals("zipf"), THREADS.getAndIncrement());
      asBytes = Subjects.valueOf(all.subject).takesBytes();
    }

    /** Creates the next requests; not measured. */
    @Setup(Level.Invocation)
    public void next() {
      requests.replace(order, asBytes);
    }
  }

  /**
   * Decides on the next requests.
   *
   * @param client the requests of this thread
   * @return how many were allowed
   */
  @Benchmark
  @OperationsPerInvocation(REQUESTS)
  public int decide(Client client) {
    return decider.trySpendEach(client.requests);
  }
}
