// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.direct.Spends;
import dev.sluice.gcra.Quota;
import org.jspecify.annotations.Nullable;

/**
 * Spends of one limit that came in one read of one connection, and are decided together. Belongs to
 * a thread; its connections use it one after the other.
 */
abstract class SpendRun implements Replies.Gathered, Spends.Outcome {

  private static final ReplyWriter NOWHERE = new ReplyWriter();

  private final Spends spends;
  private @Nullable Replies owner;
  private ReplyWriter writer = NOWHERE;

  SpendRun(Spends spends) {
    this.spends = spends;
  }

  /**
   * Adds a spend, after deciding on those before it if there is no room.
   *
   * @param id which argument of the request is the id
   * @param quota in place of the limit's own, null for that
   * @param cost tokens
   * @return its place; -1 if the limiter itself has to decide, nothing was added then
   */
  final int add(Replies replies, Request request, int id, @Nullable Quota quota, long cost) {
    if (owner != replies) {
      spends.clear(); // a connection that broke may have left some
    } else if (spends.size() == Spends.CAPACITY) {
      replies.settle();
    }
    int place = spends.size();
    if (!spends.add(request.bytes(), request.start(id), request.length(id), quota, cost)) {
      return -1;
    }
    owner = replies;
    replies.gather(this);
    return place;
  }

  /** Where the replies go while they are decided. */
  final ReplyWriter writer() {
    return writer;
  }

  @Override
  public final void write(ReplyWriter target) {
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
  public final void failed(int index, RuntimeException failure) {
    Failures.write(failure, writer);
  }
}
