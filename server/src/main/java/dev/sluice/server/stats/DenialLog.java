// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.JsonLines.LogKind;
import dev.sluice.server.base.Periodic;
import dev.sluice.server.stats.Denials.Denial;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log of denials as JSON lines, at most {@link #MOST_A_SECOND} lines a second for each limit. One
 * more line for each second reports how many denials the log left out. Thread-safe; never blocks.
 */
public final class DenialLog implements AutoCloseable {

  public static final LogKind KIND =
      new LogKind("denial log", "sluice.denial.log", "sluice-denials");

  /** The most log lines for one limit in a second. */
  static final int MOST_A_SECOND = 10;

  private static final Logger log = LoggerFactory.getLogger(DenialLog.class);

  private final JsonLines lines;
  private final UnaryOperator<String> ids;
  private final LongSupplier nanoTime;
  private final Map<Source, Pace> paces = new ConcurrentHashMap<>();
  private final ScheduledExecutorService clock = Periodic.scheduler("sluice-denials-left-out");

  DenialLog(JsonLines lines, UnaryOperator<String> ids, LongSupplier nanoTime) {
    this.lines = lines;
    this.ids = ids;
    this.nanoTime = nanoTime;
  }

  /** Starts a denial log, which writes to {@code lines} and closes {@code lines} at its end. */
  public static DenialLog start(JsonLines lines, UnaryOperator<String> ids) {
    DenialLog started = new DenialLog(lines, ids, System::nanoTime);
    Runnable report = Periodic.task(log, "reporting the denials that were left out", started::tick);
    var unused = started.clock.scheduleAtFixedRate(report, 1, 1, TimeUnit.SECONDS);
    return started;
  }

  /** The limit that denied the request; if no limit denied it, the rule that matched, if any. */
  private record Source(@Nullable String limit, @Nullable String rule) {

    static Source of(Denial denial) {
      String limit = denial.limit();
      return new Source(limit, limit == null ? denial.asked().rule() : null);
    }
  }

  void add(Denial denial) {
    Pace pace = paces.computeIfAbsent(Source.of(denial), source -> new Pace());
    if (pace.passes(nanoTime.getAsLong())) {
      String id = denial.id();
      lines.add(json -> denial.write(id == null ? null : shown(id), json));
    }
  }

  String shown(String id) {
    return ids.apply(id);
  }

  /** Logs how many denials were left out of the log, for each second that has ended. */
  void tick() {
    long now = nanoTime.getAsLong();
    paces.forEach((source, pace) -> leftOut(source, pace.takeLeftOut(now, false)));
  }

  private void leftOut(Source source, long count) {
    if (count > 0) {
      lines.add(
          json ->
              json.put("at", Instant.now())
                  .put("rule", source.rule() == null ? null : JsonLines.shown(source.rule()))
                  .put("limit", source.limit())
                  .put("leftOut", count));
    }
  }

  /** Logs how many denials were left out, and writes the queued lines, for up to ten seconds. */
  @Override
  public void close() {
    clock.shutdownNow();
    long now = nanoTime.getAsLong();
    paces.forEach((source, pace) -> leftOut(source, pace.takeLeftOut(now, true)));
    lines.close();
  }

  /** The number of lines of one limit in the current second. */
  private static final class Pace {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    @GuardedBy("this")
    private long startNanos;

    @GuardedBy("this")
    private int passed;

    @GuardedBy("this")
    private long leftOut;

    synchronized boolean passes(long nowNanos) {
      if (passed == 0 || nowNanos - startNanos >= SECOND) {
        startNanos = nowNanos;
        passed = 0;
      }
      if (passed < MOST_A_SECOND) {
        passed++;
        return true;
      }
      leftOut++;
      return false;
    }

    /** Returns how many denials the log left out in a second; 0 until this second has ended. */
    synchronized long takeLeftOut(long nowNanos, boolean always) {
      if (!always && nowNanos - startNanos < SECOND) {
        return 0;
      }
      long taken = leftOut;
      leftOut = 0;
      return taken;
    }
  }
}
