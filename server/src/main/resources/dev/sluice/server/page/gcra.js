// SPDX-License-Identifier: Apache-2.0
// The state of a bucket between two answers. The page computes the refill itself, without requests.

// Seconds by which the penalty's end may be off: page and server have different clocks, and answers take time.
const TOLERANCE = 2;

// Seconds by which sums of floating-point seconds may miss the end of a penalty.
const ROUNDING = 1e-6;

/**
 * A bucket as the server reported it. All times are in seconds; `ahead` is how far the TAT lies
 * ahead of `at`, which is performance.now() / 1000 of the answer.
 *
 * During a penalty, the server reports the later of two times: the penalty's end, and the TAT. If it
 * is the penalty's end, the TAT is unknown, but the bucket is full at that time.
 */
export class Bucket {
  constructor(answer, at) {
    this.limit = answer.limit;
    this.id = answer.id;
    this.key = answer.bucketKey;
    this.burst = answer.burst;
    this.count = answer.count;
    this.period = answer.period;
    this.interval = answer.periodSeconds / answer.count;
    this.depth = this.interval * answer.burst;
    this.ahead = answer.resetInSeconds;
    this.at = at;
    this.penaltyUntil = answer.penaltyUntil ? Date.parse(answer.penaltyUntil) : 0;
    this.penalty = this.penaltyUntil ? this.penaltyAt((this.penaltyUntil - Date.now()) / 1000) : 0;
  }

  penaltyAt(seconds) {
    // The server reports only a penalty in force, so if the penalty seems over, the page's clock is wrong.
    return seconds <= 0 || this.ahead - seconds < Math.min(TOLERANCE, this.depth / 2) ? this.ahead : seconds;
  }

  /** Seconds for which a penalty still makes the bucket count as empty; 0 without one. */
  penaltyLeft(now) {
    const left = this.penalty - (now - this.at);
    return left > ROUNDING ? left : 0;
  }

  /** Seconds until the bucket is full; without a penalty, this is how far the TAT lies ahead of `now`. */
  aheadAt(now) {
    return Math.max(this.ahead - (now - this.at), 0);
  }

  /** Tokens by which the bucket is overdrawn, rounded up; 0 also during a penalty. */
  owedAt(now) {
    return this.penaltyLeft(now) > 0 ? 0 : Math.max(Math.ceil((this.aheadAt(now) - this.depth) / this.interval - 1e-9), 0);
  }

  /** Tokens, including fractions, from 0 to the burst. */
  levelAt(now) {
    if (this.penaltyLeft(now) > 0) {
      return 0;
    }
    return Math.min(Math.max((this.depth - this.aheadAt(now)) / this.interval, 0), this.burst);
  }

  /** Whole tokens, as the server reports them. */
  tokensAt(now) {
    return Math.floor(this.levelAt(now) + 1e-9);
  }

  /** Seconds until a cost can be spent. */
  waitFor(cost, now) {
    return Math.max(this.aheadAt(now) + cost * this.interval - this.depth, this.penaltyLeft(now));
  }
}

/** The time in seconds by the page's own clock, which never goes back. */
export function now() {
  return performance.now() / 1000;
}
