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
 * Decisions on many keys, whose buckets exist; the figure is per decision.
 *
 * <p>Each id is a text of its own, made outside of the measured time: a text that was used before
 * remembers its hash, which no request from a network does.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecisionBenchmark {

  /** Few enough that they are near when they are asked for. */
  private static final int REQUESTS = 256;

  /** The subject that decides, a name of {@link Subjects}. */
  @Param({"SLUICE"})
  public String subject = "";

  /** How many keys there are. */
  @Param({"1000000"})
  public int keys;

  /** How often each is asked for: {@code uniform} or {@code zipf}. */
  @Param({"uniform"})
  public String distribution = "";

  /**
   * The kind of the answers: {@code allow}, {@code deny}, {@code mixed}, or {@code reuse}: allow,
   * where the bucket of before has filled up long ago.
   */
  @Param({"allow"})
  public String answers = "";

  private Spender decider = key -> false;

  /** Makes a bucket for each key. */
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

  /** What one thread asks for. */
  @State(Scope.Thread)
  public static class Client {
    private static final AtomicLong THREADS = new AtomicLong();

    final Requests requests = new Requests(REQUESTS);
    private Keys.Order order = () -> 0;
    private boolean asBytes;

    /**
     * Each thread has an order of its own.
     *
     * @param all what is measured
     */
    @Setup
    public void setUp(DecisionBenchmark all) {
      order = Keys.order(all.keys, all.distribution.equals("zipf"), THREADS.getAndIncrement());
      asBytes = Subjects.valueOf(all.subject).takesBytes();
    }

    /** Makes the next requests; not measured. */
    @Setup(Level.Invocation)
    public void next() {
      requests.replace(order, asBytes);
    }
  }

  /**
   * Decides on the next requests.
   *
   * @param client this thread's
   * @return how many were allowed
   */
  @Benchmark
  @OperationsPerInvocation(REQUESTS)
  public int decide(Client client) {
    return decider.trySpendEach(client.requests);
  }
}
