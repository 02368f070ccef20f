// SPDX-License-Identifier: Apache-2.0
// The bucket between two answers: it refills by itself, so that the page can draw it without asking.

/**
 * A bucket as the server answered it. All times are in seconds; `ahead` is how far the TAT lies
 * ahead of `at`, which is performance.now() / 1000 of the answer.
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
  }

  /** How far the TAT lies ahead of a moment; 0 where the bucket is full. */
  aheadAt(now) {
    return Math.max(this.ahead - (now - this.at), 0);
  }

  /** Tokens with their fractions, from 0 to the burst. */
  levelAt(now) {
    return Math.min(Math.max((this.depth - this.aheadAt(now)) / this.interval, 0), this.burst);
  }

  /** Whole tokens, as the server would say. */
  tokensAt(now) {
    return Math.floor(this.levelAt(now) + 1e-9);
  }

  /** Seconds until a cost can be spent. */
  waitFor(cost, now) {
    return Math.max(this.aheadAt(now) + cost * this.interval - this.depth, 0);
  }
}

/** Seconds of the page's own clock, which no one sets back. */
export function now() {
  return performance.now() / 1000;
}
