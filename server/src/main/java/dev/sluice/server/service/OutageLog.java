// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.FailureRule;
import dev.sluice.LimiterObserver;
import dev.sluice.internal.async.Fleet;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.LimitName;
import dev.sluice.server.base.Periodic;
import dev.sluice.server.base.Plurals;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs outages of the store. At an outage's start this class logs the failure rule of each limit,
 * every minute the number of decisions by failure rules, and at the end a summary. Thread-safe.
 *
 * <p>An outage lasts while at least one server of the store is marked down.
 */
final class OutageLog implements BucketStore.Observer, LimiterObserver, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(OutageLog.class);

  private final BucketStore.Observer next;
  private final Storage storage;
  private final Fleet fleet;
  private final LongSupplier nanoTime;
  private final Map<DecidedBy, LongAdder> allowed = counters();
  private final Map<DecidedBy, LongAdder> denied = counters();
  private final LongAdder failed = new LongAdder();
  private final ScheduledExecutorService clock = Periodic.scheduler("sluice-outages");

  @GuardedBy("this")
  private final TreeSet<String> down = new TreeSet<>();

  @GuardedBy("this")
  private long sinceNanos;

  @GuardedBy("this")
  private @Nullable Future<?> everyMinute;

  private volatile boolean isOut;

  OutageLog(Storage storage, Fleet fleet, BucketStore.Observer next) {
    this(storage, fleet, next, System::nanoTime);
  }

  OutageLog(Storage storage, Fleet fleet, BucketStore.Observer next, LongSupplier nanoTime) {
    this.storage = storage;
    this.fleet = fleet;
    this.next = next;
    this.nanoTime = nanoTime;
  }

  private static Map<DecidedBy, LongAdder> counters() {
    Map<DecidedBy, LongAdder> counters = new EnumMap<>(DecidedBy.class);
    for (DecidedBy one : DecidedBy.values()) {
      counters.put(one, new LongAdder());
    }
    return counters;
  }

  /** Describes the general failure rule, and each failure rule of a single limit. */
  private String rules() {
    StringJoiner rules = new StringJoiner("; ");
    new TreeMap<>(storage.onFailureByLimit())
        .forEach((limit, rule) -> rules.add("%s: %s".formatted(limit, outcome(rule))));
    String others = storage.onFailureByLimit().isEmpty() ? "all limits" : "all other limits";
    return rules.add("%s: %s".formatted(others, outcome(storage.onFailure()))).toString();
  }

  String words(FailureRule rule) {
    int size = fleet.size();
    int seen = fleet.seen();
    String now = rule.during(size).toString();
    if (!rule.isAuto()) {
      return now;
    }
    return now
        + (size == 0
            ? " (this server has not yet counted the servers)"
            : " (%sservers seen: %s)".formatted(size > seen ? "--local-at-least; " : "", seen));
  }

  private String outcome(FailureRule rule) {
    FailureRule now = rule.during(fleet.size());
    return words(rule)
        + (now.equals(FailureRule.fail())
            ? ", requests get an error"
            : now.equals(FailureRule.allow())
                ? ", requests pass"
                : now.equals(FailureRule.deny())
                    ? ", requests are denied"
                    : " in the memory of this server");
  }

  @Override
  public void changed(String server, State state, String reason) {
    next.changed(server, state, reason);
    if (state == State.DOWN) {
      markedDown(server, reason);
    } else {
      markedUp(server);
    }
  }

  private synchronized void markedDown(String server, String reason) {
    boolean begins = down.isEmpty();
    if (!down.add(server)) {
      return;
    }
    if (!begins) {
      log.warn("the store {} is marked down too ({})", server, reason);
      return;
    }
    sinceNanos = nanoTime.getAsLong();
    failed.reset();
    allowed.values().forEach(LongAdder::reset);
    denied.values().forEach(LongAdder::reset);
    isOut = true;
    log.warn("the store {} is marked down ({}); until it answers: {}", server, reason, rules());
    if (!clock.isShutdown()) {
      Runnable report = Periodic.task(log, "reporting the outage of the store", this::minute);
      everyMinute = clock.scheduleAtFixedRate(report, 1, 1, TimeUnit.MINUTES);
    }
  }

  private synchronized void markedUp(String server) {
    if (!down.remove(server)) {
      return;
    }
    if (!down.isEmpty()) {
      log.warn(
          "the store {} answers again; still marked down: {}", server, String.join(", ", down));
      return;
    }
    isOut = false;
    if (everyMinute != null) {
      everyMinute.cancel(false);
    }
    log.warn("the store {} answers again after {}; {}", server, lasted(), counts());
  }

  /** Logs the number of decisions since the start of the outage. */
  synchronized void minute() {
    if (!down.isEmpty()) {
      log.warn("the store {} is down for {}; {}", String.join(", ", down), lasted(), counts());
    }
  }

  @GuardedBy("this")
  private String lasted() {
    long seconds = TimeUnit.NANOSECONDS.toSeconds(nanoTime.getAsLong() - sinceNanos);
    return GoDuration.shortened(Duration.ofSeconds(seconds));
  }

  private String counts() {
    StringJoiner counts = new StringJoiner(", ");
    for (DecidedBy rule : DecidedBy.values()) {
      long passed = allowed.getOrDefault(rule, failed).sum();
      long refused = denied.getOrDefault(rule, failed).sum();
      if (rule != DecidedBy.STORE && passed + refused > 0) {
        counts.add("%s: %s allowed and %s denied".formatted(rule.word(), passed, refused));
      }
    }
    return "spends decided by failure rules: %s; %s to the store failed"
        .formatted(
            counts.length() == 0 ? "none" : counts.toString(), Plurals.of(failed.sum(), "call"));
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    if (isOut && act == Act.SPEND && decision.degraded()) {
      (decision.allowed() ? allowed : denied)
          .getOrDefault(decision.decidedBy(), failed)
          .increment();
    }
  }

  /** Does nothing: only the memory store reports spends here, and this store has no outages. */
  @Override
  public void spent(LimitName limit, Spent spends, long elapsedNanos) {}

  @Override
  public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
    if (isOut && failure != null) {
      failed.increment();
    }
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
    next.called(server, result, batches, charges, elapsedNanos);
  }

  @Override
  public void refused(String server, Refusal why) {
    next.refused(server, why);
  }

  @Override
  public void deniedFromMemory() {
    next.deniedFromMemory();
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
