// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The processes that share a store, counted for {@code FailureRule.localAuto}. Each of them
 * announces itself in the store every 10 s, for 30 s.
 *
 * <pre>{@code
 * Fleet fleet = new Fleet(1);
 * fleet.enter(store.presence().orElseThrow(), "web-1:8080");
 * scheduler.scheduleWithFixedDelay(fleet::look, 0, 1, TimeUnit.SECONDS);
 * Limiter limiter =
 *     Limiter.builder(limits, store)
 *         .onFailure(FailureRule.localAuto())
 *         .processes(fleet::size)
 *         .build();
 * }</pre>
 *
 * <p>The number of processes is the largest one seen in the ten minutes before the last successful
 * look. It does not change while the store is away, however long that takes. Nor does it fall in
 * the 30 s after an outage, until the other processes have announced themselves again. For the same
 * reason, a new process knows the number only after its second look.
 *
 * <p>Thread-safe; only {@link #look} and {@link #close} block, for a round trip.
 */
public final class Fleet implements AutoCloseable {

  private static final Logger LOG = System.getLogger(Fleet.class.getName());
  private static final Duration LASTS = Duration.ofSeconds(30);
  private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(10);

  private final int atLeast;
  private final LongSupplier nanoTime;
  // Guarded by this; omits old looks that found fewer processes.
  private final Deque<Look> looks = new ArrayDeque<>();
  private final String id = HexFormat.of().toHexDigits(new SecureRandom().nextLong());
  private @Nullable Presence presence; // guarded by this
  private String self = ""; // guarded by this
  private boolean refused; // guarded by this
  private long outageEndNanos; // guarded by this; the first look after the latest gap
  private volatile int most; // 0 before the second look
  private volatile Look last; // without names before the first look

  /** The processes seen by a look. */
  private record Look(long atNanos, List<String> names) {}

  /**
   * Makes a fleet whose processes are not counted yet.
   *
   * @param atLeast the smallest number to divide by, once the processes have been counted
   */
  public Fleet(int atLeast) {
    this(atLeast, System::nanoTime);
  }

  Fleet(int atLeast, LongSupplier nanoTime) {
    this.atLeast = atLeast;
    this.nanoTime = nanoTime;
    this.last = new Look(nanoTime.getAsLong(), List.of());
  }

  /**
   * Sets the list on which {@link #look} announces this process.
   *
   * @param list that of the store
   * @param name of this process, such as host and port, without line breaks; a new process with the
   *     same name counts as another one
   */
  public synchronized void enter(Presence list, String name) {
    presence = list;
    self = name + " " + id;
  }

  /**
   * Announces this process and counts all of them, if the last successful look is 10 s ago. Call
   * this every second. If the store does not answer, this is logged once, and nothing is thrown.
   */
  public synchronized void look() {
    Presence list = presence;
    if (list == null
        || (!last.names().isEmpty() && nanoTime.getAsLong() - last.atNanos() < EVERY_NANOS)) {
      return;
    }
    List<String> names;
    try {
      names = list.announce(self, LASTS);
    } catch (StoreException e) { // the store reports its outages itself
      if (!refused) {
        refused = true;
        LOG.log(
            Level.WARNING,
            "this process cannot announce itself to the others: {0}; retrying",
            e.getMessage());
      }
      return;
    }
    refused = false;
    Look look = new Look(nanoTime.getAsLong(), names.stream().map(Fleet::shown).sorted().toList());
    boolean isFirst = last.names().isEmpty();
    if (isFirst || look.atNanos() - last.atNanos() > LASTS.toNanos()) {
      outageEndNanos = look.atNanos();
    }
    boolean mayForget = look.atNanos() - outageEndNanos >= LASTS.toNanos();
    while (!looks.isEmpty() && looks.peekLast().names().size() <= names.size()) {
      looks.removeLast();
    }
    looks.addLast(look);
    while (mayForget && look.atNanos() - looks.element().atNanos() > WINDOW_NANOS) {
      looks.removeFirst();
    }
    last = look;
    most = isFirst ? 0 : looks.element().names().size();
  }

  private static String shown(String name) {
    int space = name.lastIndexOf(' ');
    return space < 0 ? name : name.substring(0, space);
  }

  /**
   * Returns the number of processes that share the store, for {@link Limiter.Builder#processes}.
   *
   * @return 0 until they have been counted
   */
  public int size() {
    int seen = most;
    return seen == 0 ? 0 : Math.max(seen, atLeast);
  }

  /**
   * Returns the time since the last successful look; before the first one, since the start.
   *
   * @return in seconds
   */
  public double ageSeconds() {
    return (nanoTime.getAsLong() - last.atNanos()) / 1e9;
  }

  /**
   * Returns the names of the processes seen by the last look.
   *
   * @return sorted; empty if that look is too old
   */
  public List<String> names() {
    Look look = last;
    return nanoTime.getAsLong() - look.atNanos() > LASTS.toNanos() ? List.of() : look.names();
  }

  /**
   * Takes this process off the list unless the store is away. Waits for a look in progress, after
   * which the list would have the name again; later looks do nothing.
   */
  @Override
  public synchronized void close() {
    Presence list = presence;
    presence = null;
    if (list != null && !names().isEmpty() && !refused) {
      try {
        var unused = list.announce(self, Duration.ZERO);
      } catch (StoreException e) {
        LOG.log(Level.DEBUG, "this process stays on the list for " + LASTS, e);
      }
    }
  }
}
