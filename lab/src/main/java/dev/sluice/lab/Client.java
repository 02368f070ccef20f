// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;
import java.util.Random;

/** One simulated client. Several clients can share a bucket. */
record Client(String name, int bucket, long cost, Behaviour behaviour) {

  /** Decides when one client sends requests. Not thread-safe. */
  interface Behaviour {

    /** The time of a request that is never sent, since every run ends earlier. */
    long NEVER = Long.MAX_VALUE;

    /** Returns the time of the first request, in nanoseconds since the start of the run. */
    long firstNanos();

    /**
     * Returns the time of the next request, in nanoseconds since the start of the run. The next
     * request is later than the previous one.
     *
     * @param nowNanos the time of the previous request
     * @param verdict the decision on the previous request
     */
    long nextNanos(long nowNanos, Verdict verdict);
  }

  /**
   * Sends requests at even intervals. The first request is sent at a random time within the first
   * interval.
   */
  static final class Steady implements Behaviour {

    private final long everyNanos;
    private final long firstNanos;

    Steady(long everyNanos, Chance chance) {
      this.everyNanos = everyNanos;
      this.firstNanos = chance.within(everyNanos);
    }

    @Override
    public long firstNanos() {
      return firstNanos;
    }

    @Override
    public long nextNanos(long nowNanos, Verdict verdict) {
      return nowNanos + everyNanos;
    }
  }

  /**
   * Sends bursts of requests at random times (a Poisson process). With bursts of one request, each
   * request is sent at a random time.
   */
  static final class Bursty implements Behaviour {

    private final double meanGapNanos;
    private final long size;
    private final long stepNanos;
    private final Chance chance;
    private long left;

    /**
     * Creates the behaviour.
     *
     * @param meanGapNanos the mean time from the last request of a burst to the next burst
     * @param size the number of requests in a burst
     * @param stepNanos the time between two requests of a burst
     */
    Bursty(double meanGapNanos, long size, long stepNanos, Chance chance) {
      this.meanGapNanos = meanGapNanos;
      this.size = size;
      this.stepNanos = stepNanos;
      this.chance = chance;
    }

    @Override
    public long firstNanos() {
      left = size - 1;
      return chance.gap(meanGapNanos);
    }

    @Override
    public long nextNanos(long nowNanos, Verdict verdict) {
      if (left > 0) {
        left--;
        return nowNanos + stepNanos;
      }
      left = size - 1;
      return nowNanos + chance.gap(meanGapNanos);
    }
  }

  /**
   * Sends requests at random times, many at noon and few at midnight. First, candidates for
   * requests are drawn at the rate of noon. A candidate at the time t becomes a request with the
   * probability {@code rate(t) / rate(noon)} (thinning).
   */
  static final class Diurnal implements Behaviour {

    private final double noonGapNanos;
    private final long dayNanos;
    private final double swing;
    private final long endNanos;
    private final Chance chance;

    /**
     * Creates the behaviour.
     *
     * @param meanGapNanos the mean time between two requests, over a whole day
     * @param dayNanos the length of a day; the run starts at midnight
     * @param swing by which share of the mean rate the rate rises at noon and falls at midnight, 0
     *     to 1
     */
    Diurnal(double meanGapNanos, long dayNanos, double swing, long endNanos, Chance chance) {
      this.noonGapNanos = meanGapNanos / (1 + swing);
      this.dayNanos = dayNanos;
      this.swing = swing;
      this.endNanos = endNanos;
      this.chance = chance;
    }

    /**
     * Returns the number of candidates that a run draws, which determines how long the run takes.
     */
    double candidates() {
      return endNanos / noonGapNanos;
    }

    @Override
    public long firstNanos() {
      return after(0);
    }

    @Override
    public long nextNanos(long nowNanos, Verdict verdict) {
      return after(nowNanos);
    }

    private long after(long fromNanos) {
      long nanos = fromNanos;
      do {
        nanos += chance.gap(noonGapNanos);
      } while (nanos < endNanos && chance.share() * (1 + swing) > rate(nanos));
      return nanos < endNanos ? nanos : NEVER;
    }

    /** Returns the rate at a time, relative to the mean rate. */
    private double rate(long nanos) {
      double turn = (double) (nanos % dayNanos) / dayNanos;
      return 1 - swing * StrictMath.cos(2 * Math.PI * turn);
    }
  }

  /**
   * Sends requests as fast as possible until one is denied, then waits for {@code retryAfter}, and
   * starts again.
   */
  static final class Rogue implements Behaviour {

    private final long stepNanos;
    private final long firstNanos;

    Rogue(long stepNanos, long startNanos, Chance chance) {
      this.stepNanos = stepNanos;
      this.firstNanos = startNanos + chance.within(stepNanos);
    }

    @Override
    public long firstNanos() {
      return firstNanos;
    }

    @Override
    public long nextNanos(long nowNanos, Verdict verdict) {
      return nowNanos + (verdict.admitted() ? stepNanos : verdict.retryAfterNanos());
    }
  }

  /**
   * Sends one request, and retries it after each denial. Before a retry, the client waits for
   * {@code retryAfter} and, with jitter, for a random additional time. The longest possible
   * additional wait doubles with each denial.
   */
  static final class Retrying implements Behaviour {

    /**
     * The number of denials after which the longest possible additional wait no longer doubles.
     * 2^20 times the wait is longer than any run.
     */
    private static final int MOST_DOUBLINGS = 20;

    private final long firstNanos;
    private final long tries;
    private final double jitter;
    private final Chance chance;
    private int denials;

    /**
     * Creates the behaviour.
     *
     * @param tries how many requests the client sends before it gives up
     * @param jitter the longest possible additional wait after the first denial, as a share of
     *     {@code retryAfter}
     */
    Retrying(long firstNanos, long tries, double jitter, Chance chance) {
      this.firstNanos = firstNanos;
      this.tries = tries;
      this.jitter = jitter;
      this.chance = chance;
    }

    @Override
    public long firstNanos() {
      return firstNanos;
    }

    @Override
    public long nextNanos(long nowNanos, Verdict verdict) {
      denials++;
      if (verdict.admitted() || denials >= tries) {
        return NEVER;
      }
      int doublings = Math.min(denials - 1, MOST_DOUBLINGS);
      double more = chance.share() * jitter * (1 << doublings) * verdict.retryAfterNanos();
      // Math.min prevents an overflow of the sum; the wait is then longer than any run.
      return nowNanos + verdict.retryAfterNanos() + (long) Math.min(more, Long.MAX_VALUE / 4.0);
    }
  }

  /**
   * The random numbers of one client. The same seed gives the same numbers on every JDK: {@link
   * Random} and {@link StrictMath} are specified to the bit.
   */
  static final class Chance {

    private final Random random;

    Chance(long seed, int client) {
      this.random = new Random(mixed(mixed(seed) + client));
    }

    /**
     * Returns very different numbers for neighbouring numbers, with the finalizer of SplitMix64.
     */
    private static long mixed(long number) {
      long z = number + 0x9e3779b97f4a7c15L;
      z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
      z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
      return z ^ (z >>> 31);
    }

    /** Returns a random number from 0 (included) to 1 (excluded). */
    double share() {
      return random.nextDouble();
    }

    /** Returns an evenly distributed time from 0 (included) to {@code spanNanos} (excluded). */
    long within(long spanNanos) {
      return (long) (random.nextDouble() * spanNanos);
    }

    /** Returns the time to the next event of a Poisson process, at least 1 ns. */
    long gap(double meanNanos) {
      double gapNanos = -StrictMath.log(1 - random.nextDouble()) * meanNanos;
      // The largest gap between events is longer than any run.
      return (long) Math.min(gapNanos, Long.MAX_VALUE / 4.0) + 1;
    }
  }
}
