// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.access.Permission.DECIDE;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.SpendPipeline;
import dev.sluice.internal.direct.SpendPipeline.DirectLimit;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.resp.ErrorReplies.UnknownCommand;
import dev.sluice.server.resp.Request.Decimals;
import dev.sluice.server.resp.RespConnection.Session;
import dev.sluice.server.resp.SpendRun.ThrottleRun;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.DeniedRequest;
import io.netty.util.concurrent.FastThreadLocal;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * Consecutive commands that arrive in one read form a run. The server decides all commands of a run
 * together, reads the clock once, and makes no object for each command
 * (dev.sluice.internal.direct.SpendPipeline). In four cases the server calls the limiter for each
 * command instead, with the same decisions: the key is not plain ASCII, the quantity exceeds the
 * burst, the store is on a network, or an earlier command waits for a store. SLUICE.SPEND forms
 * runs too, one run for each limit (LimitRuns).
 */

/**
 * {@code CL.THROTTLE} as in redis-cell, and {@code THROTTLE} as in throttlecrab: the client sends
 * the quota with each request. Both commands use the same buckets, one for each key.
 *
 * <p>Thread-safe. Sluice does not copy the bugs of redis-cell and throttlecrab; docs/doors/redis.md
 * lists the differences.
 */
final class ThrottleCommands {

  /** The limit of all throttle keys; its number is part of bucket keys and must never change. */
  static final LimitName LIMIT =
      LimitName.builder(2_000_000_001, "cl.throttle").id(IdFormat.bytes()).jitter(0).build();

  // A placeholder for the limit's quota, since each command sends its own quota.
  private static final Quota SOME = Quota.per(1, Duration.ofSeconds(1));
  private static final int MOST_QUOTAS = 256;
  private static final long MOST_SECONDS = TimeUnit.NANOSECONDS.toSeconds(Long.MAX_VALUE);

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final Denials denials;
  private final CachedQuota[] quotas = new CachedQuota[MOST_QUOTAS];
  private final FastThreadLocal<Runs> runs =
      new FastThreadLocal<>() {
        @Override
        protected Runs initialValue() {
          return new Runs();
        }
      };

  ThrottleCommands(Limiter limiter, Denials denials) {
    this.limiter = limiter;
    this.async = limiter.async();
    this.denials = denials;
  }

  /** A quota and the numbers that define it, immutable, since threads share it without a lock. */
  private record CachedQuota(long burst, long count, long periodSeconds, Quota quota) {}

  /** The run of spends that all connections of a thread share. */
  private final class Runs {
    final SentQuota sent = new SentQuota();
    private @Nullable ThrottleRun run; // made when it is first needed
    private boolean known;

    /**
     * Returns the thread's run of spends; null if the store can need a network to decide spends.
     */
    @Nullable ThrottleRun run() {
      if (!known) {
        DirectLimit limit = limiter.limit(LIMIT, SOME);
        SpendPipeline spends = limit.spends();
        run = spends == null ? null : new ThrottleRun(spends, denials);
        known = true;
      }
      return run;
    }
  }

  List<Command> all() {
    return List.of(
        Command.gathering(
            "CL.THROTTLE key max_burst count period [quantity]",
            DECIDE,
            "Spends as redis-cell does; the period is in seconds",
            (request, session) -> call(request, session, Dialect.REDIS_CELL)),
        Command.gathering(
            "THROTTLE key max_burst count period [quantity]",
            DECIDE,
            "Spends as throttlecrab does; the period is in seconds",
            (request, session) -> call(request, session, Dialect.THROTTLECRAB)));
  }

  private void call(Request request, Session session, Dialect dialect) {
    session.caller().requireLimit(LIMIT.name());
    Replies replies = session.replies();
    Runs ofThread = runs.get();
    long quantity = request.count() == 6 ? number(request, 5) : 1;
    try {
      Quota quota = ofThread.sent.of(request, dialect);
      if (quota == null || quantity < 0 || request.length(1) == 0) {
        quota = checked(request, dialect, quantity);
        ofThread.sent.set(request, dialect, quota);
      }
      boolean fits = quantity <= quota.burst();
      // The replies must stay in order, so no run of spends can begin while an earlier reply waits.
      ThrottleRun run = fits && replies.waiting() == 0 ? ofThread.run() : null;
      if (run == null || !run.add(replies, request, dialect, quota, quantity)) {
        spend(replies, request, dialect, quota, quantity);
      }
    } catch (InvalidIdException e) {
      replies.error(
          "ERR",
          "key: found %s bytes, expected at most %s; a byte that is not printable ASCII, and %%, counts as 3"
              .formatted(request.length(1), IdFormat.MAX_LENGTH));
    } catch (IllegalArgumentException e) { // includes other InvalidRequestExceptions
      replies.error("ERR", String.valueOf(e.getMessage()));
    }
  }

  private Quota checked(Request request, Dialect dialect, long quantity) {
    long maxBurst = number(request, 2);
    long count = number(request, 3);
    long period = number(request, 4);
    int least = 1 - dialect.beyondMaxBurst();
    if (maxBurst < least || count < 1 || period < 1 || quantity < 0) {
      throw new IllegalArgumentException(wrong(request, least, maxBurst, count, period));
    }
    if (request.length(1) == 0) {
      throw new IllegalArgumentException("key: the id is empty, expected at least one byte");
    }
    return quota(maxBurst, count, period, dialect);
  }

  /** Spends; a quantity above the burst is denied, and only reads the bucket. */
  private void spend(
      Replies replies, Request request, Dialect dialect, Quota quota, long quantity) {
    replies.settle();
    boolean fits = quantity <= quota.burst();
    Transaction bucket = Transaction.of(LIMIT, quota, IdFormat.ofBytes(request.copy(1)));
    replies.later(
        fits
            ? async.spend(bucket.withCost(quantity))
            : LimiterCalls.unread(async.check(bucket.withCost(0).checkOnly())),
        (decision, writer) -> {
          if (fits) {
            denials.report(decision, () -> DeniedRequest.at(LimitCommands.DOOR));
          } else {
            denials.reportNeverFits(bucket, quantity, DeniedRequest.at(LimitCommands.DOOR));
          }
          dialect.write(decision, quota, fits, writer);
        });
  }

  /** Returns a numeric argument; a number below every range if the argument is no 64-bit number. */
  private static long number(Request request, int index) {
    return Decimals.readOr(
        Long.MIN_VALUE, request.bytes(), request.start(index), request.length(index));
  }

  /** Returns the error message for the first argument that is out of range. */
  private static String wrong(
      Request request, int leastMaxBurst, long maxBurst, long count, long period) {
    if (maxBurst < leastMaxBurst) {
      return expected("max_burst", request, 2, "%s or more".formatted(leastMaxBurst));
    }
    if (count < 1) {
      return expected("count", request, 3, "1 or more");
    }
    if (period < 1) {
      return expected("period", request, 4, "1 or more seconds");
    }
    return expected("quantity", request, 5, "0 or more");
  }

  private static String expected(String argument, Request request, int index, String range) {
    return "%s: found %s, expected a whole number of 64 bits, %s"
        .formatted(argument, UnknownCommand.shown(request, index), range);
  }

  /** Returns a quota, cached because callers send the same few quotas repeatedly. */
  private Quota quota(long maxBurst, long count, long periodSeconds, Dialect dialect) {
    long burst = maxBurst + dialect.beyondMaxBurst();
    long mixed = (burst * 31 + count) * 31 + periodSeconds;
    int slot = (int) ((mixed * 0x9E3779B97F4A7C15L) >>> 56);
    CachedQuota cached = quotas[slot];
    if (cached == null
        || cached.burst != burst
        || cached.count != count
        || cached.periodSeconds != periodSeconds) {
      requireNoOverflow(maxBurst, count, periodSeconds, dialect);
      Quota quota = Quota.burst(burst).refill(count, Duration.ofSeconds(periodSeconds));
      cached = new CachedQuota(burst, count, periodSeconds, quota);
      quotas[slot] = cached;
    }
    return cached.quota;
  }

  /** Refuses a quota that would overflow; the message uses the names of the client's arguments. */
  private static void requireNoOverflow(
      long maxBurst, long count, long periodSeconds, Dialect dialect) {
    if (periodSeconds > MOST_SECONDS) {
      throw new IllegalArgumentException(
          "period: found %s, expected at most %s seconds (about 292 years)"
              .formatted(periodSeconds, MOST_SECONDS));
    }
    long intervalNanos = TimeUnit.SECONDS.toNanos(periodSeconds) / count;
    if (intervalNanos == 0) {
      throw new IllegalArgumentException(
          "count: found %s in %s s, expected at most one token a nanosecond"
              .formatted(count, periodSeconds));
    }
    long most = Long.MAX_VALUE / intervalNanos - dialect.beyondMaxBurst();
    if (maxBurst > most) {
      throw new IllegalArgumentException(
          "max_burst: found %s, expected at most %s: a bucket fills within about 292 years"
              .formatted(maxBurst, most));
    }
  }

  /**
   * The last quota that a client sent, with the bytes of the arguments max_burst, count and period.
   * Clients send the same quota repeatedly, and comparing bytes is faster than parsing three
   * numbers. Only one thread may use a {@code SentQuota}.
   */
  static final class SentQuota {

    private static final int FIRST = 2;
    private static final int LAST = 4;
    private static final int MOST_BYTES = 64;

    private final byte[] bytes = new byte[MOST_BYTES]; // from the first argument to the last
    private int length;
    private final int[] starts = new int[LAST - FIRST + 1]; // where each argument begins in `bytes`
    private final int[] lengths = new int[LAST - FIRST + 1];
    private @Nullable Dialect dialect;
    private @Nullable Quota quota;

    /** Returns the last quota if the request repeats the quota's arguments; otherwise null. */
    @Nullable Quota of(Request request, Dialect spoken) {
      int from = request.start(FIRST);
      int to = request.start(LAST) + request.length(LAST);
      return spoken == dialect
              && Arrays.equals(request.bytes(), from, to, bytes, 0, length)
              && isDividedAlike(request, from)
          ? quota
          : null;
    }

    private boolean isDividedAlike(Request request, int from) {
      boolean alike = true;
      for (int i = 0; i < starts.length; i++) {
        alike &= request.start(FIRST + i) - from == starts[i];
        alike &= request.length(FIRST + i) == lengths[i];
      }
      return alike;
    }

    /** Stores the last quota, unless its arguments have more than {@value #MOST_BYTES} bytes. */
    void set(Request request, Dialect spoken, Quota sent) {
      int from = request.start(FIRST);
      int size = request.start(LAST) + request.length(LAST) - from;
      if (size > MOST_BYTES) {
        return;
      }
      System.arraycopy(request.bytes(), from, bytes, 0, size);
      length = size;
      for (int i = 0; i < starts.length; i++) {
        starts[i] = request.start(FIRST + i) - from;
        lengths[i] = request.length(FIRST + i);
      }
      dialect = spoken;
      quota = sent;
    }
  }

  /** The differences between the commands {@code CL.THROTTLE} and {@code THROTTLE}. */
  enum Dialect {

    /**
     * Replies 0 or 1 (denied), limit, remaining, seconds to wait (-1: none or for ever), seconds to
     * full.
     */
    REDIS_CELL(1, 0) {
      @Override
      void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer) {
        writer.number(passes ? -1 : retryIn);
        writer.number(resetIn);
      }
    },

    /** Replies 1 or 0 (denied), limit, remaining, seconds to full, seconds to wait (-1: never). */
    THROTTLECRAB(0, 1) {
      @Override
      void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer) {
        writer.number(resetIn);
        writer.number(passes ? 0 : retryIn);
      }
    };

    /** The wait in the reply if the quantity exceeds the burst: retrying never helps. */
    static final long FOR_EVER = -1;

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private final int beyondMaxBurst;
    private final int passing;

    /** Makes a dialect; the reply to an allowed request begins with the number {@code passing}. */
    Dialect(int beyondMaxBurst, int passing) {
      this.beyondMaxBurst = beyondMaxBurst;
      this.passing = passing;
    }

    /** Returns the burst minus the client's max_burst. */
    int beyondMaxBurst() {
      return beyondMaxBurst;
    }

    /** Writes the last two numbers of the reply: the wait and the time until full, in seconds. */
    abstract void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer);

    /** Writes a decision. The wait is {@link #FOR_EVER} for a quantity that exceeds the burst. */
    void write(
        boolean passes,
        long burst,
        long remaining,
        long retryInNanos,
        long resetInNanos,
        ReplyWriter writer) {
      writer.array(5);
      writer.number(passes ? passing : 1 - passing);
      writer.number(burst);
      writer.number(remaining);
      long retryIn = retryInNanos == FOR_EVER ? FOR_EVER : seconds(retryInNanos);
      writeTimes(passes, retryIn, seconds(resetInNanos), writer);
    }

    /** Writes a decision. */
    void write(Decision decision, Quota quota, boolean fits, ReplyWriter writer) {
      write(
          decision.allowed() && fits,
          quota.burst(),
          decision.remaining(),
          fits ? decision.retryInNanos() : FOR_EVER,
          decision.resetInNanos(),
          writer);
    }

    /** Returns whole seconds, rounded up so that the client does not retry too early. */
    private static long seconds(long nanos) {
      return nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    }
  }
}
