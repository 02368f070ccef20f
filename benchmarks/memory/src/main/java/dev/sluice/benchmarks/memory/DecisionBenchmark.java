// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** One decision on one of many keys, whose buckets exist. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecisionBenchmark {

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

  private String[] requests = {};
  private Subject decider = key -> false;

  /** Makes the keys, and a bucket for each. */
  @Setup
  public void setUp() {
    String[] texts = Keys.make(keys);
    decider = decider();
    for (String text : texts) {
      decider.trySpend(text);
    }
    requests = Keys.requests(texts, distribution.equals("zipf"), 42);
  }

  private Subject decider() {
    Subjects subjects = Subjects.valueOf(subject);
    return switch (answers) {
      case "deny" -> subjects.make(1, Duration.ofHours(1));
      case "reuse" -> subjects.make(1, Duration.ofNanos(1_000));
      case "mixed" -> subjects.make(5, Duration.ofMillis(100));
      default -> subjects.make(800_000_000, Duration.ofSeconds(10)); // no bucket fills up
    };
  }

  /** Where a thread is in the order. */
  @State(Scope.Thread)
  public static class Position {
    private static final AtomicLong THREADS = new AtomicLong();

    int next;

    /** Threads start far from each other. */
    @Setup
    public void setUp() {
      next = (int) (THREADS.getAndIncrement() * 1_000_003);
    }
  }

  /**
   * Decides on the next key.
   *
   * @param position of this thread
   * @return the answer
   */
  @Benchmark
  public boolean decide(Position position) {
    return decider.trySpend(requests[position.next++ & (requests.length - 1)]);
  }
}
