// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.direct.Buckets;
import dev.sluice.internal.direct.DirectStore;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * A store in this process's memory: a table of TATs without keys, 19 bytes a slot.
 *
 * <p>A charge of an existing bucket locks only that bucket, for a few instructions. A new bucket
 * locks a part of the table: a 64th of a small table, a thousandth of a large one. There is no
 * background thread. ({@code Segment} explains the locks, {@code SlotArray} the layout.)
 *
 * <p>Thread-safe. Deciding never blocks for long; {@link #save} writes a file.
 */
@SuppressWarnings("exports") // DirectStore is for Sluice's own modules
public final class MemoryStore implements BucketStore, DirectStore {

  /** The most bytes that one live bucket takes in a table that is not small. */
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
   * Writes all live buckets to a file, which is replaced as a whole: a reader finds a complete
   * snapshot or none. Decisions continue during the call; each bucket is saved as of some moment
   * during it.
   *
   * <p>The file has no ids, but a secret with which guessed ids could be tested, so only its owner
   * can read it.
   *
   * @param file the snapshot
   * @throws IOException if it could not be written; the previous file then stays
   */
  public void save(Path file) throws IOException {
    Snapshot.write(table, file);
  }

  /** Refuses every later charge with a {@link StoreException}. The buckets can still be saved. */
  @Override
  public void close() {
    table.close();
  }

  /** Returns the number of slots, free or not. For tests. */
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
     * Sets the clock; {@link TimeSource#system} if not called.
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
     * Sets how far the clock may step back behind its latest time. A full bucket is kept for that
     * time, since its TAT lies ahead again after a step back. So decisions depend on the charges
     * and their times alone. A charge at an earlier time fails with a {@link StoreException}.
     *
     * <p>For replays of recorded traffic. If not called, full buckets are removed at once, a step
     * back is never refused, and a bucket that was full before the step may still be full after it.
     *
     * @param step zero to 292 years; full buckets count towards the bound for that time
     * @return this builder
     * @throws IllegalArgumentException for a step out of its range
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
     * Sets the most live buckets (those that are not full) that are kept; a quarter of the largest
     * heap, at 24 bytes a bucket, if not called. A charge that needs one more bucket fails with a
     * {@link StoreException}; a live bucket is never removed to make room.
     *
     * @param newMaxBuckets 1 to 200,000,000
     * @return this builder
     * @throws IllegalArgumentException for a number out of its range
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
     * Makes the store, with the buckets of a snapshot that are still live.
     *
     * @param snapshot a file that {@link MemoryStore#save} has written
     * @return the store
     * @throws SnapshotException if the file is torn, changed, or no snapshot
     * @throws IOException if it could not be read
     */
    public MemoryStore restore(Path snapshot) throws IOException {
      return new MemoryStore(Snapshot.read(snapshot, clock(), maxBuckets, keptNanos));
    }

    /**
     * Makes the store.
     *
     * @return the store, empty
     */
    public MemoryStore build() {
      return new MemoryStore(new BucketTable(clock(), maxBuckets, keptNanos));
    }

    private TimeSource clock() {
      return keptNanos == 0 ? time : new SteppingTime(time, keptNanos);
    }
  }

  /** A snapshot that cannot be used: torn, changed, of another version, or no snapshot at all. */
  public static final class SnapshotException extends IOException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message the file, what was found and expected, and what to do
     */
    public SnapshotException(String message) {
      super(message);
    }
  }
}
