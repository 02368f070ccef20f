// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * One step of a plan: an act of a caller or a fault, and its time.
 *
 * @param at nanoseconds since the world began
 * @param process the number of the process
 * @param numbers further values, depending on the kind
 */
record Step(long at, Kind kind, int process, List<Integer> numbers) {

  /** The kinds of steps; each comment lists the numbers. */
  enum Kind {
    /** limit, id, cost. */
    SPEND,
    /** limit, id, the most tokens. */
    SPEND_UP_TO,
    /** limit, id, cost, after how many microseconds the caller gives up. */
    SPEND_GIVEN_UP,
    /** limit, id, cost; the caller waits for it. */
    SPEND_BLOCKING,
    /** limit, id, cost. */
    CHECK,
    /** as a mixed batch. */
    CHECK_BATCH,
    /** limit, id, cost. */
    REFUND,
    /** limit, id. */
    RESET,
    /** the first id, how many, the cost of each. */
    BATCH,
    /** the same, and after how many microseconds the caller gives up. */
    BATCH_GIVEN_UP,
    /**
     * the first id, number of transactions, the cost of each, and which kind comes first: 0 to 2
     * for an order of three kinds, from 3 on for an order of four.
     */
    MIXED_BATCH,
    /** the first id, how many, the cost of each. */
    REFUND_BATCH,
    /** as a mixed batch. */
    MIXED_REFUND,
    /** the first id, how many, 1. */
    RESET_BATCH,
    /** the observed id, a partner that denies. */
    DENIED_BATCH,
    /** a partner, which denies from then on. */
    DRAIN,
    /** the observed id. */
    OBSERVE,
    /** limit, id, cost, after how many milliseconds it is cancelled (-1: closed, -2: never). */
    RESERVE,
    /**
     * limit, id, number of reservations, milliseconds until all are cancelled at once, number of
     * spends at that moment (0 if absent).
     */
    RESERVE_TOGETHER,
    /**
     * the first id, number of transactions, the cost of each, milliseconds until the cancellation,
     * which kind comes first (all have the same kind if absent); limit A stays spent.
     */
    RESERVE_BATCH,
    /** limit, id, cost, after how many milliseconds it is cancelled by a caller that waits. */
    RESERVE_BLOCKING,
    /**
     * limit, id, cost, milliseconds until another process cancels by the receipt, which process.
     */
    RESERVE_ELSEWHERE,
    /** limit, id, cost, milliseconds until the settlement, the true cost. */
    RESERVE_SETTLED,
    /** the limits of this process from now on. */
    LIMITS,
    /** which of the shared ids, the burst of its override from now on, 0 for none. */
    OVERRIDES,
    /** limit, id, for how many milliseconds; 0 lifts it. */
    PENALTY,
    /** limit, id, how many tokens are spent one after the other. */
    LEASE,
    /** limit, id. */
    LEASE_CLOSE,
    /**
     * id, cost, the longest wait in milliseconds, microseconds until giving up (-1: never), whether
     * for several quotas (no if absent).
     */
    ACQUIRE,
    /** as ACQUIRE; the caller's thread waits. */
    ACQUIRE_BLOCKING,
    /**
     * the first id, number of transactions, the cost of each, the longest wait, the time until
     * giving up, whether every second transaction is spend-only (none if absent).
     */
    ACQUIRE_BATCH,
    /** the next caller's continuation blocks for so many milliseconds. */
    BLOCK,
    /** the next call to the store's observer throws: 0 an exception, 1 an error. */
    OBSERVER_THROWS,
    /** the next call of the limiter's observer throws: 0 an exception, 1 an error. */
    LIMITER_OBSERVER_THROWS,
    /** the next timer of the store cannot be set: an error. */
    TIMER_THROWS,
    /** server, how. */
    CUT,
    /** milliseconds by which the clock of the process steps, if buckets use this clock. */
    PROCESS_CLOCK_STEP,
    /** for so many milliseconds. */
    CONNECT_SLOWLY,
    CONNECT_ERROR,
    /** number of milliseconds during which each call is delayed by a random time. */
    SLOW_CALLS,
    /** server, milliseconds. */
    FREEZE,
    /** server, whether it keeps its data, milliseconds. */
    KILL,
    /** server. */
    FORGET_SCRIPT, // of a database: prepared statements
    /** server, milliseconds. */
    OUT_OF_MEMORY,
    /** server, milliseconds. */
    BUSY,
    /** server, milliseconds: a PING is answered all the same. */
    CLUSTER_DOWN,
    /** server, milliseconds: calls with several keys are refused, as while their slot moves. */
    TRY_AGAIN,
    /** server, milliseconds by which its replica lags from now on. */
    LAG,
    /**
     * milliseconds until the old master learns of the failover (11,000 if absent), whether its
     * clients then stay connected (0 if absent).
     */
    FAIL_OVER,
    /** for so many milliseconds no Sentinel answers. */
    SENTINELS_FAIL,
    /** from which server. */
    MOVE_SLOTS,
    /** server, milliseconds. */
    CLOCK_STEP,
    /** server, which part of a database's rows another user locks, milliseconds. */
    LOCK_ROWS;

    boolean isFault() {
      return compareTo(BLOCK) >= 0;
    }
  }

  /** Returns this step with another number in one place. */
  Step with(int index, int number) {
    List<Integer> changed = new ArrayList<>(numbers);
    changed.set(index, number);
    return new Step(at, kind, process, List.copyOf(changed));
  }

  /** Returns this step with a further number. */
  Step and(int number) {
    List<Integer> more = new ArrayList<>(numbers);
    more.add(number);
    return new Step(at, kind, process, List.copyOf(more));
  }

  static Step of(long at, Kind kind, int process, Integer... numbers) {
    return new Step(at, kind, process, List.of(numbers));
  }

  Step by(int other) {
    return new Step(at, kind, other, numbers);
  }

  int number(int index) {
    return numbers.get(index);
  }

  boolean has(int index) {
    return index < numbers.size();
  }

  /** Returns a number that older plans may lack. */
  int numberOr(int index, int otherwise) {
    return has(index) ? number(index) : otherwise;
  }

  /** Returns the step as a line for {@link #parse}. */
  @Override
  public String toString() {
    StringBuilder line = new StringBuilder();
    line.append(at).append(" p").append(process).append(' ');
    line.append(kind.name().toLowerCase(Locale.ROOT));
    numbers.forEach(number -> line.append(' ').append(number));
    return line.toString();
  }

  static Step parse(String line) {
    String[] words = line.split(" ", -1);
    return new Step(
        Long.parseLong(words[0]),
        Kind.valueOf(words[2].toUpperCase(Locale.ROOT)),
        Integer.parseInt(words[1].substring(1)),
        Arrays.stream(words).skip(3).map(Integer::parseInt).toList());
  }
}
