// SPDX-License-Identifier: Apache-2.0
// The bucket between two answers: it refills on its own, so the page can draw it without asking.

// The clocks of page and server differ, and an answer takes a while.
const TOLERANCE = 2;

// At the end of a penalty, sums of seconds may differ from it in their last digits.
const ROUNDING = 1e-6;

/**
 * A bucket as the server answered it. All times are in seconds; `ahead` is how far the TAT lies
 * ahead of `at`, which is performance.now() / 1000 of the answer.
 *
 * During a penalty, the answer has the later one of two times: the penalty's end, and the TAT. Where
 * it is the end, the TAT is not told, but the bucket is full at the end.
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
    const left = Math.min(Math.max(seconds, 0), this.ahead);
    return this.ahead - left < Math.min(TOLERANCE, this.depth / 2) ? this.ahead : left;
  }

  /** Seconds for which a penalty still makes the bucket count as empty; 0 without one. */
  penaltyLeft(now) {
    const left = this.penalty - (now - this.at);
    return left > ROUNDING ? left : 0;
  }

  /** Seconds until the bucket is full; without a penalty, how far its TAT lies ahead of a moment. */
  aheadAt(now) {
    return Math.max(this.ahead - (now - this.at), 0);
  }

  /** Tokens with their fractions, from 0 to the burst. */
  levelAt(now) {
    if (this.penaltyLeft(now) > 0) {
      return 0;
    }
    return Math.min(Math.max((this.depth - this.aheadAt(now)) / this.interval, 0), this.burst);
  }

  /** Whole tokens, as the server would say. */
  tokensAt(now) {
    return Math.floor(this.levelAt(now) + 1e-9);
  }

  /** Seconds until a cost can be spent. */
  waitFor(cost, now) {
    return Math.max(this.aheadAt(now) + cost * this.interval - this.depth, this.penaltyLeft(now));
  }
}

/** Seconds of the page's own clock, which no one sets back. */
export function now() {
  return performance.now() / 1000;
}
