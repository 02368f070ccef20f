// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.proof.memory.InstrumentedStore;
import dev.sluice.proof.memory.InstrumentedStore.Answer;
import dev.sluice.proof.memory.InstrumentedStore.Clock;
import dev.sluice.proof.memory.Op;
import dev.sluice.proof.memory.Setup;
import dev.sluice.proof.memory.Steps;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A memory store for the simulator. The store's table has a fixed hash seed, so that all keys lie
 * in three segments. Even small segments of the table split. The simulator calls the store through
 * its public API. Only the creation of the table and the check of the slots after a run use
 * package-private classes.
 */
public final class InstrumentedTable implements InstrumentedStore {

  private static final long KEY0 = 0x0123456789abcdefL;
  private static final long KEY1 = 0xfedcba9876543210L;
  private static final int ENTRIES = 48; // directory entries that refer to the three segments
  private static final int MOST_LINES = 2; // a segment with more lines splits
  private static final int MOST_KEYS = 24;
  private static final int FILES_ONE_IN = 2_048;
  private static final List<String> KEYS = keys();

  private final Setup setup;
  private final Clock clock;
  private final BucketTable table;
  private final MemoryStore store;

  /**
   * Creates an empty store.
   *
   * @param setup the settings, such as the largest number of buckets and the burst
   * @param clock the clock of the store
   */
  public InstrumentedTable(Setup setup, Clock clock) {
    this.setup = setup;
    this.clock = clock;
    this.table =
        new BucketTable(
            () -> {
              Steps.step(-1);
              return clock.nanos();
            },
            setup.bound(),
            setup.keptNanos(),
            KEY0,
            KEY1,
            MOST_LINES);
    this.store = new MemoryStore(table);
  }

  /** Returns keys that all lie in the first three segments. */
  private static List<String> keys() {
    SipHash keyed = new SipHash(KEY0, KEY1);
    IdBytes bytes = new IdBytes();
    List<String> keys = new ArrayList<>();
    for (int i = 0; keys.size() < MOST_KEYS; i++) {
      bytes.set("1:" + i);
      if (Directory.entryOf(bytes.hashKey(keyed).second()) < ENTRIES) {
        keys.add("1:" + i);
      }
    }
    return keys;
  }

  @Override
  public Answer run(Op op) {
    try {
      return op.kind() == Op.Kind.SNAPSHOT ? snapshot() : charge(op);
    } catch (StoreException e) {
      return Answer.failed(
          String.valueOf(e.getMessage()).contains("store full") ? Answer.FULL : e.toString());
    } catch (IllegalArgumentException e) {
      return Answer.failed(
          String.valueOf(e.getMessage()).contains("twice") ? Answer.TWICE : e.toString());
    }
  }

  private Answer charge(Op op) {
    List<Charge> charges = new ArrayList<>();
    for (Op.Part part : op.parts()) {
      Effect.Op act = Effect.Op.valueOf(part.act().name());
      charges.add(
          new Charge(
              KEYS.get(part.key()),
              act,
              part.cost() * Setup.TOKEN_NANOS,
              act == Effect.Op.RESET ? 0 : setup.burst() * Setup.TOKEN_NANOS,
              act == Effect.Op.SPEND_UP_TO ? Setup.TOKEN_NANOS : Effect.NO_END));
    }
    List<Reading> readings = store.charge(charges);
    return new Answer(
        "",
        readings.stream().map(Reading::nowNanos).toList(),
        readings.stream().map(Reading::tatNanos).toList());
  }

  private Answer snapshot() {
    Map<Long, Long> tats = new HashMap<>();
    for (long[] part : table.live()) {
      for (int i = 0; i < part.length; i += 3) {
        if (tats.put(part[i + 1], part[i + 2]) != null) {
          return Answer.failed("a snapshot contains a bucket twice");
        }
      }
    }
    List<Long> byKey = new ArrayList<>();
    for (String key : KEYS.subList(0, setup.keys())) {
      IdBytes bytes = new IdBytes();
      bytes.set(key);
      long tag = BucketTable.tag(bytes.hashKey(table.keyedHash()).first());
      Long tatNanos = tats.remove(tag);
      byKey.add(tatNanos == null ? 0 : tatNanos);
    }
    return tats.isEmpty()
        ? new Answer("", List.of(), byKey)
        : Answer.failed("a snapshot contains a bucket that no call created");
  }

  @Override
  public String leftovers() {
    Set<Long> tags = new HashSet<>();
    Segment segment;
    for (int i = 0; i < Directory.ENTRIES; i = segment.endEntry()) {
      segment = table.segmentAt(i);
      if (segment.firstEntry() != i) {
        return "directory entry %s has the segment of entry %s".formatted(i, segment.firstEntry());
      }
      if ((segment.version() & 1) == 1) {
        return "segment %s is still locked".formatted(i);
      }
      long[] slots = segment.slots();
      for (int at = 0; at < slots.length; at += 2) {
        if (slots[at + 1] == SlotArray.LOCKED) {
          return "slot %s of segment %s is still locked".formatted(at / 2, i);
        }
        if (slots[at] != 0 && !tags.add(slots[at])) {
          return "segment %s has a second slot for a key".formatted(i);
        }
      }
    }
    int tagged = tags.size();
    if (tagged != table.tagged()) {
      return "%s slots have a tag, but the table counts %s".formatted(tagged, table.tagged());
    }
    return tagged > setup.bound()
        ? "%s slots have a tag, expected at most %s".formatted(tagged, setup.bound())
        : notRestored();
  }

  /** Returns how a table restored from a snapshot differs from the original; empty if equal. */
  private String notRestored() {
    Set<List<Long>> before = buckets(table);
    long nowNanos = clock.nanos();
    BucketTable copy =
        new BucketTable(clock::nanos, setup.bound(), setup.keptNanos(), KEY0, KEY1, MOST_LINES);
    before.forEach(one -> copy.restore(one.get(0), one.get(1), one.get(2), nowNanos));
    if (!buckets(copy).equals(before) || copy.tagged() != before.size()) {
      return "the buckets %s were restored, but the restored table has the buckets %s"
          .formatted(before, buckets(copy));
    }
    return before.hashCode() % FILES_ONE_IN == 0 && !before.isEmpty() ? notRead(before) : "";
  }

  /** Returns how a table read from a snapshot file differs from the original; empty if equal. */
  private String notRead(Set<List<Long>> before) {
    try {
      Path file = Files.createTempFile("simulated", ".snapshot");
      try {
        Snapshot.write(table, file);
        BucketTable copy = Snapshot.read(file, clock::nanos, setup.bound(), setup.keptNanos());
        return buckets(copy).equals(before)
            ? ""
            : "the buckets %s were saved, but the table read from the file has the buckets %s"
                .formatted(before, buckets(copy));
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the place (the second part of the hash), the tag and the TAT of each live bucket. */
  private static Set<List<Long>> buckets(BucketTable table) {
    Set<List<Long>> buckets = new HashSet<>();
    for (long[] part : table.live()) {
      for (int i = 0; i < part.length; i += 3) {
        buckets.add(List.of(part[i], part[i + 1], part[i + 2]));
      }
    }
    return buckets;
  }
}
