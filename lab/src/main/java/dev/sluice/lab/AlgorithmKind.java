// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The algorithms that are compared. */
public enum AlgorithmKind {
  /** A counter that is set when the first request comes, and forgotten after the period. */
  TIME_BUCKET("time-bucket", "a counter that expires"),
  /** A bucket that a process in the background drains, drip by drip. */
  LEAKY_BUCKET("leaky-bucket", "a bucket that a process drains"),
  /** The product's own limiter. */
  GCRA("gcra", "Sluice's own limiter"),
  /** Remembers each admitted request for one period. */
  SLIDING_LOG("sliding-log", "the time of every request is kept"),
  /** Two fixed windows, of which the older one fades out. */
  SLIDING_COUNTER("sliding-counter", "two counters, the older fades out");

  private static final String ALL = "all";

  private final String text;
  private final String inWords;

  AlgorithmKind(String text, String inWords) {
    this.text = text;
    this.inWords = inWords;
  }

  /**
   * Finds algorithms by a name that people type.
   *
   * @param text one of {@link #names}
   * @return the algorithm of that name; all of them for {@code all}
   * @throws IllegalArgumentException for any other text, with the nearest name
   */
  public static List<AlgorithmKind> parse(String text) {
    if (text.equals(ALL)) {
      return List.of(values());
    }
    for (AlgorithmKind kind : values()) {
      if (kind.text.equals(text)) {
        return List.of(kind);
      }
    }
    List<String> names = names();
    throw new IllegalArgumentException(
        "found %s, expected one of %s%s"
            .formatted(
                SafeText.quote(text),
                String.join(", ", names),
                Suggestion.didYouMean(text, names)));
  }

  /**
   * Returns the names that people may type.
   *
   * @return such as {@code time-bucket}; {@code all} is the last
   */
  public static List<String> names() {
    return Stream.concat(Arrays.stream(values()).map(AlgorithmKind::toString), Stream.of(ALL))
        .toList();
  }

  /**
   * Returns a description in a few words.
   *
   * @return words for a caption
   */
  public String inWords() {
    return inWords;
  }

  /** All of them limit to {@code burst} tokens in the time in which an empty bucket fills. */
  Algorithm start(Quota quota, Drip drip) {
    return switch (this) {
      case TIME_BUCKET -> new TimeBucket(quota);
      case LEAKY_BUCKET -> new LeakyBucket(quota, drip);
      case GCRA -> new ProductGcra(quota);
      case SLIDING_LOG -> new SlidingLog(quota);
      case SLIDING_COUNTER -> new SlidingCounter(quota);
    };
  }

  /** The name that people type. */
  @Override
  public String toString() {
    return text;
  }
}
