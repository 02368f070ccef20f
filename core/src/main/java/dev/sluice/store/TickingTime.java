package dev.sluice.store;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * The system's time as a number that a thread of its own renews every tick: reading it costs next
 * to nothing, where asking the system costs more than the rest of a decision.
 *
 * <p>It is a choice for stores under heavy load, and costs precision: a reading is up to one tick
 * old, or older where the machine is too busy to run the thread. It never runs ahead, so within a
 * span of real time <i>s</i> a limit gives out what it would in <i>s</i> plus one tick; and a wait
 * that it answers may end up to one tick later. Use it with limits whose emission interval is well
 * above the tick.
 *
 * <p>Thread-safe; a reading never blocks. Close it when its stores are no longer used: it stands
 * still from then on. Its thread is a daemon.
 */
public final class TickingTime implements TimeSource, AutoCloseable {

  private static final Duration SHORTEST = Duration.ofNanos(100_000);
  private static final Duration LONGEST = Duration.ofSeconds(1);

  private final TimeSource exact = TimeSource.system();
  private final long tickNanos;
  private volatile long nowNanos = exact.nanos();
  private volatile boolean closed;

  private TickingTime(long tickNanos) {
    this.tickNanos = tickNanos;
  }

  /**
   * Starts to tick.
   *
   * @param tick the time from one renewal to the next, 100 µs to 1 s
   * @return a running clock
   * @throws IllegalArgumentException for a tick out of its range
   */
  public static TickingTime every(Duration tick) {
    if (tick.compareTo(SHORTEST) < 0 || tick.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "tick: found " + tick + ", expected 100 microseconds to 1 second");
    }
    TickingTime time = new TickingTime(tick.toNanos());
    Thread thread = new Thread(time::run, "sluice-ticking-time");
    thread.setDaemon(true);
    thread.start();
    return time;
  }

  @Override
  public long nanos() {
    return nowNanos;
  }

  @Override
  public void close() {
    closed = true;
  }

  private void run() {
    while (!closed) {
      LockSupport.parkNanos(tickNanos);
      boolean unused = Thread.interrupted(); // or the next park would not wait
      nowNanos = exact.nanos();
    }
  }
}
