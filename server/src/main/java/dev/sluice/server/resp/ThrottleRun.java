// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.direct.Spends;
import dev.sluice.gcra.Quota;
import org.jspecify.annotations.Nullable;

/**
 * Commands of one connection that came in one read and are decided together. Belongs to a thread;
 * its connections use it one after the other.
 */
final class ThrottleRun implements Replies.Gathered, Spends.Outcome {

  private static final ReplyWriter NOWHERE = new ReplyWriter();

  private final Spends spends;
  private final Dialect[] dialects = new Dialect[Spends.CAPACITY];
  private final boolean[] fits = new boolean[Spends.CAPACITY];
  private @Nullable Replies owner;
  private ReplyWriter writer = NOWHERE;

  ThrottleRun(Spends spends) {
    this.spends = spends;
  }

  /**
   * Adds a command, after deciding on those before it if there is no room.
   *
   * @param cost tokens, at most the quota's burst
   * @param fitting false for a command whose quantity is over the limit: it reads the bucket only
   * @return false if the limiter itself has to decide; nothing was added then
   */
  boolean add(
      Replies replies, Request request, Dialect dialect, Quota quota, long cost, boolean fitting) {
    if (owner != replies) {
      spends.clear(); // a connection that broke may have left some
    } else if (spends.size() == Spends.CAPACITY) {
      replies.settle();
    }
    int place = spends.size();
    if (!spends.add(request.bytes(), request.start(1), request.length(1), quota, cost)) {
      return false;
    }
    dialects[place] = dialect;
    fits[place] = fitting;
    owner = replies;
    replies.gather(this);
    return true;
  }

  @Override
  public void write(ReplyWriter target) {
    writer = target;
    try {
      spends.decide(this);
    } finally {
      spends.clear();
      writer = NOWHERE;
      owner = null;
    }
  }

  @Override
  public void decided(
      int index,
      Quota quota,
      boolean allowed,
      long remaining,
      long retryInNanos,
      long resetInNanos) {
    dialects[index].write(
        allowed && fits[index],
        quota.burst(),
        remaining,
        fits[index] ? retryInNanos : Dialect.FOR_EVER,
        resetInNanos,
        writer);
  }

  @Override
  public void failed(int index, RuntimeException failure) {
    Failures.write(failure, writer);
  }
}
