// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

/** What a client may ask of the limit whose buckets are followed. */
enum Act {
  SPEND,

  /** Says what a spend would leave, and changes nothing. */
  CHECK,

  REFUND,

  /** A spend of several ids at once, all or nothing. */
  BATCH,

  /** A spend that is taken back at once. */
  RESERVE;

  /** How many tokens a bucket lacks that is shown in the answer, where it lacked some before. */
  long shown(long lacked, int cost) {
    return this == REFUND ? lacked - cost : lacked + cost;
  }

  /** How many it lacks from then on. */
  long left(long lacked, int cost) {
    return this == CHECK || this == RESERVE ? lacked : shown(lacked, cost);
  }
}
