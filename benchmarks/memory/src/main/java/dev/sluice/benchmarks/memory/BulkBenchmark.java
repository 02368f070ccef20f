// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.Limit;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Separate decisions on 32 keys at a time; the figure is per decision. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class BulkBenchmark {

  private static final int SIZE = 32;

  /** How many keys there are. */
  @Param({"1000000"})
  public int keys;

  /** How often each is asked for: {@code uniform} or {@code zipf}. */
  @Param({"uniform"})
  public String distribution = "";

  private List<List<String>> requests = List.of();
  private Limit limit = Subjects.limit(1, Duration.ofSeconds(1));

  /** Makes the keys, and a bucket for each. */
  @Setup
  public void setUp() {
    String[] texts = Keys.make(keys);
    limit = Subjects.limit(800_000_000, Duration.ofSeconds(10));
    for (String text : texts) {
      boolean unused = limit.trySpend(text);
    }
    String[] all = Keys.requests(texts, distribution.equals("zipf"), 42);
    requests =
        java.util.stream.IntStream.range(0, all.length / SIZE)
            .mapToObj(i -> Arrays.asList(all).subList(i * SIZE, (i + 1) * SIZE))
            .toList();
  }

  /**
   * Decides on the next 32 keys.
   *
   * @param position of this thread
   * @return the answers
   */
  @Benchmark
  @OperationsPerInvocation(SIZE)
  public boolean[] decide(DecisionBenchmark.Position position) {
    return limit.trySpendEach(requests.get(position.next++ & (requests.size() - 1)));
  }
}
