// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * One step of a plan: a call or a fault, at a given time.
 *
 * @param at the time in nanoseconds since the start of the run
 * @param process the number of the process
 * @param numbers the parameters of the step, which {@link Kind} lists for each kind
 */
record Step(long at, Kind kind, int process, List<Integer> numbers) {

  /** The kinds of steps. The comment of each kind lists the parameters of a step. */
  enum Kind {
    /** Spends tokens. Parameters: limit, id, cost. */
    SPEND,
    /** Spends as many tokens as possible. Parameters: limit, id, largest number of tokens. */
    SPEND_UP_TO,
    /**
     * A spend whose caller gives up. Parameters: limit, id, cost, microseconds until the caller
     * gives up.
     */
    SPEND_GIVEN_UP,
    /** A synchronous spend. Parameters: limit, id, cost. */
    SPEND_BLOCKING,
    /** Checks a bucket. Parameters: limit, id, cost. */
    CHECK,
    /** A batch of checks. Parameters: those of {@link #MIXED_BATCH}. */
    CHECK_BATCH,
    /** Refunds tokens. Parameters: limit, id, cost. */
    REFUND,
    /** Resets a bucket. Parameters: limit, id. */
    RESET,
    /** A batch of spends. Parameters: first id, number of transactions, cost of each. */
    BATCH,
    /**
     * A batch whose caller gives up. Parameters: first id, number of transactions, cost of each,
     * microseconds until the caller gives up.
     */
    BATCH_GIVEN_UP,
    /**
     * Parameters: first id, number of transactions, cost of each, and the kind of the first
     * transaction: 0 to 2 for batches of three kinds, 3 and more for batches of four kinds.
     */
    MIXED_BATCH,
    /** A batch of refunds. Parameters: first id, number of transactions, cost of each. */
    REFUND_BATCH,
    /** Refunds transactions of several kinds. Parameters: those of {@link #MIXED_BATCH}. */
    MIXED_REFUND,
    /** A batch of resets. Parameters: first id, number of transactions, the cost 1. */
    RESET_BATCH,
    /**
     * A batch that an empty bucket denies. Parameters: id that OBSERVE checks, number of the empty
     * bucket.
     */
    DENIED_BATCH,
    /** Empties the bucket whose number is the only parameter. */
    DRAIN,
    /** Checks the bucket whose id is the only parameter. */
    OBSERVE,
    /**
     * Parameters: limit, id, cost, milliseconds until the cancellation (-1: close the reservation
     * instead, -2: do nothing).
     */
    RESERVE,
    /**
     * Parameters: limit, id, number of reservations, milliseconds until all reservations are
     * cancelled, number of spends soon after the cancellations (0 if absent).
     */
    RESERVE_TOGETHER,
    /**
     * Parameters: first id, number of transactions, cost of each, milliseconds until the
     * cancellation of all transactions except those of limit A, kind of the first transaction (if
     * absent, all transactions are required spends).
     */
    RESERVE_BATCH,
    /**
     * Parameters: limit, id, cost of a reservation, milliseconds until a synchronous cancellation.
     */
    RESERVE_BLOCKING,
    /**
     * Parameters: limit, id, cost of a reservation, milliseconds until a cancellation by receipt,
     * number of the process that cancels.
     */
    RESERVE_ELSEWHERE,
    /**
     * Parameters: limit, id, cost of a reservation, milliseconds until the settlement, the true
     * cost.
     */
    RESERVE_SETTLED,
    /** Parameter: number of the set of limits that this process uses from now on. */
    LIMITS,
    /** Parameters: shared id, burst of the id's override from now on (0: no override). */
    OVERRIDES,
    /** Parameters: limit, id, milliseconds until the end of the penalty (0: lift the penalty). */
    PENALTY,
    /** Parameters: limit, id, number of single tokens to spend from a lease. */
    LEASE,
    /** Closes a lease. Parameters: limit, id. */
    LEASE_CLOSE,
    /**
     * Parameters: id, cost, longest wait in milliseconds, microseconds until the caller gives up
     * (-1: never), 1 for the limit with several quotas (0 if absent).
     */
    ACQUIRE,
    /** A synchronous call with the parameters of {@link #ACQUIRE}. */
    ACQUIRE_BLOCKING,
    /**
     * Parameters: first id, number of transactions, cost of each, longest wait in milliseconds,
     * microseconds until the caller gives up, 1 if every second transaction is spend-only (0 if
     * absent).
     */
    ACQUIRE_BATCH,
    /** Parameter: milliseconds for which the caller of the next answered call blocks its thread. */
    BLOCK,
    /**
     * Parameter: what the store's observer throws when it is called next (0: an exception, 1: an
     * error).
     */
    OBSERVER_THROWS,
    /**
     * Parameter: what the limiter's observer throws when it is called next (0: an exception, 1: an
     * error).
     */
    LIMITER_OBSERVER_THROWS,
    /** No parameters; the store's next attempt to set a timer throws an error. */
    TIMER_THROWS,
    /**
     * Cuts the connection to a server. Parameters: server, number of a {@link
     * SimulatedConnection.Cut}.
     */
    CUT,
    /** Parameter: milliseconds by which the process's clock for buckets steps. */
    PROCESS_CLOCK_STEP,
    /** Parameter: milliseconds for which connecting is slow. */
    CONNECT_SLOWLY,
    /** No parameters; the next attempt to connect throws an error. */
    CONNECT_ERROR,
    /** Parameter: milliseconds for which each call has a random delay. */
    SLOW_CALLS,
    /** Freezes a server. Parameters: server, milliseconds until the server continues. */
    FREEZE,
    /**
     * Kills a server. Parameters: server, 1 if the server keeps its data, milliseconds until the
     * restart.
     */
    KILL,
    /**
     * A server forgets the script; a database forgets its prepared statements. Parameter: the
     * server.
     */
    FORGET_SCRIPT,
    /** Parameters: server, milliseconds for which the server has no memory. */
    OUT_OF_MEMORY,
    /** Parameters: server, milliseconds for which the server is busy. */
    BUSY,
    /** Parameters: server, milliseconds for which the server answers only a PING. */
    CLUSTER_DOWN,
    /** Parameters: server, milliseconds for which the server refuses calls with several keys. */
    TRY_AGAIN,
    /** Parameters: server, milliseconds by which the replica lags from now on. */
    LAG,
    /**
     * Parameters: milliseconds until the old master becomes a replica (11,000 if absent), 1 if
     * clients stay connected to the old master (0 if absent).
     */
    FAIL_OVER,
    /** Parameter: milliseconds for which no Sentinel answers. */
    SENTINELS_FAIL,
    /** Parameter: the server that loses a part of its slots. */
    MOVE_SLOTS,
    /** Parameters: server, milliseconds by which the server's clock steps. */
    CLOCK_STEP,
    /**
     * Parameters: server, number of a group of rows (0 to 3), milliseconds for which another user
     * locks the group.
     */
    LOCK_ROWS;

    boolean isFault() {
      return compareTo(BLOCK) >= 0;
    }
  }

  /** Returns this step with the number at one index replaced. */
  Step with(int index, int number) {
    List<Integer> changed = new ArrayList<>(numbers);
    changed.set(index, number);
    return new Step(at, kind, process, List.copyOf(changed));
  }

  /** Returns this step with one more parameter. */
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

  /** Returns the number at an index, or a default if an older plan lacks the number. */
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
