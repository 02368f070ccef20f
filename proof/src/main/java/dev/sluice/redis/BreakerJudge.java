// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.Breaker;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore.Observer.Result;
import dev.sluice.store.BucketStore.Observer.State;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks that a process marks a server down after five outages in a row, or after the first failed
 * call in the half-open state (a trial), and never earlier. A trial begins when a probe has marked
 * a server up. The check compares a process's circuit breakers with the results of the process's
 * calls. Not thread-safe.
 */
final class BreakerJudge {

  private static final int MOST_FAILURES = 5; // the store's default

  private static final long LONG_AGO_NANOS = Long.MAX_VALUE / 2;

  private final Timing timing;
  private final Map<String, Calls> servers = new HashMap<>();

  BreakerJudge(Timing timing) {
    this.timing = timing;
  }

  /** The calls to one server since its last answer. */
  private static final class Calls {
    private int failures;
    private int outages; // the least number of outages among the failures
    private long firstFailure;
    private long lastFailure;
    private boolean open;
    private boolean onTrial; // whether the next failure opens the circuit breaker
    // Whether the next failure perhaps opens the circuit breaker, because no probe could be
    // scheduled when the breaker closed, or because an answer may have ended the half-open state.
    private boolean maybeOnTrial;

    Calls(long lastFailure) {
      this.lastFailure = lastFailure;
    }
  }

  private Calls of(String server) {
    return servers.computeIfAbsent(server, name -> new Calls(timing.nanoTime() - LONG_AGO_NANOS));
  }

  /**
   * Records the result of a call. Returns the violation of an invariant, or null.
   *
   * @param refused whether the server refused all calls that arrived during this call
   * @param counts whether the circuit breaker certainly counts this call; false if the call's slot
   *     moved to another master during the call, or if a moving slot may have refused the call
   *     before the call timed out
   */
  @Nullable String called(
      String server, Result result, boolean refused, long elapsedNanos, boolean counts) {
    Calls calls = of(server);
    if (!counts) {
      if (result != Result.ANSWERED && calls.failures++ == 0) { // failures is an upper bound
        calls.firstFailure = timing.nanoTime();
      }
      calls.outages = 0; // outages is a lower bound
      if (calls.onTrial) { // the answer may have ended the trial
        calls.onTrial = false;
        calls.maybeOnTrial = true;
      }
      return null;
    }
    if (result == Result.ANSWERED) {
      calls.failures = 0;
      calls.outages = 0;
      calls.onTrial = false;
      calls.maybeOnTrial = false;
      return null;
    }
    long start = timing.nanoTime() - elapsedNanos;
    boolean together = calls.failures > 0 && start - calls.lastFailure < 0;
    if (together) {
      return null; // failed calls that overlap count once
    }
    if (calls.failures == 0) {
      calls.firstFailure = timing.nanoTime();
    }
    calls.failures++;
    if (calls.onTrial && !calls.open) {
      return "breaker: " + server + " is still up, though the first call after its probe failed";
    }
    calls.lastFailure = timing.nanoTime();
    calls.outages = result == Result.TIMED_OUT || refused ? calls.outages + 1 : 0;
    return !calls.open && calls.outages >= MOST_FAILURES
        ? "breaker: " + server + " is still up after " + calls.outages + " outages in a row"
        : null;
  }

  /** Returns for how long all calls to a server have failed; 0 if the last call was answered. */
  long failingNanos(String server) {
    Calls calls = of(server);
    return calls.failures == 0 ? 0 : timing.nanoTime() - calls.firstFailure;
  }

  /** Returns whether the next failure can open the server's circuit breaker. */
  boolean isOnTrial(String server) {
    Calls calls = of(server);
    return calls.onTrial || calls.maybeOnTrial;
  }

  /**
   * Records a new state of a server. Returns the violation of an invariant, or null. Call this
   * method before {@link #called} records the call that caused the new state.
   */
  @Nullable String changed(String server, State state, String reason) {
    Calls calls = of(server);
    if (state == State.UP) {
      calls.open = false;
      calls.maybeOnTrial = reason.equals(Breaker.NO_PROBE);
      calls.onTrial = !calls.maybeOnTrial;
      calls.outages = 0;
      return null;
    }
    calls.open = true;
    return !isOnTrial(server) && calls.failures < MOST_FAILURES - 1
        ? "breaker: " + server + " was marked down after " + (calls.failures + 1) + " failures"
        : null;
  }
}
