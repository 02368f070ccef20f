// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/*
 * The names are stored as bytes in one array, and a hash table with open addressing finds them. A
 * client takes 10 bytes plus its name. In a map of strings, a client would take 100 bytes. If the
 * table is full, a new name is not stored, and only the sketch counts the name.
 */
/**
 * The clients of a log, numbered from 0 in the order of their first requests. The number of stored
 * names is bounded. Not thread-safe.
 */
final class Clients {

  /** The index that stands for a name that is not in the table. */
  static final int NONE = -1;

  private final int most;
  private final Sketch sketch = new Sketch();
  private byte[] names = new byte[1 << 12];
  private int[] ends = new int[1 << 8];
  private int[] slots = new int[1 << 10]; // the client's index plus 1; 0 for an empty slot
  private int count;
  private boolean full;
  int mostBytes = Integer.MAX_VALUE - 8; // the largest array; tests set a smaller number

  Clients(int most) {
    this.most = most;
  }

  /**
   * Returns the index of a name, which is added if it is new; {@link #NONE} if the name is new and
   * the table is full.
   */
  int number(String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    long hash = Sketch.hash(bytes);
    sketch.add(hash);
    int slot = slot(bytes, hash);
    if (slots[slot] != 0) {
      return slots[slot] - 1;
    }
    if (count == most || bytes.length > mostBytes - start(count)) {
      full = true;
      return NONE;
    }
    slots[slot] = count + 1;
    return add(bytes);
  }

  /** Returns the index of a name; {@link #NONE} if the name is not in the table. */
  int find(String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    return slots[slot(bytes, Sketch.hash(bytes))] - 1;
  }

  /**
   * Returns the slot of a name; if the name is not in the table, the empty slot in which to store
   * it.
   */
  private int slot(byte[] name, long hash) {
    int slot = (int) hash & (slots.length - 1);
    while (slots[slot] != 0 && !isNamed(slots[slot] - 1, name)) {
      slot = (slot + 1) & (slots.length - 1);
    }
    return slot;
  }

  private boolean isNamed(int number, byte[] name) {
    return Arrays.equals(names, start(number), ends[number], name, 0, name.length);
  }

  private int add(byte[] name) {
    int start = start(count);
    if (names.length < start + name.length) {
      names = Arrays.copyOf(names, (int) Math.min(2L * (start + name.length), mostBytes));
    }
    System.arraycopy(name, 0, names, start, name.length);
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    ends[count++] = start + name.length;
    if (2 * count > slots.length) {
      slots = new int[2 * slots.length];
      for (int i = 0; i < count; i++) {
        byte[] one = Arrays.copyOfRange(names, start(i), ends[i]);
        slots[slot(one, Sketch.hash(one))] = i + 1;
      }
    }
    return count - 1;
  }

  private int start(int number) {
    return number == 0 ? 0 : ends[number - 1];
  }

  String name(int number) {
    int start = start(number);
    return new String(names, start, ends[number] - start, StandardCharsets.UTF_8);
  }

  int size() {
    return count;
  }

  /** Returns how many different names were looked up; an estimate once the table is full. */
  long distinct() {
    return full ? sketch.estimate() : count;
  }

  /** Returns whether all names fit into the table, so that the counts are exact. */
  boolean isExact() {
    return !full;
  }
}
