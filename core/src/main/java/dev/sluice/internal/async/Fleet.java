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
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

// look() holds the lock while it waits for the store, so close() waits at most a second for the
// lock. If close() does not get the lock in time, look() removes this process from the list.
/**
 * Counts the processes that share a store, for {@code FailureRule.localAuto}. Each process adds its
 * name to a list in the store every 10 s; the name stays on the list for 30 s.
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
 * <p>The number of processes is the largest number that {@link #look} found in the ten minutes
 * before its last success. While the store is unreachable, the known number of processes does not
 * change. In the 30 s after an outage of the store, the known number of processes does not fall,
 * since other processes may not be on the list again yet. A new process knows the number of
 * processes only after the second success of {@code look}.
 *
 * <p>Thread-safe. {@link #look} blocks for a round trip, {@link #close} for at most a second and a
 * round trip; the other methods do not block.
 */
public final class Fleet implements AutoCloseable {

  private static final Logger LOG = System.getLogger(Fleet.class.getName());
  private static final Duration LASTS = Duration.ofSeconds(30);
  private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final long CLOSE_SECONDS = 1;

  private final int atLeast;
  private final LongSupplier nanoTime;
  // Results of recent calls of look(), guarded by the lock. An earlier result is removed when a
  // later call of look() finds the same number of processes or more.
  private final Deque<Look> looks = new ArrayDeque<>();
  private final String id = HexFormat.of().toHexDigits(new SecureRandom().nextLong());
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable Entry entry; // null before enter() and after close()
  private volatile boolean refused; // whether the latest look failed
  private long outageEndNanos; // guarded by the lock; the first success after the latest outage
  private volatile int most; // 0 before the second look
  private volatile Look last; // without names before the first look

  /** The entry of this process on the list of a store. */
  private record Entry(Presence list, String self) {}

  /** The processes that one call of {@link #look} found on the list. */
  private record Look(long atNanos, List<String> names) {}

  /**
   * Creates a fleet whose processes have not been counted yet.
   *
   * @param atLeast the smallest {@link #size} after the processes have been counted
   */
  public Fleet(int atLeast) {
    this(atLeast, System::nanoTime);
  }

  /** Creates a fleet with a given clock, for tests. */
  public Fleet(int atLeast, LongSupplier nanoTime) {
    this.atLeast = atLeast;
    this.nanoTime = nanoTime;
    this.last = new Look(nanoTime.getAsLong(), List.of());
  }

  /**
   * Sets the list on which {@link #look} announces this process.
   *
   * @param list the list of the store
   * @param name the name of this process, such as host and port, without line breaks; after a
   *     restart, the same name counts as a different process
   */
  public void enter(Presence list, String name) {
    entry = new Entry(list, name + " " + id);
  }

  /**
   * Adds this process to the list, and counts all processes on the list. Does nothing if this
   * method last succeeded less than 10 s ago. Call this method every second. If the store fails,
   * this method logs the first failure, and throws nothing.
   */
  public void look() {
    lock.lock();
    try {
      Entry own = entry;
      if (own != null) {
        look(own);
        if (entry == null) { // closed meanwhile
          leave(own);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void look(Entry own) {
    if ((!last.names().isEmpty() && nanoTime.getAsLong() - last.atNanos() < EVERY_NANOS)) {
      return;
    }
    List<String> names;
    try {
      names = own.list().announce(own.self(), LASTS);
    } catch (StoreException e) { // the store reports its outages itself
      if (!refused) {
        refused = true;
        LOG.log(
            Level.WARNING,
            "this process cannot announce itself to the other processes: {0}; retrying",
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
   * Returns the number of processes that share the store, for {@code Limiter.Builder.processes}.
   *
   * @return the number; 0 until the processes have been counted
   */
  public int size() {
    int seen = most;
    return seen == 0 ? 0 : Math.max(seen, atLeast);
  }

  /**
   * Returns the largest number of processes that {@link #look} found in the ten minutes before its
   * last success, which can be below {@link #size}; 0 until the processes have been counted.
   */
  public int seen() {
    return most;
  }

  /**
   * Returns the time since {@link #look} last succeeded, or since the start if it never succeeded.
   *
   * @return in seconds
   */
  public double ageSeconds() {
    return (nanoTime.getAsLong() - last.atNanos()) / 1e9;
  }

  /**
   * Returns the names of the processes that {@link #look} last found on the list.
   *
   * @return sorted names; empty if {@link #look} last succeeded more than 30 s ago
   */
  public List<String> names() {
    Look look = last;
    return nanoTime.getAsLong() - look.atNanos() > LASTS.toNanos() ? List.of() : look.names();
  }

  /**
   * Removes this process from the list, unless the store is unreachable. After {@code close()},
   * {@link #look} does nothing. Waits at most a second for a running call of {@code look}: if that
   * call takes longer, it removes the process from the list when it ends.
   */
  @Override
  public void close() {
    Entry own = entry;
    entry = null;
    if (own == null || refused || !locked()) {
      return;
    }
    try {
      leave(own);
    } finally {
      lock.unlock();
    }
  }

  private boolean locked() {
    try {
      return lock.tryLock() || lock.tryLock(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void leave(Entry own) {
    if (names().isEmpty() || refused) {
      return; // this process is not on the list, or the store is unreachable
    }
    last = new Look(last.atNanos(), List.of());
    try {
      var unused = own.list().announce(own.self(), Duration.ZERO);
    } catch (StoreException e) {
      LOG.log(
          Level.DEBUG,
          "this process could not remove itself from the list of processes; its entry expires after "
              + LASTS,
          e);
    }
  }
}
