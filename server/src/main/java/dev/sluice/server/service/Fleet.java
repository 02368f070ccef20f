// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.FailureRule;
import dev.sluice.server.base.Periodic;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The servers that share a store. Each of them announces itself in the store every 10 s, for 30 s.
 * Thread-safe; only {@link #look} and {@link #close} block, for a round trip.
 *
 * <p>The number of servers is the largest one seen in the ten minutes before the last successful
 * look. It does not change while the store is away, however long that takes. Nor does it fall in
 * the 30 s after an outage, until the other servers have announced themselves again. For the same
 * reason, a new server knows the number only after its second look.
 */
final class Fleet implements AutoCloseable {

  static final Duration LASTS = Duration.ofSeconds(30);
  private static final long EVERY_SECONDS = 10;
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final Logger log = LoggerFactory.getLogger(Fleet.class);

  private final int atLeast;
  private final LongSupplier nanoTime;
  // Guarded by this; omits old looks that found fewer servers.
  private final Deque<Look> looks = new ArrayDeque<>();
  private final String id = HexFormat.of().toHexDigits(new SecureRandom().nextLong());
  private final ScheduledExecutorService clock = Periodic.scheduler("sluice-fleet");
  private @Nullable Presence presence; // guarded by this
  private String self = ""; // guarded by this
  private boolean refused; // guarded by this
  private long outageEndNanos; // guarded by this; the first look after the latest gap
  private volatile int most; // 0 before the second look
  private volatile Look last; // without servers before the first look

  /** The servers seen by a look. */
  private record Look(long atNanos, List<String> servers) {}

  /**
   * Makes a fleet whose servers are unknown. It assumes at least this number once the store has
   * answered.
   */
  Fleet(int atLeast) {
    this(atLeast, System::nanoTime);
  }

  Fleet(int atLeast, LongSupplier nanoTime) {
    this.atLeast = atLeast;
    this.nanoTime = nanoTime;
    this.last = new Look(nanoTime.getAsLong(), List.of());
  }

  /** Begins to announce this server, by host and port. */
  void start(Presence list, String name) {
    enter(list, name);
    Runnable look = Periodic.task(log, "announcing this server in the store", this::lookIfDue);
    var unused = clock.scheduleWithFixedDelay(look, 0, 1, TimeUnit.SECONDS);
  }

  /** Looks again 10 s after the last successful look; until a look succeeds, every second. */
  private void lookIfDue() {
    if (last.servers().isEmpty() || ageSeconds() >= EVERY_SECONDS) {
      look();
    }
  }

  synchronized void enter(Presence list, String name) {
    presence = list;
    self = name + " " + id; // a new process with the same name counts as another server
  }

  /** Announces this server and counts all of them. */
  synchronized void look() {
    if (presence == null) {
      return;
    }
    List<String> names;
    try {
      names = presence.announce(self, LASTS);
    } catch (StoreException e) { // the store reports its outages itself
      if (!refused) {
        refused = true;
        log.warn("this server cannot announce itself to the others: {}; retrying", e.getMessage());
      }
      return;
    }
    refused = false;
    Look look = new Look(nanoTime.getAsLong(), names.stream().map(Fleet::shown).sorted().toList());
    boolean isFirst = last.servers().isEmpty();
    if (isFirst || look.atNanos() - last.atNanos() > LASTS.toNanos()) {
      outageEndNanos = look.atNanos();
    }
    boolean mayForget = look.atNanos() - outageEndNanos >= LASTS.toNanos();
    while (!looks.isEmpty() && looks.peekLast().servers().size() <= names.size()) {
      looks.removeLast();
    }
    looks.addLast(look);
    while (mayForget && look.atNanos() - looks.element().atNanos() > WINDOW_NANOS) {
      looks.removeFirst();
    }
    last = look;
    most = isFirst ? 0 : looks.element().servers().size();
  }

  private static String shown(String name) {
    int space = name.lastIndexOf(' ');
    return space < 0 ? name : name.substring(0, space);
  }

  /** Returns the number of servers that share the store; 0 until they have been counted. */
  int size() {
    int seen = most;
    return seen == 0 ? 0 : Math.max(seen, atLeast);
  }

  /** Returns how long ago the last successful look was; before the first one, the start. */
  double ageSeconds() {
    return (nanoTime.getAsLong() - last.atNanos()) / 1e9;
  }

  /** Returns the servers seen by the last look, sorted; empty if that look is too old. */
  List<String> servers() {
    Look look = last;
    return nanoTime.getAsLong() - look.atNanos() > LASTS.toNanos() ? List.of() : look.servers();
  }

  /** Describes what a failure rule does now. */
  String words(FailureRule rule) {
    int size = size();
    return rule.during(size)
        + (!rule.isAuto()
            ? ""
            : size == 0
                ? " (this server has not yet counted the servers)"
                : most < size
                    ? " (--local-at-least; servers seen: %s)".formatted(most)
                    : " (servers seen: %s)".formatted(size));
  }

  /** Stops, and takes this server off the list unless the store is away. */
  @Override
  public void close() {
    clock.shutdown(); // an interrupted look would leave the name on the list
    synchronized (this) {
      if (presence != null && !servers().isEmpty() && !refused) {
        try {
          var unused = presence.announce(self, Duration.ZERO);
        } catch (StoreException e) {
          log.debug("this server stays on the list of servers for {}", LASTS, e);
        }
      }
      presence = null;
    }
  }
}
