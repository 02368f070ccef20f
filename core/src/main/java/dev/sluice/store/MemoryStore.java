// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.direct.DirectStore;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketTable.UnchargedException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A store in this process's memory: a table with 19 bytes per slot, which contains no keys.
 *
 * <p>A charge of an existing bucket locks only this bucket, for a few instructions. Creating a
 * bucket locks a part of the table: 1/64 of a small table, 1/1024 of a large table. The store has
 * no background thread. {@code Segment} documents the locks, {@code SlotArray} the layout.
 *
 * <p>Thread-safe. A decision never blocks for long; {@link #save} blocks while it writes a file.
 */
@SuppressWarnings("exports") // DirectStore is for Sluice's own modules
public final class MemoryStore implements BucketStore, DirectStore {

  /** The largest number of heap bytes per live bucket, except in a small table. */
  private static final int BYTES_A_BUCKET = 24;

  private static final int SHARE_OF_HEAP = 4;
  private static final Duration LONGEST_STEP = Duration.ofNanos(Long.MAX_VALUE);
  private static final long MOST_BUCKETS = 200_000_000;

  private final BucketTable table;

  MemoryStore(BucketTable table) {
    this.table = table;
  }

  /**
   * Returns a builder for a store.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    BucketStore.requireDifferentKeys(charges);
    if (charges.size() > 1) {
      return TableBatch.of(table, charges).charge();
    }
    Charge charge = charges.get(0);
    IdBytes key = IdBytes.ofThisThread();
    key.set(charge.key());
    SipHash hash = key.hashKey(table.keyedHash());
    long tag = hash.first();
    long place = hash.second();
    return table.charge(
        tag,
        place,
        charge.effect(),
        null,
        (text, effect, nowNanos, tatNanos) -> List.of(new Reading(nowNanos, tatNanos)));
  }

  @Override
  public Buckets buckets(String prefix) {
    return new TableBuckets(table, prefix);
  }

  @Override
  public OptionalLong nowNanos() {
    try {
      return OptionalLong.of(table.nanos());
    } catch (StoreException e) { // the store is closed, or its clock returned an invalid time
      return OptionalLong.empty();
    }
  }

  @Override
  public OptionalLong liveBuckets() {
    return OptionalLong.of(table.tagged());
  }

  @Override
  public OptionalLong maxLiveBuckets() {
    return OptionalLong.of(table.bound());
  }

  /**
   * Writes all live buckets to a file. The file is replaced atomically: a reader finds either a
   * complete snapshot or no file. Decisions continue during the call; each bucket is saved as it
   * was at some moment during the call.
   *
   * <p>The file contains no ids. The file contains a secret with which a reader could test whether
   * a guessed id has a bucket, so only its owner can read the file.
   *
   * @param file the snapshot file
   * @throws IOException if the file could not be written; a previous file then stays
   */
  public void save(Path file) throws IOException {
    Snapshot.write(table, file);
  }

  /** Makes every later charge fail with a {@link StoreException}; {@link #save} still works. */
  @Override
  public void close() {
    table.close();
  }

  /** Returns the number of slots, used or free, for tests. */
  long slots() {
    return table.slots();
  }

  /** Makes a {@link MemoryStore}. Not thread-safe. */
  public static final class Builder {
    private TimeSource time = TimeSource.system();
    private long maxBuckets =
        Math.min(Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP / BYTES_A_BUCKET, MOST_BUCKETS);

    private long keptNanos;

    private Builder() {}

    /**
     * Sets the clock; the default is {@link TimeSource#system}.
     *
     * @param newTime the clock
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder time(TimeSource newTime) {
      this.time = Objects.requireNonNull(newTime, "time");
      return this;
    }

    /**
     * Sets how far the clock can step back behind its latest time. The store keeps a full bucket
     * for the time {@code step}, since the bucket's TAT may be in the future again after a step
     * back. With full buckets kept, decisions depend only on the charges and their times, not on
     * when a bucket was removed. A charge fails if the clock has stepped back by more than {@code
     * step}.
     *
     * <p>{@code stepsBackUpTo} is meant for replays of recorded traffic. By default, full buckets
     * can be removed at once, and the clock can step back by any duration; a bucket that was full
     * before the step can then still be full after the step.
     *
     * @param step zero to 292 years; full buckets that are kept count towards the bound on live
     *     buckets
     * @return this builder
     * @throws IllegalArgumentException if the step is out of range
     */
    @CanIgnoreReturnValue
    public Builder stepsBackUpTo(Duration step) {
      if (step.isNegative() || step.compareTo(LONGEST_STEP) > 0) {
        throw new IllegalArgumentException(
            "stepsBackUpTo: found " + step + ", expected zero to 292 years");
      }
      this.keptNanos = step.toNanos();
      return this;
    }

    /**
     * Sets the largest number of live buckets (buckets that are not full). By default, the buckets
     * can fill a quarter of the largest heap, at 24 bytes per bucket. A charge that needs a further
     * bucket fails with a {@link StoreException}; a live bucket is never removed to make room.
     *
     * @param newMaxBuckets 1 to 200,000,000
     * @return this builder
     * @throws IllegalArgumentException if the number is out of range
     */
    @CanIgnoreReturnValue
    public Builder maxBuckets(long newMaxBuckets) {
      if (newMaxBuckets < 1 || newMaxBuckets > MOST_BUCKETS) {
        throw new IllegalArgumentException(
            "maxBuckets: found " + newMaxBuckets + ", expected 1 to " + MOST_BUCKETS);
      }
      this.maxBuckets = newMaxBuckets;
      return this;
    }

    /**
     * Makes a store with the buckets of a snapshot, except buckets that are full by now.
     *
     * @param snapshot a file that {@link MemoryStore#save} has written
     * @return the store
     * @throws SnapshotException if the file is incomplete, changed, or not a snapshot
     * @throws IOException if the file could not be read
     */
    public MemoryStore restore(Path snapshot) throws IOException {
      return new MemoryStore(Snapshot.read(snapshot, clock(), maxBuckets, keptNanos));
    }

    /**
     * Makes an empty store.
     *
     * @return the store
     */
    public MemoryStore build() {
      return new MemoryStore(new BucketTable(clock(), maxBuckets, keptNanos));
    }

    private TimeSource clock() {
      return keptNanos == 0 ? time : new SteppingTime(time, keptNanos);
    }
  }

  /**
   * Thrown for a snapshot that is incomplete, changed or of another version, or is not a snapshot.
   */
  public static final class SnapshotException extends IOException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message a text that names the file, what was found, what was expected, and what to do
     */
    public SnapshotException(String message) {
      super(message);
    }
  }

  /** A clock that can step back by a bounded time. Thread-safe; never blocks. */
  static final class SteppingTime implements TimeSource {

    private final TimeSource time;
    private final long mostNanos;
    private final AtomicLong latestNanos = new AtomicLong();

    SteppingTime(TimeSource time, long mostNanos) {
      this.time = time;
      this.mostNanos = mostNanos;
    }

    @Override
    public long nanos() {
      long nowNanos = time.nanos();
      long latest = latestNanos.accumulateAndGet(nowNanos, Math::max);
      if (nowNanos < latest - mostNanos) {
        throw new UnchargedException(
            "the clock stepped back by %s, to %s ns since the epoch; this store allows steps back of at most %s"
                .formatted(
                    Duration.ofNanos(latest - nowNanos), nowNanos, Duration.ofNanos(mostNanos)));
      }
      return nowNanos;
    }

    long latestNanos() {
      return latestNanos.get();
    }
  }
}
