// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * One call of a simulated thread: a charge of one or more buckets, a snapshot, or a step of the
 * clock.
 *
 * @param kind the kind of call
 * @param parts the buckets that are charged; empty for other kinds of calls
 * @param nanos by how much the clock moves; 0 for other kinds of calls
 */
public record Op(Kind kind, List<Part> parts, long nanos) {

  /** The kind of a call. */
  public enum Kind {
    /** A charge of one or more buckets. */
    CHARGE,
    /** A snapshot of all live buckets. */
    SNAPSHOT,
    /** A step of the clock. */
    TICK
  }

  /** The operation of a charge. The store's operations have the names of these constants. */
  public enum Verb {
    /** Reads the bucket. Denies the batch if the bucket does not have the tokens. */
    CHECK,
    /** Spends tokens. Denies the batch if the bucket does not have the tokens. */
    SPEND,
    /** Spends tokens if the bucket has the tokens. Never denies the batch. */
    SPEND_ONLY,
    /**
     * Spends as many tokens as the bucket has, but at most the cost. A call that contains
     * SPEND_UP_TO charges only one bucket.
     */
    SPEND_UP_TO,
    /** Refunds tokens. */
    REFUND,
    /** Removes the bucket. */
    RESET;

    boolean votes() {
      return this == CHECK || this == SPEND || this == SPEND_UP_TO;
    }

    boolean spends() {
      return this == SPEND || this == SPEND_ONLY || this == SPEND_UP_TO;
    }
  }

  /**
   * The charge of one bucket.
   *
   * @param act the operation
   * @param key the index of the bucket, from 0
   * @param cost the cost in tokens; 0 for a reset
   */
  public record Part(Verb act, int key, int cost) {

    @Override
    public String toString() {
      String name = act.name().toLowerCase(Locale.ROOT).replace('_', '-');
      return act == Verb.RESET ? name + " " + key : name + " " + key + " " + cost;
    }

    static Part parse(String text) {
      String[] words = text.trim().split(" +", -1);
      Verb act = Verb.valueOf(words[0].toUpperCase(Locale.ROOT).replace('-', '_'));
      int cost = act == Verb.RESET ? 0 : Integer.parseInt(words[2]);
      return new Part(act, Integer.parseInt(words[1]), cost);
    }
  }

  static Op charge(List<Part> parts) {
    return new Op(Kind.CHARGE, List.copyOf(parts), 0);
  }

  static Op tick(long nanos) {
    return new Op(Kind.TICK, List.of(), nanos);
  }

  static Op snapshot() {
    return new Op(Kind.SNAPSHOT, List.of(), 0);
  }

  static Op parse(String text) {
    String trimmed = text.trim();
    if (trimmed.equals("snapshot")) {
      return snapshot();
    }
    if (trimmed.startsWith("tick ")) {
      return tick(Long.parseLong(trimmed.substring(5).trim()));
    }
    return charge(Arrays.stream(trimmed.split("\\+", -1)).map(Part::parse).toList());
  }

  @Override
  public String toString() {
    return switch (kind) {
      case SNAPSHOT -> "snapshot";
      case TICK -> "tick " + nanos;
      case CHARGE -> parts.stream().map(Part::toString).collect(Collectors.joining(" + "));
    };
  }
}
