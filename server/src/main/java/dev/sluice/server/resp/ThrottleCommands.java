// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * {@code CL.THROTTLE} as redis-cell has it, and {@code THROTTLE} as throttlecrab has it: the caller
 * sends the quota with each request. Both work on the same buckets, one for each key.
 *
 * <p>Thread-safe. Where the two are wrong, Sluice differs on purpose: docs/doors/redis.md lists it.
 */
final class ThrottleCommands {

  /** The limit of all keys; its number stands in bucket keys and must never change. */
  static final LimitName LIMIT =
      LimitName.builder(2_000_000_001, "cl.throttle").id(IdFormat.bytes()).jitter(0).build();

  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final int MOST_QUOTAS = 256;

  private final AsyncLimiter limiter;
  private final CachedQuota[] quotas = new CachedQuota[MOST_QUOTAS];

  ThrottleCommands(AsyncLimiter limiter) {
    this.limiter = limiter;
  }

  /** A quota and the numbers that it was made of. Immutable: threads may race to replace one. */
  private record CachedQuota(long burst, long count, long periodSeconds, Quota quota) {}

  List<Command> all() {
    return List.of(
        Command.of(
            "CL.THROTTLE key max_burst count period [quantity]",
            "Spends as redis-cell does; the period is in seconds",
            (request, session) -> call(request, session, Dialect.REDIS_CELL)),
        Command.of(
            "THROTTLE key max_burst count period [quantity]",
            "Spends as throttlecrab does; the period is in seconds",
            (request, session) -> call(request, session, Dialect.THROTTLECRAB)));
  }

  /**
   * In what the two commands differ.
   *
   * @param beyondMaxBurst what the limit has more than max_burst
   * @param reply writes a decision
   * @param neverFits writes a decision on nothing, for a quantity over the limit
   */
  private record Dialect(
      int beyondMaxBurst,
      BiConsumer<Decision, ReplyWriter> reply,
      BiConsumer<Decision, ReplyWriter> neverFits) {

    static final Dialect REDIS_CELL = of(1, ThrottleCommands::writeAsRedisCell);
    static final Dialect THROTTLECRAB = of(0, ThrottleCommands::writeAsThrottlecrab);

    private static Dialect of(int beyondMaxBurst, Writer writer) {
      return new Dialect(
          beyondMaxBurst,
          (decision, out) -> writer.write(decision, true, out),
          (decision, out) -> writer.write(decision, false, out));
    }
  }

  private interface Writer {
    void write(Decision decision, boolean fits, ReplyWriter writer);
  }

  private void call(Request request, Session session, Dialect dialect) {
    session.caller().requireLimit(LIMIT.name());
    OptionalLong maxBurst = number(request, 2);
    OptionalLong count = number(request, 3);
    OptionalLong period = number(request, 4);
    OptionalLong quantity = request.count() == 6 ? number(request, 5) : OptionalLong.of(1);
    String wrong = wrong(request, dialect, maxBurst, count, period, quantity);
    if (wrong != null) {
      session.replies().error("ERR", wrong);
      return;
    }
    long burst = maxBurst.getAsLong() + dialect.beyondMaxBurst;
    Transaction transaction;
    try {
      Quota quota = quota(burst, count.getAsLong(), period.getAsLong());
      transaction = Transaction.of(LIMIT, quota, IdFormat.ofBytes(request.copy(1)));
    } catch (IllegalArgumentException e) {
      session.replies().error("ERR", String.valueOf(e.getMessage()));
      return;
    }
    boolean fits = quantity.getAsLong() <= burst;
    session
        .replies()
        .later(
            limiter.spend(List.of(transaction.withCost(fits ? quantity.getAsLong() : 0))),
            fits ? dialect.reply : dialect.neverFits);
  }

  private static OptionalLong number(Request request, int index) {
    return Decimals.read(request.bytes(), request.start(index), request.length(index));
  }

  /** The first argument that is out of its range, and what that is; null if there is none. */
  private static @Nullable String wrong(
      Request request,
      Dialect dialect,
      OptionalLong maxBurst,
      OptionalLong count,
      OptionalLong period,
      OptionalLong quantity) {
    if (maxBurst.isEmpty()
        || maxBurst.getAsLong() < 1 - dialect.beyondMaxBurst
        || maxBurst.getAsLong() == Long.MAX_VALUE) {
      return expected("max_burst", request, 2, "%s or more".formatted(1 - dialect.beyondMaxBurst));
    }
    if (count.isEmpty() || count.getAsLong() < 1) {
      return expected("count", request, 3, "1 or more");
    }
    if (period.isEmpty() || period.getAsLong() < 1) {
      return expected("period", request, 4, "1 or more seconds");
    }
    if (quantity.isEmpty() || quantity.getAsLong() < 0) {
      return expected("quantity", request, 5, "0 or more");
    }
    return null;
  }

  private static String expected(String argument, Request request, int index, String range) {
    return "%s: found %s, expected a whole number of 64 bits, %s"
        .formatted(argument, UnknownCommand.shown(request, index), range);
  }

  /** Callers send the same few quotas repeatedly. */
  private Quota quota(long burst, long count, long periodSeconds) {
    long mixed = (burst * 31 + count) * 31 + periodSeconds;
    int slot = (int) ((mixed * 0x9E3779B97F4A7C15L) >>> 56);
    CachedQuota cached = quotas[slot];
    if (cached == null
        || cached.burst != burst
        || cached.count != count
        || cached.periodSeconds != periodSeconds) {
      Quota quota = Quota.of(burst, count, Duration.ofSeconds(periodSeconds));
      cached = new CachedQuota(burst, count, periodSeconds, quota);
      quotas[slot] = cached;
    }
    return cached.quota;
  }

  /** Limited, limit, remaining, seconds to wait (-1 for none, and for ever), seconds until full. */
  private static void writeAsRedisCell(Decision decision, boolean fits, ReplyWriter writer) {
    boolean allowed = fits && decision.allowed();
    writer.array(5);
    writer.number(allowed ? 0 : 1);
    writer.number(burst(decision));
    writer.number(decision.remaining());
    writer.number(allowed || !fits ? -1 : seconds(decision.retryInNanos()));
    writer.number(seconds(decision.resetInNanos()));
  }

  /** Allowed, limit, remaining, seconds until full, seconds to wait (0 for none, -1 for ever). */
  private static void writeAsThrottlecrab(Decision decision, boolean fits, ReplyWriter writer) {
    boolean allowed = fits && decision.allowed();
    writer.array(5);
    writer.number(allowed ? 1 : 0);
    writer.number(burst(decision));
    writer.number(decision.remaining());
    writer.number(seconds(decision.resetInNanos()));
    writer.number(allowed ? 0 : fits ? seconds(decision.retryInNanos()) : -1);
  }

  private static long burst(Decision decision) {
    Transaction transaction = decision.transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    return quota == null ? Long.MAX_VALUE : quota.burst();
  }

  /** Whole seconds, rounded up: a client that waits so long does not come too early. */
  private static long seconds(long nanos) {
    return nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
  }
}
