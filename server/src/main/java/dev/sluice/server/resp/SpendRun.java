// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.SpendPipeline;
import dev.sluice.internal.direct.SpendPipeline.DirectLimit;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.resp.SpendRun.LimitRun;
import dev.sluice.server.resp.ThrottleCommands.Dialect;
import dev.sluice.server.stats.Denials;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Consecutive spends from one limit that arrived in one read of one connection, and that are
 * decided together. All connections of a thread share this object, one after another.
 */
abstract class SpendRun implements Replies.Gathered, SpendPipeline.Outcome {

  private static final ReplyWriter NOWHERE = new ReplyWriter();

  private final SpendPipeline spends;
  private final Denials denials;
  private @Nullable Replies owner;
  private ReplyWriter writer = NOWHERE;

  SpendRun(SpendPipeline spends, Denials denials) {
    this.spends = spends;
    this.denials = denials;
  }

  /**
   * Adds a spend to this run. If this run of spends is full, first decides the spends that it
   * contains.
   *
   * @param id the index of the request's argument that contains the id
   * @param quota the quota, null for the limit's own quota
   * @return the index of the spend; -1 if nothing was added, and the caller must call the limiter
   */
  final int add(Replies replies, Request request, int id, @Nullable Quota quota, long cost) {
    if (owner != replies) {
      spends.clear(); // a connection that failed can have left spends behind
    } else if (spends.size() == SpendPipeline.CAPACITY) {
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

  /** Returns the writer for replies, which is valid only during {@link #write(ReplyWriter)}. */
  final ReplyWriter writer() {
    return writer;
  }

  @Override
  public final void write(ReplyWriter target) {
    writer = target;
    try {
      denials.decideSeries(() -> spends.decide(this));
    } finally {
      spends.clear();
      writer = NOWHERE;
      owner = null;
    }
  }

  @Override
  public final void failed(int index, RuntimeException failure) {
    ErrorReplies.write(failure, writer);
  }

  /** A series of spends from a configured limit, decided together. */
  static final class LimitRun extends SpendRun {

    private static final int ID = 2;

    private final byte[] name;
    private final String text;

    LimitRun(String limit, byte[] name, SpendPipeline spends, Denials denials) {
      super(spends, denials);
      this.text = limit;
      this.name = name;
    }

    boolean isNamed(Request request, int index) {
      return request.is(index, name);
    }

    String limit() {
      return text;
    }

    /** Adds a command to the run; returns false if the caller must call the limiter instead. */
    boolean add(Replies replies, Request request, long cost) {
      try {
        return add(replies, request, ID, null, cost) >= 0;
      } catch (UnknownLimitException e) { // the limit was removed after the run was made
        return false;
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
      write(allowed, remaining, retryInNanos, resetInNanos, LimitCommands.STORE);
    }

    @Override
    public void degraded(
        int index,
        String rule,
        Quota quota,
        boolean allowed,
        long remaining,
        long retryInNanos,
        long resetInNanos) {
      write(allowed, remaining, retryInNanos, resetInNanos, rule);
    }

    private void write(
        boolean allowed, long remaining, long retryInNanos, long resetInNanos, String decidedBy) {
      writer().map(LimitCommands.FIELDS);
      LimitCommands.writeFields(
          allowed, remaining, retryInNanos, resetInNanos, decidedBy, writer());
    }
  }

  /** The {@link SpendRun}s of a thread: at most {@value #SLOTS}, each for one limit. */
  static final class LimitRuns {

    private static final int SLOTS = 64;

    private final Limiter limiter;
    private final Denials denials;
    private final @Nullable LimitRun[] slots = new @Nullable LimitRun[SLOTS];
    private boolean none; // no run is possible: the store cannot always answer at once

    LimitRuns(Limiter limiter, Denials denials) {
      this.limiter = limiter;
      this.denials = denials;
    }

    /** Returns the run of spends for a limit; null if no such run can decide the command. */
    @Nullable LimitRun find(Request request, int index) {
      if (none) {
        return null;
      }
      int slot = hash(request, index) & (SLOTS - 1);
      LimitRun run = slots[slot];
      if (run == null || !run.isNamed(request, index)) {
        run = make(request.copy(index));
        if (run != null) {
          slots[slot] = run;
        }
      }
      return run;
    }

    private @Nullable LimitRun make(byte[] name) {
      String text = new String(name, StandardCharsets.US_ASCII);
      Limits now = limiter.limits().get();
      LimitName known = now.catalogue().find(text);
      if (known == null || !now.isConfigured(known)) {
        return null;
      }
      SpendPipeline spends = spends(text);
      return spends == null ? null : new LimitRun(text, name, spends, denials);
    }

    private @Nullable SpendPipeline spends(String name) {
      try {
        DirectLimit limit = limiter.limit(name);
        SpendPipeline spends = limit.spends();
        none = spends == null;
        return spends;
      } catch (UnknownLimitException e) { // the new limits no longer contain the name
        return null;
      }
    }

    private static int hash(Request request, int index) {
      byte[] bytes = request.bytes();
      int start = request.start(index);
      int end = start + request.length(index);
      int hash = request.length(index);
      for (int i = start; i < end; i++) {
        hash = 31 * hash + bytes[i];
      }
      return hash;
    }
  }

  /** A series of throttle commands, decided together, whose quotas the client sends. */
  static final class ThrottleRun extends SpendRun {

    private static final int KEY = 1;

    private final Dialect[] dialects = new Dialect[SpendPipeline.CAPACITY];

    ThrottleRun(SpendPipeline spends, Denials denials) {
      super(spends, denials);
    }

    /**
     * Adds a command to this run of spends; returns false if the caller must call the limiter.
     *
     * @param cost the cost, in tokens, at most the quota's burst
     */
    boolean add(Replies replies, Request request, Dialect dialect, Quota quota, long cost) {
      int place = add(replies, request, KEY, quota, cost);
      if (place < 0) {
        return false;
      }
      dialects[place] = dialect;
      return true;
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
          allowed, quota.burst(), remaining, retryInNanos, resetInNanos, writer());
    }
  }
}
