// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.wire.Mistakes.Mistake;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Repeats the acts of a trace and prints what is decided on each. Streams: what it holds at a time
 * is one line and the buckets. For one thread; blocks as the streams do.
 */
final class TraceReplay {

  static final String RESET = "{\"reset\":true}";

  private final WireReader reader = WireReader.ofTrace();
  private final Limiter limiter;
  private final ReplayTime time;
  private final Limits limits;
  private final Set<String> disabled = new HashSet<>(); // limits that were warned of
  private long latestNanos;

  TraceReplay(Limiter limiter, ReplayTime time, Limits limits) {
    this.limiter = limiter;
    this.time = time;
    this.limits = limits;
  }

  /** Replays all lines; those before a broken one have been printed when it is refused. */
  void run(Lines lines, String source, Console console) {
    try {
      while (lines.next(console::flush)) {
        if (!lines.isBlank()) {
          console.line(replay(lines, console));
        }
      }
    } catch (WireException e) {
      console.flush();
      throw new InputException(
          e.mistakes().stream()
              .map(mistake -> said(mistake, source, lines.number()))
              .collect(Collectors.joining("\n")));
    } catch (InputException e) {
      console.flush();
      throw new InputException(source + ": " + e.getMessage());
    } catch (IOException e) {
      console.flush();
      throw new InputException("%s: can't be read: %s".formatted(source, e.getMessage()));
    }
    console.flush();
  }

  private static String said(Mistake mistake, String source, long line) {
    return "%s:%s: %s".formatted(source, line, mistake);
  }

  private String replay(Lines lines, Console console) {
    WireRequest act = reader.read(lines.buffer(), lines.start(), lines.length());
    Act what = what(act);
    long at = at(act);
    List<Transaction> transactions =
        what == Act.RESET ? act.toResets(limits, limiter) : act.toTransactions(limits, limiter);
    time.set(at);
    warnOfDisabled(transactions, console);
    try {
      return switch (what) {
        case CHECK -> line(limiter.check(transactions));
        case SPEND -> line(limiter.spend(transactions));
        case REFUND -> line(limiter.refund(transactions));
        case RESET -> {
          limiter.reset(transactions);
          yield RESET;
        }
      };
    } catch (InvalidRequestException e) {
      throw WireException.of(e, "");
    }
  }

  /** Once for each limit. The answers keep their form, which has no word for it. */
  private void warnOfDisabled(List<Transaction> transactions, Console console) {
    for (Transaction transaction : transactions) {
      LimitName name = transaction.name();
      boolean isDisabled = transaction.coverage() == Coverage.DISABLED && !name.overridesOnly();
      if (isDisabled && disabled.add(name.name())) {
        console
            .err()
            .println(
                "warning: %s has no default, so it is disabled in this replay; write burst, count and period, or unlimited: true"
                    .formatted(name));
      }
    }
  }

  /** Returns when the act was recorded; 0 where that is a mistake, which the look-up throws. */
  private long at(WireRequest act) {
    Long at = act.at();
    if (at == null || at < 0) {
      act.add(
          "at",
          "%s, expected nanoseconds since the epoch, not negative"
              .formatted(at == null ? "the time is missing" : "found " + at));
      return 0;
    }
    long stepNanos = latestNanos - at;
    if (stepNanos > Stores.REPLAY_STEPS_BACK.toNanos()) {
      act.add(
          "at",
          "found %s before the latest act so far, expected at most %s: buckets that were full then are forgotten; sort the trace by \"at\""
              .formatted(Duration.ofNanos(stepNanos), Stores.REPLAY_STEPS_BACK));
    }
    latestNanos = Math.max(latestNanos, at);
    return at;
  }

  private static Act what(WireRequest act) {
    Act what = act.act();
    if (act.isBatch() && what.name().toLowerCase(Locale.ROOT).equals(act.op())) {
      act.add(
          "transactions", "found a batch with the op " + act.op() + ", expected the op batchSpend");
    }
    return what;
  }

  static String line(Decision decision) {
    return "{\"allowed\":"
        + decision.allowed()
        + ",\"remaining\":"
        + decision.remaining()
        + ",\"retryInNanos\":"
        + decision.retryInNanos()
        + ",\"resetInNanos\":"
        + decision.resetInNanos()
        + "}";
  }
}
